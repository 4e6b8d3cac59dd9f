//! Postgres and Redis as child processes on free ports, with folders of their own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static NUMBER: AtomicU32 = AtomicU32::new(0);

fn folder(name: &str) -> PathBuf {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("polywire-{name}-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a port").port()
}

fn wait_for(port: u16, child: &mut Child) {
    let until = Instant::now() + Duration::from_mins(1);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(child.try_wait().expect("a state").is_none(), "the server ended");
        assert!(Instant::now() < until, "the server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn kill(child: &mut Child) {
    child.kill().expect("killed");
    child.wait().expect("ended");
}

/// A Redis server without persistence.
pub(crate) struct Redis {
    port: u16,
    folder: PathBuf,
    child: Child,
}

impl Redis {
    pub(crate) fn start() -> Self {
        let (port, folder) = (free_port(), folder("redis"));
        let child = Self::spawn(port, &folder);
        Self { port, folder, child }
    }

    fn spawn(port: u16, folder: &Path) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port"]).arg(port.to_string());
        let started = command.current_dir(folder).stdout(Stdio::null()).spawn();
        let mut child = started.expect("redis-server (Debian: redis-server)");
        wait_for(port, &mut child);
        child
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn stop(&mut self) {
        kill(&mut self.child);
    }

    pub(crate) fn restart(&mut self) {
        self.child = Self::spawn(self.port, &self.folder);
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A Postgres server. Root cannot run one, so it runs as `nobody` then.
pub(crate) struct Postgres {
    port: u16,
    folder: PathBuf,
    child: Child,
}

/// The programs of the newest version, where Debian puts them, or those in the path.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        versions.map(|entry| entry.path().join("bin").join(name)).filter(|path| path.is_file()).collect();
    found.sort();
    found.pop().unwrap_or_else(|| PathBuf::from(name))
}

fn command(name: &str) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !is_root {
        return Command::new(program(name));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program(name));
    command
}

impl Postgres {
    pub(crate) fn start() -> Self {
        let (port, folder) = (free_port(), folder("postgres"));
        // Whoever runs the server owns its folder; as root that is another user.
        let _ = Command::new("chown").arg("nobody").arg(&folder).stderr(Stdio::null()).status();
        let data = folder.join("data");
        let made =
            command("initdb").args(["--auth=trust", "--username=polywire", "--no-sync", "-D"]).arg(&data).output();
        let made = made.expect("initdb (Debian: postgresql)");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let child = Self::spawn(port, &folder);
        Self { port, folder, child }
    }

    fn spawn(port: u16, folder: &Path) -> Child {
        let mut command = command("postgres");
        command.args(["-h", "127.0.0.1", "-c", "fsync=off", "-k"]).arg(folder).arg("-p").arg(port.to_string());
        command.arg("-D").arg(folder.join("data")).current_dir(folder);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("postgres");
        wait_for(port, &mut child);
        // It listens before it takes connections.
        let mut is_ready = self::command("pg_isready");
        is_ready.args(["--quiet", "--host", "127.0.0.1", "--port"]).arg(port.to_string());
        while !is_ready.status().is_ok_and(|status| status.success()) {
            assert!(child.try_wait().expect("a state").is_none(), "the server ended");
            std::thread::sleep(Duration::from_millis(50));
        }
        child
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://polywire@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn stop(&mut self) {
        kill(&mut self.child);
        // A server that was killed leaves its lock behind.
        let _ = fs::remove_file(self.folder.join("data/postmaster.pid"));
    }

    pub(crate) fn restart(&mut self) {
        std::thread::sleep(Duration::from_millis(500));
        self.child = Self::spawn(self.port, &self.folder);
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
