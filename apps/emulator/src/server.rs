//! The emulator on loopback: it accepts connections and hands requests to [`respond`].

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use polywire::Provider;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::receive::EmulatorOptions;
use crate::respond::{Shared, respond};
use crate::route::base_path;

/// A running emulator. It ends when this is dropped.
#[derive(Debug)]
pub struct Emulator {
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Emulator {
    /// Starts on a port of loopback; 0 is any free port. Needs a tokio runtime.
    pub async fn start(port: u16) -> io::Result<Self> {
        Self::start_with(port, EmulatorOptions::default()).await
    }

    /// Starts with another catalog or other limits.
    pub async fn start_with(port: u16, options: EmulatorOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { address, server: tokio::spawn(serve(listener, options)) })
    }

    /// The address, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL that replaces the provider's own.
    pub fn base_url(&self, provider: &Provider) -> String {
        format!("{}/{}{}", self.url(), provider.id, base_path(provider))
    }

    /// Waits until the emulator ends.
    pub async fn wait(mut self) {
        // The task has no result but its end.
        let _ = (&mut self.server).await;
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, options: EmulatorOptions) {
    let read_timeout = options.read_timeout;
    let shared = Arc::new(Shared::new(options));
    // Connections end with the server.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // A connection that failed while it was accepted has no response to get.
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.spawn(connection(stream, read_timeout, Arc::clone(&shared)));
    }
}

async fn connection(stream: TcpStream, read_timeout: Duration, shared: Arc<Shared>) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(respond(request, &shared).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(read_timeout);
    // A client that closed the connection gets no response.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}
