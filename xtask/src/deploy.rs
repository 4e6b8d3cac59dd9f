//! The files in `deploy/`: they are read, their references lead somewhere, and the programs that know them check them where they are
//! installed. No container engine is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use yaml_rust2::{Yaml, YamlLoader};

use crate::steps::{root, succeed};
use crate::{built, say};

/// Paths that the gateway serves for probes.
const PROBES: [&str; 2] = ["/health", "/ready"];
/// Files that a deployment brings itself.
const SECRETS: [&str; 1] = ["./metrics-key"];

pub(crate) fn check() -> Result<()> {
    let folder = root().join("deploy");
    check_compose(&folder)?;
    check_kubernetes(&folder.join("kubernetes/polywire.yaml"))?;
    check_prometheus(&folder)?;
    check_dockerfile(&folder.join("Dockerfile"))?;
    succeed(Command::new(built::command()?).args(["config", "check"]).arg(folder.join("polywire.toml")))?;
    for (tool, arguments) in [
        ("hadolint", vec![folder.join("Dockerfile")]),
        (
            "promtool",
            ["check", "config", "--syntax-only"]
                .map(PathBuf::from)
                .into_iter()
                .chain([folder.join("prometheus.yml")])
                .collect(),
        ),
        ("kubeconform", vec![PathBuf::from("-strict"), folder.join("kubernetes/polywire.yaml")]),
    ] {
        let is_there = Command::new(tool).arg("--version").output().is_ok();
        if is_there {
            succeed(Command::new(tool).args(arguments))?;
        } else {
            say(&format!("    {tool} is not installed; its checks are left out"));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<Yaml>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let documents = YamlLoader::load_from_str(&text).with_context(|| path.display().to_string())?;
    ensure!(!documents.is_empty(), "{} is empty", path.display());
    Ok(documents)
}

/// The members of a table, with texts as names.
fn members(table: &Yaml) -> impl Iterator<Item = (&str, &Yaml)> {
    table.as_hash().into_iter().flatten().filter_map(|(name, value)| Some((name.as_str()?, value)))
}

fn items(list: &Yaml) -> impl Iterator<Item = &Yaml> {
    list.as_vec().into_iter().flatten()
}

/// Services depend on services, and files that are mounted exist.
fn check_compose(folder: &Path) -> Result<()> {
    let documents = read(&folder.join("compose.yaml"))?;
    let compose = documents.first().context("no document")?;
    let services = &compose["services"];
    let names: Vec<&str> = members(services).map(|(name, _)| name).collect();
    for wanted in ["gateway-1", "gateway-2", "postgres", "redis", "prometheus"] {
        ensure!(names.contains(&wanted), "compose.yaml has no service `{wanted}`");
    }
    for (name, service) in members(services) {
        // What `<<` refers to is beside it.
        let base = &service["<<"];
        for part in [service, base] {
            for (needed, _) in members(&part["depends_on"]) {
                ensure!(names.contains(&needed), "the service `{name}` depends on `{needed}`, which there is not");
            }
            for volume in items(&part["volumes"]).filter_map(Yaml::as_str) {
                let source = volume.split(':').next().unwrap_or_default();
                let is_known = match source.strip_prefix("./") {
                    Some(file) => SECRETS.contains(&source) || folder.join(file).exists(),
                    None => members(&compose["volumes"]).any(|(known, _)| known == source),
                };
                ensure!(is_known, "the service `{name}` mounts `{source}`, which there is not");
            }
            for port in items(&part["ports"]).filter_map(Yaml::as_str) {
                ensure!(port.starts_with("127.0.0.1:"), "the service `{name}` publishes `{port}` beyond this machine");
            }
        }
    }
    Ok(())
}

/// Probes ask paths and ports that there are, and every object that selects or scales finds what it names.
fn check_kubernetes(path: &Path) -> Result<()> {
    let objects = read(path)?;
    let of_kind = |kind: &str| {
        let found = objects.iter().find(|object| object["kind"].as_str() == Some(kind));
        found.with_context(|| format!("{} has no {kind}", path.display()))
    };
    for object in &objects {
        let is_named = object["apiVersion"].as_str().is_some() && object["metadata"]["name"].as_str().is_some();
        ensure!(is_named, "{} has an object without version or name", path.display());
    }
    let deployment = of_kind("Deployment")?;
    let template = &deployment["spec"]["template"];
    let labels = &template["metadata"]["labels"];
    ensure!(labels.as_hash().is_some_and(|labels| !labels.is_empty()), "the pods have no labels");
    ensure!(deployment["spec"]["selector"]["matchLabels"] == *labels, "the deployment does not select its pods");
    ensure!(of_kind("Service")?["spec"]["selector"] == *labels, "the service does not select the pods");
    ensure!(
        of_kind("PodDisruptionBudget")?["spec"]["selector"]["matchLabels"] == *labels,
        "the disruption budget does not select the pods"
    );
    let scaled = &of_kind("HorizontalPodAutoscaler")?["spec"]["scaleTargetRef"];
    ensure!(
        scaled["kind"].as_str() == Some("Deployment") && scaled["name"] == deployment["metadata"]["name"],
        "the autoscaler scales something else"
    );
    for container in items(&template["spec"]["containers"]) {
        let ports: Vec<&Yaml> = items(&container["ports"]).map(|port| &port["name"]).collect();
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let asked = &container[probe]["httpGet"];
            let path = asked["path"].as_str().with_context(|| format!("there is no {probe}"))?;
            ensure!(PROBES.contains(&path), "the {probe} asks `{path}`, which the gateway does not serve for probes");
            ensure!(ports.contains(&&asked["port"]), "the {probe} asks a port that the container does not name");
        }
        let volumes: Vec<&Yaml> = items(&template["spec"]["volumes"]).map(|volume| &volume["name"]).collect();
        for mount in items(&container["volumeMounts"]) {
            ensure!(volumes.contains(&&mount["name"]), "a volume is mounted that there is not: {:?}", mount["name"]);
        }
    }
    Ok(())
}

/// Prometheus asks the services of the compose file.
fn check_prometheus(folder: &Path) -> Result<()> {
    let (prometheus, compose) = (read(&folder.join("prometheus.yml"))?, read(&folder.join("compose.yaml"))?);
    let services = compose.first().map(|compose| &compose["services"]).context("no services")?;
    let jobs = prometheus.first().map(|file| &file["scrape_configs"]).context("no jobs")?;
    let targets = items(jobs).flat_map(|job| items(&job["static_configs"])).flat_map(|group| items(&group["targets"]));
    let mut count = 0;
    for target in targets.filter_map(Yaml::as_str) {
        let service = target.split(':').next().unwrap_or_default();
        ensure!(members(services).any(|(name, _)| name == service), "Prometheus asks `{target}`, which there is not");
        count += 1;
    }
    ensure!(count >= 2, "Prometheus does not ask every replica");
    Ok(())
}

/// What is copied from the source exists, the toolchain is ours, and the program does not run as root.
fn check_dockerfile(path: &Path) -> Result<()> {
    let text = fs::read_to_string(path)?;
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    let version = version.context("the workspace names no version of Rust")?;
    let stages: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("FROM ")).collect();
    let Some((build, [.., run])) = stages.split_first() else { bail!("the Dockerfile has not two stages") };
    ensure!(build.starts_with(&format!("rust:{version}-")), "the Dockerfile does not build with Rust {version}");
    ensure!(run.contains("distroless/static"), "the last stage is not a distroless one");
    ensure!(text.lines().any(|line| line.starts_with("USER ")), "the Dockerfile runs the program as root");
    for copied in text.lines().filter_map(|line| line.strip_prefix("COPY ")).filter(|line| !line.starts_with("--from"))
    {
        let source = copied.split(' ').next().unwrap_or_default();
        ensure!(root().join(source).exists(), "the Dockerfile copies `{source}`, which there is not");
    }
    Ok(())
}
