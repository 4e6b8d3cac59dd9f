//! Runs a session: its events in, its messages out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::message::Message;
use crate::session::{Delivery, Output, Session};
use crate::settings::Shared;
use crate::upstream::{Event, Inbox, QUEUE, ServerSpec, start};

/// How often requests are looked at that may take too long.
const TICK: Duration = Duration::from_millis(500);

/// How long requests may take that are open when the client closes its side.
const GRACE: Duration = Duration::from_secs(5);

/// A running session: where the client's messages go.
pub(crate) fn spawn(
    shared: &Arc<Shared>,
    servers: &[ServerSpec],
    client: mpsc::Sender<Delivery>,
) -> mpsc::Sender<Event> {
    let (events, inbox) = mpsc::channel(QUEUE);
    let (shared, servers, to_self) = (Arc::clone(shared), servers.to_vec(), events.clone());
    tokio::spawn(async move { run(shared, servers, client, to_self, inbox).await });
    events
}

async fn run(
    shared: Arc<Shared>,
    servers: Vec<ServerSpec>,
    client: mpsc::Sender<Delivery>,
    to_self: mpsc::Sender<Event>,
    mut inbox: mpsc::Receiver<Event>,
) {
    let mut session = Session::new(Arc::clone(&shared), &servers);
    let connect = |(index, server): (usize, &ServerSpec)| {
        start(server, Inbox { index, events: to_self.clone() }, Arc::clone(&shared))
    };
    let links: Vec<mpsc::Sender<Message>> = servers.iter().enumerate().map(connect).collect();
    drop(to_self);
    let mut tick = tokio::time::interval(TICK);
    let mut gone: Option<Instant> = None;
    loop {
        if gone.is_some_and(|since| session.is_idle() || since.elapsed() > GRACE) {
            return;
        }
        let outputs = tokio::select! {
            event = inbox.recv() => match event {
                Some(Event::Client(message)) => session.on_client(message),
                Some(Event::Server(index, received)) => session.on_server(index, received),
                Some(Event::ServerDown(index, reason)) => session.on_server_down(index, &reason),
                Some(Event::ServerUp(index)) => session.on_server_up(index),
                Some(Event::ClientGone) => {
                    gone = Some(Instant::now());
                    Vec::new()
                }
                None => return,
            },
            _ = tick.tick() => session.on_tick(Instant::now()),
        };
        let mut outputs = VecDeque::from(outputs);
        while let Some(output) = outputs.pop_front() {
            match output {
                Output::Client(delivery) => {
                    if client.send(delivery).await.is_err() {
                        return;
                    }
                }
                // One server that does not read must not stop the others.
                Output::Server(index, message) => {
                    if let Some(Err(TrySendError::Full(message))) = links.get(index).map(|link| link.try_send(message))
                    {
                        outputs.extend(session.on_overflow(index, &message));
                    }
                }
            }
        }
    }
}
