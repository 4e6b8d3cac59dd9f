//! The output of `cargo metadata`, read once for every check over packages.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::steps::{cargo_command, root};

/// The dependency graph of the workspace with all features.
pub(crate) fn read() -> Result<Value> {
    let output = cargo_command().args(["metadata", "--format-version", "1", "--all-features"]).output()?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A package of this workspace.
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    /// Its first folder, for instance `crates`.
    pub(crate) folder: String,
    pub(crate) rust_version: Option<&'a str>,
    pub(crate) features: Vec<&'a str>,
}

/// The packages of this workspace, in the order of the metadata; `None` if cargo changed its form.
pub(crate) fn members(metadata: &Value) -> Option<Vec<Member<'_>>> {
    let ids = metadata.get("workspace_members")?.as_array()?;
    let packages = metadata.get("packages")?.as_array()?.iter();
    packages.filter(|package| package.get("id").is_some_and(|id| ids.contains(id))).map(member).collect()
}

fn member(package: &Value) -> Option<Member<'_>> {
    let manifest = Path::new(package.get("manifest_path")?.as_str()?);
    let folder = manifest.strip_prefix(root()).ok()?.iter().next()?;
    Some(Member {
        name: package.get("name")?.as_str()?,
        folder: folder.to_string_lossy().into_owned(),
        rust_version: package.get("rust_version").and_then(Value::as_str),
        features: package.get("features")?.as_object()?.keys().map(String::as_str).collect(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{members, root};

    #[test]
    fn members_have_versions_and_features() {
        let metadata = json!({
            "workspace_members": ["a"],
            "packages": [
                {
                    "id": "a", "name": "a", "manifest_path": root().join("crates/a/Cargo.toml"), "rust_version": "1.95",
                    "features": {"client": [], "cache": []},
                },
                {"id": "b", "name": "b"},
            ],
        });
        let members = members(&metadata).expect("the form of `cargo metadata`");
        let [member] = members.as_slice() else { panic!("one member") };
        assert_eq!((member.name, member.folder.as_str(), member.rust_version), ("a", "crates", Some("1.95")));
        assert_eq!(member.features, ["client", "cache"]);
    }
}
