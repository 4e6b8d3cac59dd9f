//! Servers on this machine that play an attacker, a proxy or a provider that repeats what it hears.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server that remembers everything that it hears.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server that refuses every request.
    pub(crate) fn refusing() -> Self {
        Self::start(|_| vec![b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()])
    }

    /// A server that answers each request with some pieces, one after the other.
    pub(crate) fn start(answer: impl Fn(&str) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        // The thread ends with the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let request = read(&mut stream);
                log.lock().expect("a lock").push(request.clone());
                for piece in answer(&request) {
                    // Whatever is answered, what was heard is what counts.
                    let _ = stream.write_all(&piece).and_then(|()| stream.flush());
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        });
        Self { address, heard }
    }

    /// Everything that was heard so far.
    pub(crate) fn heard(&self) -> String {
        self.heard.lock().expect("a lock").join("\n---\n")
    }
}

fn read(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    let mut heard = Vec::new();
    let mut piece = [0; 4096];
    while !is_whole(&String::from_utf8_lossy(&heard)) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => heard.extend_from_slice(&piece[..length]),
        }
    }
    String::from_utf8_lossy(&heard).into_owned()
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).and_then(|text| text.parse().ok());
    length.is_none_or(|length: usize| body.len() >= length)
}
