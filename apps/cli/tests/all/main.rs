//! The command as a process of its own, beside others of its kind. One binary, so that it is linked once.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and says why it skips"
)]

mod ask;
mod attacker;
mod batch;
mod cache;
mod config;
mod echo;
mod process;
#[cfg(feature = "prove")]
mod prove;
mod serve;
mod serve_kill;
mod trust;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const POLYWIRE: &str = env!("CARGO_BIN_EXE_polywire");

/// A home and a working directory of its own, which go when the test is over.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polywire-home-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("work")).expect("a folder");
        Self(path)
    }

    /// A command that sees nothing of the environment but its own home.
    fn polywire(&self, line: &[&str]) -> Command {
        let mut command = Command::new(POLYWIRE);
        self.at_home(&mut command).args(line);
        command
    }

    fn at_home<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env_clear().env("HOME", &self.0).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("XDG_CACHE_HOME", self.0.join("cache")).env("XDG_CONFIG_HOME", self.0.join("config"));
        command.current_dir(self.0.join("work"))
    }

    /// The file of the cache, where the platform has it.
    fn cache(&self) -> PathBuf {
        let told = self.run(&["config", "path", "--json"], &[]);
        PathBuf::from(json(&told)["cache"].as_str().expect("a path"))
    }

    fn run(&self, line: &[&str], env: &[(&str, &str)]) -> Output {
        self.polywire(line).envs(env.iter().copied()).output().expect("a process")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join("work").join(name), text).expect("a file");
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An emulator as a process of its own.
struct Emulator {
    process: Child,
    url: String,
}

impl Emulator {
    fn start(home: &Home) -> Self {
        let mut command = home.polywire(&["emulate", "--json"]);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("a process");
        let mut line = String::new();
        let out = process.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let told: Value = serde_json::from_str(&line).expect("JSON");
        Self { process, url: told["url"].as_str().expect("an address").to_owned() }
    }

    /// The variables by which the command finds it in the place of the provider.
    fn openai(&self) -> [(&'static str, String); 2] {
        [("OPENAI_BASE_URL", format!("{}/openai/v1", self.url)), ("OPENAI_API_KEY", "emulated".to_owned())]
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", errors(output)))
}

fn output(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
