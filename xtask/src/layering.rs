//! Who may depend on whom, proved over `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::metadata;
use crate::steps::root;

/// The crates of this workspace that each library may use. Libraries that are not named may use any library.
const MAY_USE: &[(&str, &[&str])] = &[
    ("polywire-report", &[]),
    ("polywire-schema", &["polywire-report"]),
    ("polywire-wire", &["polywire-report"]),
    ("polywire-answer", &["polywire-schema"]),
    ("polywire-testkit", &["polywire-report", "polywire-schema"]),
];

/// The folders whose packages use the façade and nothing below it.
const OUTWARD: &[&str] = &["apps", "bindings"];
const FACADE: &str = "polywire";

/// What outward packages may use beside the façade: the command starts the servers, the packages of other
/// languages carry the command, and what makes up or proves values needs the testkit.
const SERVED: &[(&str, &str)] = &[
    ("polywire-cli", "polywire-emulator"),
    ("polywire-cli", "polywire-testkit"),
    ("polywire-emulator", "polywire-testkit"),
    ("polywire-examples", "polywire-emulator"),
    ("polywire-gateway", "polywire-emulator"),
    ("polywire-cli", "polywire-gateway"),
    ("polywire-cli", "polywire-mcp"),
    ("polywire-bindings", "polywire-emulator"),
    ("polywire-python", "polywire-bindings"),
    ("polywire-python", "polywire-cli"),
    ("polywire-node", "polywire-bindings"),
    ("polywire-node", "polywire-cli"),
];

/// What does IO or async, and so is nothing for the crates above, however far down it is.
const REFUSED: &[&str] = &[
    "async-std",
    "curl",
    "futures-executor",
    "hyper",
    "mio",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "tokio",
    "ureq",
];

pub(crate) fn check() -> Result<()> {
    let graph = Graph::read(&metadata::read()?).context("`cargo metadata` has an unknown form")?;
    let faults = graph.faults();
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

/// A package of the dependency graph.
struct Package {
    name: String,
    /// The first folder of a member of this workspace.
    folder: Option<String>,
    /// Ids of packages it needs to run or to build.
    needs: Vec<String>,
    /// Ids of packages it needs for tests alone.
    tests_need: Vec<String>,
}

struct Graph(BTreeMap<String, Package>);

impl Graph {
    fn read(metadata: &Value) -> Option<Self> {
        let root = root();
        let members: BTreeSet<&str> =
            metadata.get("workspace_members")?.as_array()?.iter().filter_map(Value::as_str).collect();
        let mut packages = BTreeMap::new();
        for package in metadata.get("packages")?.as_array()? {
            let id = package.get("id")?.as_str()?;
            let manifest = std::path::Path::new(package.get("manifest_path")?.as_str()?);
            let inside = manifest.strip_prefix(&root).ok().filter(|_| members.contains(id));
            let folder = inside.and_then(|path| path.iter().next()).map(|folder| folder.to_string_lossy().into_owned());
            let name = package.get("name")?.as_str()?.to_owned();
            packages.insert(id.to_owned(), Package { name, folder, needs: Vec::new(), tests_need: Vec::new() });
        }
        for node in metadata.pointer("/resolve/nodes")?.as_array()? {
            let package = packages.get_mut(node.get("id")?.as_str()?)?;
            for edge in node.get("deps")?.as_array()? {
                let needed = edge.get("pkg")?.as_str()?.to_owned();
                let mut kinds = edge.get("dep_kinds")?.as_array()?.iter();
                let for_tests = kinds.all(|kind| kind.get("kind").and_then(Value::as_str) == Some("dev"));
                if for_tests { package.tests_need.push(needed) } else { package.needs.push(needed) }
            }
        }
        Some(Self(packages))
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (id, package) in &self.0 {
            let Some(folder) = package.folder.as_deref() else { continue };
            let edges = package.needs.iter().chain(&package.tests_need).filter_map(|needed| self.0.get(needed));
            for needed in edges {
                let Some(other) = needed.folder.as_deref() else { continue };
                let below = other == "crates" && (!OUTWARD.contains(&folder) || needed.name == FACADE);
                let served = SERVED.contains(&(package.name.as_str(), needed.name.as_str()));
                if !below && !served {
                    faults.push(format!("{} ({folder}) must not depend on {} ({other})", package.name, needed.name));
                }
            }
            let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == package.name) else { continue };
            for name in self.below(id).iter().filter_map(|needed| self.0.get(*needed)) {
                let ours = name.folder.is_some() && !may_use.contains(&name.name.as_str());
                if ours || REFUSED.contains(&name.name.as_str()) {
                    faults.push(format!("{} must not depend on {}, not even through others", package.name, name.name));
                }
            }
        }
        faults
    }

    /// Everything that a package needs to run or to build.
    fn below<'g>(&'g self, id: &str) -> BTreeSet<&'g str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&Package> = self.0.get(id).into_iter().collect();
        while let Some(package) = open.pop() {
            for needed in &package.needs {
                if found.insert(needed.as_str()) {
                    open.extend(self.0.get(needed));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Graph;
    use crate::steps::root;

    fn metadata(edges: &[(&str, &str)]) -> Value {
        let names = [
            ("polywire-schema", "crates/schema"),
            ("polywire", "crates/polywire"),
            ("polywire-cli", "apps/cli"),
            ("polywire-emulator", "apps/emulator"),
            ("tokio", "elsewhere"),
            ("mid", "far"),
        ];
        let package = |(name, folder): &(&str, &str)| json!({"id": name, "name": name, "manifest_path": root().join(folder).join("Cargo.toml")});
        let node = |(name, _): &(&str, &str)| {
            let deps = edges.iter().filter(|(from, _)| from == name);
            let deps: Vec<Value> = deps.map(|(_, to)| json!({"pkg": to, "dep_kinds": [{"kind": null}]})).collect();
            json!({"id": name, "deps": deps})
        };
        json!({
            "workspace_members": ["polywire-schema", "polywire", "polywire-cli", "polywire-emulator"],
            "packages": names.iter().map(package).collect::<Vec<_>>(),
            "resolve": {"nodes": names.iter().map(node).collect::<Vec<_>>()},
        })
    }

    #[track_caller]
    fn check(edges: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(Graph::read(&metadata(edges)).expect("a graph").faults(), expected);
    }

    #[test]
    fn edges_upwards_and_io_below_the_core_are_faults() {
        check(&[("polywire-cli", "polywire"), ("polywire", "polywire-schema"), ("polywire-cli", "tokio")], &[]);
        check(&[("polywire-cli", "polywire-emulator"), ("polywire-emulator", "polywire")], &[]);
        check(
            &[("polywire-emulator", "polywire-cli")],
            &["polywire-emulator (apps) must not depend on polywire-cli (apps)"],
        );
        check(
            &[("polywire-cli", "polywire-schema")],
            &["polywire-cli (apps) must not depend on polywire-schema (crates)"],
        );
        check(
            &[("polywire-schema", "mid"), ("mid", "tokio")],
            &["polywire-schema must not depend on tokio, not even through others"],
        );
        check(
            &[("polywire-schema", "polywire-cli")],
            &[
                "polywire-schema (crates) must not depend on polywire-cli (apps)",
                "polywire-schema must not depend on polywire-cli, not even through others",
            ],
        );
    }
}
