//! The gateway on a socket: it accepts connections, answers until it is stopped, and then lets open requests end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::state::Shared;

/// Bytes of the head of a request.
const MAX_HEAD: usize = 128 << 10;
/// How often keys are read, which other processes may have changed.
const KEYS_INTERVAL: Duration = Duration::from_secs(5);

/// A listening socket and what it serves.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) listener: TcpListener,
    pub(crate) shared: Arc<Shared>,
    pub(crate) router: Router,
}

impl Server {
    /// Serves until `stop` says so, then until every open request has ended or the drain timeout is over.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) {
        let Self { listener, shared, router } = self;
        let graceful = GracefulShutdown::new();
        let read_timeout = shared.active().settings.read_timeout;
        let mut keys = tokio::time::interval(KEYS_INTERVAL);
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => connect(stream, router.clone(), read_timeout, &graceful),
                    // Without file descriptors the next one fails at once too.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                },
                _ = keys.tick() => {
                    let shared = Arc::clone(&shared);
                    // While the store fails, the keys that are known stay valid.
                    tokio::spawn(async move {
                        shared.limiter.beat().await;
                        shared.read_keys().await.ok()
                    });
                }
                changed = stop.changed() => if changed.is_err() || *stop.borrow() { break },
            }
        }
        drop(listener);
        shared.drain();
        let drain = shared.active().settings.drain_timeout;
        // What is still open after this time is cut.
        let _ = tokio::time::timeout(drain, graceful.shutdown()).await;
        shared.limiter.leave().await;
    }
}

fn connect(stream: TcpStream, router: Router, read_timeout: Duration, graceful: &GracefulShutdown) {
    // With Nagle's algorithm small chunks of a stream wait for an acknowledgement, up to 40 ms.
    let _ = stream.set_nodelay(true);
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(read_timeout).max_buf_size(MAX_HEAD);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let connection = graceful.watch(connection);
    // An error here means that the client went away.
    tokio::spawn(async move { connection.await.ok() });
}

/// Binds an address.
pub(crate) async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}
