//! The sessions of all clients: named ones, and those that requests of the stateless era share. Their number is bounded, idle ones end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::streams::{ClientSession, Sharing};
use crate::random::random_name;
use crate::run::spawn;
use crate::settings::Shared;
use crate::upstream::{Event, QUEUE, ServerSpec};

/// Each session has its own servers, so there is a limit.
const MAX_SESSIONS: usize = 256;
/// A session that nobody uses ends after so long, once there are others to start.
const IDLE: Duration = Duration::from_mins(30);

pub(super) struct Sessions {
    shared: Arc<Shared>,
    servers: Vec<ServerSpec>,
    by_key: Mutex<HashMap<Key, Arc<ClientSession>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    /// By the name in its header.
    Named(String),
    /// By the client that requests tell about: another client may be given other tools.
    Client(String),
}

impl Sessions {
    pub(super) fn new(shared: Arc<Shared>, servers: Vec<ServerSpec>) -> Self {
        Self { shared, servers, by_key: Mutex::default() }
    }

    pub(super) fn named(&self, name: &str) -> Option<Arc<ClientSession>> {
        self.find(&Key::Named(name.to_owned()))
    }

    /// Starts a session with a name of its own; `None` where there are too many.
    pub(super) fn start(&self) -> Option<(String, Arc<ClientSession>)> {
        let name = random_name()?;
        let session = self.insert(Key::Named(name.clone()), Sharing::OneClient)?;
        Some((name, session))
    }

    /// The session of all requests of clients that say the same about themselves; `None` where there are too many.
    pub(super) fn shared(&self, identity: &str) -> Option<Arc<ClientSession>> {
        let key = Key::Client(identity.to_owned());
        self.find(&key).or_else(|| self.insert(key, Sharing::Shared))
    }

    pub(super) fn remove(&self, name: &str) -> Option<Arc<ClientSession>> {
        self.locked().remove(&Key::Named(name.to_owned()))
    }

    fn find(&self, key: &Key) -> Option<Arc<ClientSession>> {
        self.locked().get(key).filter(|session| !session.events.is_closed()).cloned()
    }

    fn insert(&self, key: Key, sharing: Sharing) -> Option<Arc<ClientSession>> {
        let mut sessions = self.locked();
        sessions.retain(|_, session| {
            let is_used = !session.events.is_closed() && !session.is_idle_for(IDLE);
            if !is_used {
                // One that does not take the event has ended.
                let _ = session.events.try_send(Event::ClientGone);
            }
            is_used
        });
        if sessions.len() >= MAX_SESSIONS {
            (self.shared.log)(&format!("a client was refused: there are {MAX_SESSIONS} sessions"));
            return None;
        }
        let (to_client, from_session) = mpsc::channel(QUEUE);
        let events = spawn(&self.shared, &self.servers, to_client);
        let session = Arc::new(ClientSession::new(events, sharing, self.shared.log));
        tokio::spawn(Arc::clone(&session).deliver(from_session));
        sessions.insert(key, Arc::clone(&session));
        Some(session)
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Key, Arc<ClientSession>>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
