//! One client on a pair of streams, such as standard input and output.

use std::sync::Arc;

use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::lines::{Line, LineReader, write_line};
use crate::run::spawn;
use crate::session::Delivery;
use crate::settings::Shared;
use crate::upstream::{Event, QUEUE, ServerSpec};

/// Standard output. Not by its lock, which the program may hold.
#[cfg(unix)]
pub(crate) fn output() -> std::io::Result<impl AsyncWrite + Unpin + Send + 'static> {
    use std::os::fd::AsFd as _;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    Ok(tokio::fs::File::from_std(output.into()))
}

#[cfg(not(unix))]
pub(crate) fn output() -> std::io::Result<impl AsyncWrite + Unpin + Send + 'static> {
    Ok(tokio::io::stdout())
}

/// Serves until the client closes its side.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    servers: &[ServerSpec],
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (to_client, mut from_session) = mpsc::channel::<Delivery>(QUEUE);
    let session = spawn(&shared, servers, to_client);
    let writer = tokio::spawn(async move {
        while let Some(delivery) = from_session.recv().await {
            write_line(&mut output, &delivery.message).await?;
        }
        Ok(())
    });
    let mut lines = LineReader::new(input, shared.options.longest_message);
    while let Some(line) = lines.next().await {
        match line {
            Line::Message(message) => {
                if session.send(Event::Client(message)).await.is_err() {
                    break;
                }
            }
            Line::Noise { start, reason } => (shared.log)(&format!("the client sent no message ({reason}): {start}")),
            Line::TooLong { bytes } => {
                let limit = shared.options.longest_message;
                (shared.log)(&format!("the client sent {bytes} bytes in one message, more than {limit}"));
            }
        }
    }
    // The session may have ended already.
    let _ = session.send(Event::ClientGone).await;
    drop(session);
    writer.await.unwrap_or(Ok(()))
}
