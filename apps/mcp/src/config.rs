//! Lists of servers as clients keep them: `mcp.json`, `claude_desktop_config.json` and their kin.

use std::collections::BTreeMap;

use polywire::catalog::{Mcp, McpServer};
use serde::Deserialize;
use serde_json::Value;

use crate::upstream::{Environment, ServerSpec, Transport};

/// The names under which clients list servers.
const LISTS: [&str; 4] = ["mcpServers", "servers", "mcp", "context_servers"];

#[derive(Deserialize)]
struct Row {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(alias = "httpUrl", alias = "serverUrl")]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// Reads the servers of a client's configuration. `variable` gives the variables that the file refers to as `${NAME}` or `${env:NAME}`.
pub fn read_servers(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<ServerSpec>, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let list = LISTS.iter().find_map(|key| document.get(key)?.as_object());
    let list = list.ok_or_else(|| format!("it lists no servers: there is none of {}", LISTS.join(", ")))?;
    let mut rows = Vec::new();
    for (name, row) in list {
        let row = serde_json::from_value(row.clone()).map_err(|error| format!("server `{name}`: {error}"))?;
        rows.push((name.as_str(), row));
    }
    specs(rows, &variable)
}

/// The servers of `[mcp.server.NAME]` of a configuration that is trusted.
pub fn configured_servers(mcp: &Mcp, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<ServerSpec>, String> {
    let row = |server: &McpServer| Row {
        command: server.command.clone(),
        args: server.args.clone(),
        env: server.env.clone(),
        url: server.url.clone(),
        headers: server.headers.clone(),
        disabled: server.disabled,
    };
    specs(mcp.servers.iter().map(|(name, server)| (name.as_str(), row(server))).collect(), &variable)
}

fn specs(rows: Vec<(&str, Row)>, variable: &impl Fn(&str) -> Option<String>) -> Result<Vec<ServerSpec>, String> {
    let mut servers = Vec::new();
    for (name, row) in rows.into_iter().filter(|(_, row)| !row.disabled) {
        let fill = |text: String| {
            fill(&text, variable).map_err(|missing| format!("server `{name}`: the variable `{missing}` is not set"))
        };
        let fill_all = |map: BTreeMap<String, String>| -> Result<BTreeMap<String, String>, String> {
            map.into_iter().map(|(key, value)| Ok((key, fill(value)?))).collect()
        };
        let transport = match (row.command, row.url) {
            (Some(program), None) => Transport::Command {
                program: fill(program)?,
                arguments: row.args.into_iter().map(fill).collect::<Result<_, _>>()?,
                environment: Environment::Only(fill_all(row.env)?),
            },
            (None, Some(url)) => Transport::Http { url: fill(url)?, headers: fill_all(row.headers)? },
            _ => return Err(format!("server `{name}` needs a `command` or a `url`")),
        };
        servers.push(ServerSpec { name: name.to_owned(), transport });
    }
    if servers.is_empty() { Err("it lists no servers".to_owned()) } else { Ok(servers) }
}

/// Replaces `${NAME}`, `${env:NAME}` and `${NAME:-default}`; the error is the name of a variable that is not set.
fn fill(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        filled += before;
        let name = name.strip_prefix("env:").unwrap_or(name);
        let (name, default) = name.split_once(":-").map_or((name, None), |(name, default)| (name, Some(default)));
        filled += &variable(name).or_else(|| default.map(str::to_owned)).ok_or_else(|| name.to_owned())?;
        rest = behind;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::{Environment, Transport, read_servers};

    #[test]
    fn servers_are_read_as_clients_list_them() {
        let text = r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server", "${HOME}"], "env": {"KEY": "${env:TOKEN}"}},
            "remote": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "off": {"command": "x", "disabled": true}
        }}"#;
        let variable = |name: &str| Some(name.to_lowercase());
        let servers = read_servers(text, variable).expect("servers");
        assert_eq!(servers.len(), 2);
        let Transport::Command { arguments, environment, .. } = &servers[0].transport else { panic!("a command") };
        assert_eq!(arguments[2], "home");
        assert_eq!(environment, &Environment::Only([("KEY".to_owned(), "token".to_owned())].into()));
        let Transport::Http { headers, .. } = &servers[1].transport else { panic!("an address") };
        assert_eq!(headers["Authorization"], "Bearer token");
    }

    #[test]
    fn faults_name_the_server_and_what_is_missing() {
        let rows = [
            (r#"{"mcpServers": {"a": {}}}"#, "server `a` needs a `command` or a `url`"),
            (r#"{"mcpServers": {"a": {"command": "${NO}"}}}"#, "server `a`: the variable `NO` is not set"),
            (r#"{"mcpServers": {}}"#, "it lists no servers"),
        ];
        for (text, fault) in rows {
            assert_eq!(read_servers(text, |_| None), Err(fault.to_owned()));
        }
    }
}
