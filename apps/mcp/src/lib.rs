//! An MCP proxy: the tools of every server legal for every model, and the arguments of calls back in the server's own schema.
//!
//! Messages stay as they are. Only lists of tools and calls are changed, and what a peer of another revision would not understand.

mod bridge;
mod catalog;
mod config;
mod join;
mod json;
mod lines;
mod list;
mod message;
mod named;
mod param_headers;
mod random;
mod run;
mod serve;
mod server;
mod session;
mod settings;
mod upstream;

pub use config::{configured_servers, read_servers};
pub use list::{Listed, list_tools};
pub use serve::http::Listen;
pub use settings::{Audience, BrokenTools, ProxyOptions, Results};
pub use upstream::{Environment, ServerSpec, Transport};

use settings::Shared;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::net::TcpListener;

/// Serves one client on any pair of streams, such as a pipe, until it closes its side.
pub async fn serve_streams(
    servers: &[ServerSpec],
    options: ProxyOptions,
    log: fn(&str),
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    serve::stdio::serve(Shared::new(options, log), servers, BufReader::new(input), output).await
}

/// Serves one client on standard input and output until it closes its side. `log` gets one line for everything that is worth knowing.
pub async fn serve_stdio(servers: &[ServerSpec], options: ProxyOptions, log: fn(&str)) -> std::io::Result<()> {
    let output = serve::stdio::output()?;
    serve_streams(servers, options, log, tokio::io::stdin(), output).await
}

/// Serves clients over streamable HTTP. `ready` gets the address.
pub async fn serve_http(
    servers: Vec<ServerSpec>,
    options: ProxyOptions,
    listen: Listen,
    log: fn(&str),
    ready: impl FnOnce(std::net::SocketAddr),
) -> std::io::Result<()> {
    let listener = TcpListener::bind(listen.address).await?;
    ready(listener.local_addr()?);
    serve::http::serve(Shared::new(options, log), servers, listener, listen.token).await
}
