//! Changes of lists in both eras: servers with sessions send them on their own, stateless ones to whoever listens (`subscriptions/listen`).

use serde_json::{Value, json};

use super::{Delivery, Session};
use crate::bridge::{Era, SUBSCRIPTION_ID};
use crate::json::{get, member_mut};
use crate::message::{Id, Message};
use crate::server::{Purpose, Server};

/// The method by which a client of the stateless era listens.
pub(super) const LISTEN: &str = "subscriptions/listen";

/// The notifications about lists, the capability that promises each, and its member in a filter.
const LIST_CHANGES: [(&str, &str, &str); 3] = [
    ("notifications/tools/list_changed", "tools", "toolsListChanged"),
    ("notifications/prompts/list_changed", "prompts", "promptsListChanged"),
    ("notifications/resources/list_changed", "resources", "resourcesListChanged"),
];

/// A client that listens to the proxy itself.
pub(super) struct Subscription {
    id: Id,
    filter: Value,
}

impl Session {
    /// Listens to a stateless server where the client cannot, or not to several servers.
    pub(super) fn subscribe(&mut self, index: usize) {
        let Some(server) = self.servers.get(index).filter(|server| server.era() == Some(Era::Stateless)) else {
            return;
        };
        if self.passes_subscriptions() {
            return;
        }
        let filter = offered(server);
        if filter.as_object().is_some_and(serde_json::Map::is_empty) {
            return;
        }
        let id = self.own_id();
        self.send(index, Message::request(&id, LISTEN, &json!({"notifications": filter})), Purpose::Subscription);
    }

    /// True where the one server answers `subscriptions/listen` itself.
    pub(super) fn passes_subscriptions(&self) -> bool {
        self.is_single() && self.is_stateless() && self.speaks(0) == Some(Era::Stateless)
    }

    /// A client listens to servers that cannot be listened to.
    pub(super) fn on_listen(&mut self, id: Id, message: &Message) {
        let wanted = get(&message.value(), "/params/notifications").clone();
        let mut granted = json!({});
        for (_, _, key) in LIST_CHANGES {
            let is_offered = self.servers.iter().any(|server| offered(server).get(key).is_some());
            if wanted.get(key) == Some(&Value::Bool(true)) && is_offered {
                *member_mut(&mut granted, key) = json!(true);
            }
        }
        let params = json!({"notifications": granted, "_meta": {SUBSCRIPTION_ID: id_value(&id)}});
        self.deliver(notification("notifications/subscriptions/acknowledged", &params), Some(id.clone()));
        self.subscriptions.push(Subscription { id, filter: granted });
    }

    pub(super) fn end_subscription(&mut self, id: &Id) {
        self.subscriptions.retain(|own| own.id != *id);
    }

    /// A notification of a server, as a client of its era expects it. `origin` is the request in whose response it came.
    pub(super) fn on_server_notification(&mut self, method: &str, message: Message, origin: Option<Id>) {
        let change = LIST_CHANGES.iter().find(|(own, _, _)| *own == method);
        if method == "notifications/tools/list_changed" {
            self.is_catalog_stale = true;
        }
        if self.is_stateless()
            && !self.passes_subscriptions()
            && let Some((_, _, key)) = change
        {
            let listening: Vec<Id> = self
                .subscriptions
                .iter()
                .filter(|own| own.filter.get(key).is_some())
                .map(|own| own.id.clone())
                .collect();
            for id in listening {
                let params = json!({"_meta": {SUBSCRIPTION_ID: id_value(&id)}});
                self.deliver(notification(method, &params), Some(id));
            }
            return;
        }
        // That we are listened to is our own affair.
        if method == "notifications/subscriptions/acknowledged" && !self.passes_subscriptions() {
            return;
        }
        self.deliver(message, origin);
    }

    pub(super) fn deliver(&mut self, message: Message, origin: Option<Id>) {
        self.outputs.push(super::Output::Client(Delivery { message, origin }));
    }
}

/// What a server offers to tell, as a filter of all of it.
fn offered(server: &Server) -> Value {
    let mut filter = json!({});
    for (_, capability, key) in LIST_CHANGES {
        let info = server.info().map(|info| &info.capabilities);
        if info.is_some_and(|capabilities| get(capabilities, &format!("/{capability}/listChanged")) == &json!(true)) {
            *member_mut(&mut filter, key) = json!(true);
        }
    }
    filter
}

fn id_value(id: &Id) -> Value {
    serde_json::from_str(id).unwrap_or_default()
}

fn notification(method: &str, params: &Value) -> Message {
    Message::notification_with(method, params)
}
