//! A process of the command, and a folder for its files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that goes when the test is over.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polywire-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that is left behind harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The command without a key in its environment.
pub(crate) fn polywire(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polywire"));
    command.args(arguments).stdin(Stdio::null()).env_clear();
    command
}

pub(crate) fn output(arguments: &[&str]) -> Output {
    polywire(arguments).output().expect("a process")
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// What was printed, of a command that ended with a code.
pub(crate) fn told(output: &Output, code: i32) -> String {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{error}");
    format!("{out}{error}")
}
