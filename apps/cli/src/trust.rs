//! Which configurations of working directories the user trusts: each by its path and by the hashes of what it holds, so that a changed
//! file, or a changed dialect file that it reads, is not trusted any more.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use etcetera::BaseStrategy as _;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::input::Failure;
use crate::regular_file::read_regular;

/// The variable that names another folder for the list.
const FOLDER: &str = "POLYWIRE_DATA_DIR";
const FILE: &str = "trusted.json";

/// Whether a whole configuration is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    Trusted,
    /// Only what an untrusted file may say counts.
    Untrusted,
}

impl Trust {
    pub(crate) fn is_trusted(self) -> bool {
        self == Self::Trusted
    }
}

/// The files that are trusted, by their absolute paths.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trusted {
    files: BTreeMap<String, Hashes>,
}

/// What a trusted configuration held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hashes {
    /// The hash of the configuration.
    pub(crate) sha256: String,
    /// The hashes of the files that it reads, by their names in it.
    pub(crate) reads: BTreeMap<String, String>,
}

impl Trusted {
    /// The list; a list that cannot be read trusts nothing.
    pub(crate) fn load() -> Self {
        Self::read().unwrap_or_default()
    }

    /// What a file held when it was trusted.
    pub(crate) fn hashes(&self, path: &Path) -> Option<&Hashes> {
        self.files.get(path.to_str()?)
    }

    /// Trusts a file with what it holds now.
    pub(crate) fn add(path: &Path, hashes: Hashes) -> Result<()> {
        let Some(name) = path.to_str() else {
            let what = "only a path in UTF-8 can be trusted";
            return Err(Failure::new(what, &path.display().to_string(), "move the file to a path in UTF-8").into());
        };
        let mut trusted = Self::read()?;
        trusted.files.insert(name.to_owned(), hashes);
        trusted.write()
    }

    /// Stops trusting a file; `true` if it was trusted.
    pub(crate) fn remove(path: &Path) -> Result<bool> {
        let mut trusted = Self::read()?;
        let was = path.to_str().is_some_and(|name| trusted.files.remove(name).is_some());
        if was {
            trusted.write()?;
        }
        Ok(was)
    }

    fn read() -> Result<Self> {
        let Some(path) = list_path() else { return Ok(Self::default()) };
        let refused = |why: &dyn std::fmt::Display| {
            Failure::new(why, &path.display().to_string(), "remove the file to begin a new list of trusted files")
        };
        match read_regular(&path) {
            Ok(text) => Ok(serde_json::from_str(&text).map_err(|error| refused(&error))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(refused(&error).into()),
        }
    }

    /// Puts the list in the place of the old one in one step.
    fn write(&self) -> Result<()> {
        let next = format!("name a folder that can be written with {FOLDER}");
        let Some(path) = list_path() else {
            return Err(Failure::new("there is no folder for the list of trusted files", FILE, &next).into());
        };
        let text = serde_json::to_string_pretty(self)?;
        replace(&path, &text).map_err(|error| Failure::new(error, &path.display().to_string(), &next))?;
        Ok(())
    }
}

/// Writes a file that only its owner may read. A link in its place is replaced, not followed.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    path.parent().map_or(Ok(()), |folder| builder.create(folder))?;
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}", std::process::id()));
    let draft = PathBuf::from(draft);
    // What a process of the same number left behind is of no use.
    let _ = fs::remove_file(&draft);
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

/// Where the list is.
pub(crate) fn list_path() -> Option<PathBuf> {
    let named = std::env::var_os(FOLDER).filter(|path| !path.is_empty()).map(PathBuf::from);
    let folder = || Some(etcetera::base_strategy::choose_native_strategy().ok()?.data_dir().join("polywire"));
    Some(named.or_else(folder)?.join(FILE))
}

/// The hash of a text.
pub(crate) fn sha256(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}
