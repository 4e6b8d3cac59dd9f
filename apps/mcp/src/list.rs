//! The tools of a server, asked for once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::bridge::{ClientInfo, Era, ServerInfo};
use crate::join::MAX_PAGES;
use crate::json::get;
use crate::message::{Kind, Message};
use crate::settings::{ProxyOptions, Shared};
use crate::upstream::{Event, Inbox, QUEUE, Received, ServerSpec, start};

/// What a server lists.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The name that the server gives itself.
    pub server: Option<String>,
    /// The tools, in the server's own words.
    pub tools: Vec<Value>,
}

/// Starts a server or connects to it, asks for its tools, and ends.
pub async fn list_tools(server: &ServerSpec, patience: Duration, log: fn(&str)) -> Result<Listed, String> {
    let (events, inbox) = mpsc::channel(QUEUE);
    let shared = Shared::new(ProxyOptions::default(), log);
    let link = start(server, Inbox { index: 0, events }, Arc::clone(&shared));
    let mut asker = Asker { link, inbox, next: 0 };
    match timeout(patience, asker.tools()).await {
        Ok(listed) => listed,
        Err(_) => Err(format!("the server `{}` did not answer within {} s", server.name, patience.as_secs())),
    }
}

struct Asker {
    link: mpsc::Sender<Message>,
    inbox: mpsc::Receiver<Event>,
    next: u64,
}

impl Asker {
    async fn tools(&mut self) -> Result<Listed, String> {
        let client = ClientInfo::default();
        let mut era = Era::Sessions;
        let mut greeting = self.ask(era.greeting(), &client.greeting(era)).await?;
        if greeting.get("error").is_some() {
            era = era.other();
            greeting = self.ask(era.greeting(), &client.greeting(era)).await?;
        }
        let info = ServerInfo::of(era, result(&greeting, "the handshake")?);
        if era == Era::Sessions {
            self.send(Message::notification("notifications/initialized")).await?;
        }
        let (mut tools, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
        loop {
            let mut params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            if era == Era::Stateless {
                params = client.with_meta(params);
            }
            let page = self.ask("tools/list", &params).await?;
            let page = result(&page, "`tools/list`")?;
            tools.extend(get(page, "/tools").as_array().into_iter().flatten().cloned());
            pages += 1;
            cursor = get(page, "/nextCursor").clone();
            if !cursor.is_string() || pages == MAX_PAGES {
                return Ok(Listed { server: get(&info.info, "/name").as_str().map(str::to_owned), tools });
            }
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), String> {
        self.link.send(message).await.map_err(|_| "the server has ended".to_owned())
    }

    /// Sends a request and waits for its response. Requests of the server are refused.
    async fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.next += 1;
        let id = self.next.to_string();
        self.send(Message::request(&id, method, params)).await?;
        loop {
            match self.inbox.recv().await {
                Some(Event::Server(_, Received { message, .. })) => match message.kind().clone() {
                    Kind::Response { id: own } if own == id => return Ok(message.value()),
                    Kind::Request { id, .. } => self.send(Message::error(&id, -32601, "not supported")).await?,
                    Kind::Response { .. } | Kind::Notification { .. } => {}
                },
                Some(Event::ServerDown(_, reason)) => return Err(reason),
                Some(Event::ServerUp(_) | Event::Client(_) | Event::ClientGone) => {}
                None => return Err("the server has ended".to_owned()),
            }
        }
    }
}

fn result<'m>(message: &'m Value, what: &str) -> Result<&'m Value, String> {
    match message.get("error") {
        Some(error) => {
            Err(format!("the server refuses {what}: {}", get(error, "/message").as_str().unwrap_or("no reason given")))
        }
        None => Ok(get(message, "/result")),
    }
}
