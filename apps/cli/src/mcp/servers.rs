//! The servers of a command: what the command line, a client's configuration or `polywire.toml` names, and what they list.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use polywire_mcp::{Environment, Listed, ServerSpec, Transport, configured_servers, list_tools, read_servers};

use crate::input::{Failure, read_text};
use crate::known::{Known, note};

/// How long a server may take to list its tools.
const PATIENCE: Duration = Duration::from_mins(1);

/// The servers behind the proxy.
#[derive(Args)]
pub(crate) struct Servers {
    /// A server over streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["list", "program"])]
    url: Option<String>,
    /// A header for --url, such as `Authorization: Bearer …`; repeatable
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "url")]
    headers: Vec<String>,
    /// The servers of a client's configuration: `mcp.json`, `claude_desktop_config.json`
    #[arg(long = "servers", value_name = "FILE", conflicts_with = "program")]
    list: Option<String>,
    /// The program of a server and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    program: Vec<String>,
}

impl Servers {
    pub(crate) fn specs(&self) -> Result<Vec<ServerSpec>> {
        if let Some(path) = &self.list {
            let read = read_servers(&read_text(path)?, |name| std::env::var(name).ok());
            return read.map_err(|fault| {
                Failure::new(fault, path, "a list of servers has `mcpServers` with a `command` or a `url` for each")
                    .into()
            });
        }
        if let Some(url) = &self.url {
            let mut headers = BTreeMap::new();
            for header in &self.headers {
                let Some((name, value)) = header.split_once(':') else {
                    return Err(Failure::new("a header has a name and a value", header, "write NAME: VALUE").into());
                };
                headers.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            return Ok(vec![ServerSpec {
                name: "server".to_owned(),
                transport: Transport::Http { url: url.clone(), headers },
            }]);
        }
        let Some((program, arguments)) = self.program.split_first() else {
            let configured = Known::load()?.config.mcp;
            if !configured.servers.is_empty() {
                let read = configured_servers(&configured, |name| std::env::var(name).ok());
                return read.map_err(|fault| {
                    Failure::new(fault, "[mcp.server]", "correct the table, or set the variable").into()
                });
            }
            let next = "give `-- COMMAND ARGS…`, --url URL, --servers FILE, or `[mcp.server.NAME]` in `polywire.toml`";
            return Err(Failure::new("there is no server", "polywire mcp", next).into());
        };
        Ok(vec![command(program, arguments)])
    }
}

fn command(program: &str, arguments: &[String]) -> ServerSpec {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_owned();
    let (program, arguments) = (program.to_owned(), arguments.to_vec());
    ServerSpec { name, transport: Transport::Command { program, arguments, environment: Environment::Inherited } }
}

/// The server of `--mcp`: an address, or a command line.
pub(crate) fn server_of(text: &str) -> Result<ServerSpec> {
    if text.starts_with("http://") || text.starts_with("https://") {
        let transport = Transport::Http { url: text.to_owned(), headers: BTreeMap::new() };
        return Ok(ServerSpec { name: "server".to_owned(), transport });
    }
    let words = split_words(text);
    match words.split_first() {
        Some((program, arguments)) => Ok(command(program, arguments)),
        None => Err(Failure::new("there is no server", text, "give a command line or a URL").into()),
    }
}

/// Splits a command line at spaces that are not within quotes.
fn split_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in text.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// The tools of a server.
pub(crate) fn tools_of(server: &ServerSpec) -> Result<Listed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listed = runtime.block_on(list_tools(server, PATIENCE, note));
    runtime.shutdown_background();
    listed
        .map_err(|reason| Failure::new(reason, &server.name, "start the server by hand and see what it prints").into())
}

#[cfg(test)]
mod tests {
    use super::split_words;

    #[test]
    fn command_lines_are_split_at_spaces() {
        let rows = [
            ("npx -y server .", vec!["npx", "-y", "server", "."]),
            ("  uvx 'my server' \"a b\"c ''", vec!["uvx", "my server", "a bc", ""]),
            ("", vec![]),
        ];
        for (text, words) in rows {
            assert_eq!(split_words(text), words, "{text}");
        }
    }
}
