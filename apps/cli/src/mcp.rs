//! `polywire mcp`: a proxy before MCP servers, and what their tools cost and need.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use polywire::schema::{Severity, check_tools, read_tools};
use polywire_mcp::{
    Audience, BrokenTools, Environment, Listed, Listen, ProxyOptions, Results, ServerSpec, Transport, list_tools,
    read_servers, serve_http, serve_stdio,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::{FitArgs, Json, read_target};
use crate::input::{Failure, read_text};
use crate::known::{Known, note};

const HELP: &str = "\
Examples:
  polywire mcp -- npx -y @modelcontextprotocol/server-filesystem .
  polywire mcp --for openai-strict -- uvx mcp-server-git
  polywire mcp --for google/gemini-2.5-pro --url https://mcp.example.com/mcp --header 'Authorization: Bearer …'
  polywire mcp --servers ~/.config/mcp.json --listen 127.0.0.1:4200
  polywire mcp inspect --for openai-strict,gemini -- npx -y @modelcontextprotocol/server-everything

In a client's configuration, put `polywire mcp --for auto --` before the command of any server. Tools are fitted for the client's
provider, names are made legal, and the arguments of each call go to the server in its own schema. Everything else passes unchanged.
What was lost is listed in `_meta` of each tool.";

/// How long a server may take to list its tools.
const PATIENCE: Duration = Duration::from_mins(1);

/// Put a proxy before MCP servers: tools legal for every model, arguments back in the server's schema
#[derive(Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<McpCommand>,
    #[command(flatten)]
    servers: Servers,
    /// For whom tools are fitted: dialect ids, a model as `PROVIDER/MODEL`, or `auto` by the name of the client
    #[arg(long = "for", value_name = "DIALECT|PROVIDER/MODEL|auto", default_value = "auto")]
    audience: String,
    /// Serve streamable HTTP on this address instead of standard input and output
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// The variable that has the bearer token for clients over HTTP
    #[arg(long, value_name = "VARIABLE", requires = "listen")]
    token_env: Option<String>,
    /// What to do with a tool whose schema cannot be read
    #[arg(long, value_enum, default_value_t = Broken::Permissive)]
    broken: Broken,
    /// Turn structured results into errors that the `outputSchema` of their tool refuses
    #[arg(long)]
    check_results: bool,
    /// How long a server may take for a request, in seconds [default: no limit]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    #[command(flatten)]
    options: FitArgs,
}

#[derive(Subcommand)]
enum McpCommand {
    Inspect(Inspect),
}

#[derive(Clone, Copy, ValueEnum)]
enum Broken {
    /// List it with a schema that accepts any object
    Permissive,
    /// Do not list it
    Omit,
}

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

/// List the tools of servers: bytes and tokens, and what each provider refuses
#[derive(Args)]
struct Inspect {
    #[command(flatten)]
    servers: Servers,
    /// Dialect ids, each checked on its own
    #[arg(
        long = "for",
        value_name = "ID[,ID…]",
        value_delimiter = ',',
        default_value = "openai-strict,anthropic,gemini"
    )]
    dialects: Vec<String>,
    #[command(flatten)]
    json: Json,
}

impl Mcp {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        if let Some(McpCommand::Inspect(inspect)) = &self.command {
            return inspect.run(out);
        }
        let servers = self.servers.specs()?;
        let token = self.token()?;
        let options = ProxyOptions {
            audience: audience(&self.audience)?,
            fit: self.options.options(),
            broken: match self.broken {
                Broken::Permissive => BrokenTools::Permissive,
                Broken::Omit => BrokenTools::LeftOut,
            },
            results: if self.check_results { Results::Checked } else { Results::Passed },
            timeout: self.timeout.map(Duration::from_secs),
            ..ProxyOptions::default()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(async {
            let Some(address) = self.listen else { return serve_stdio(&servers, options, note).await };
            let ready = |address| note(&format!("serving MCP on http://{address}/mcp"));
            tokio::select! {
                served = serve_http(servers, options, Listen { address, token }, note, ready) => served,
                _ = tokio::signal::ctrl_c() => Ok(()),
            }
        });
        // A read of standard input cannot be cancelled, and nothing else is left to do.
        runtime.shutdown_background();
        served?;
        Ok(Verdict::Fine)
    }

    fn token(&self) -> Result<Option<String>> {
        let token = self.token_env.as_deref().and_then(|name| std::env::var(name).ok());
        let is_missing = self.token_env.is_some() && token.as_deref().unwrap_or_default().is_empty();
        if is_missing {
            let name = self.token_env.as_deref().unwrap_or_default();
            return Err(
                Failure::new("the variable of the token is not set", name, "set it, or leave out --token-env").into()
            );
        }
        let is_open = self.listen.is_some_and(|address| !address.ip().is_loopback());
        if is_open && token.is_none() {
            let place = self.listen.map(|address| address.to_string()).unwrap_or_default();
            let next = "give --token-env, so that not everybody who can connect may call the tools";
            return Err(Failure::new("other machines can connect to this address", &place, next).into());
        }
        Ok(token)
    }
}

/// The dialects of `--for`.
fn audience(name: &str) -> Result<Audience> {
    if name == "auto" {
        return Ok(Audience::Auto);
    }
    let is_file = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    if name.contains('/') && !is_file {
        let catalog = Known::load()?.catalog_for([name]);
        let model =
            catalog.resolve(name).map_err(|error| Failure::new(error, name, "`polywire models` lists models"))?;
        let dialects = &model.surface().dialects;
        let Some(ids) = dialects.tool.as_deref().or(dialects.tool_strict.as_deref()) else {
            return Err(
                Failure::new("this model takes no tools", name, "choose another model, or name a dialect").into()
            );
        };
        return Ok(Audience::Dialect(Box::new(read_target(ids)?)));
    }
    Ok(Audience::Dialect(Box::new(read_target(name)?)))
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
            let next = "give `-- COMMAND ARGS…`, --url URL or --servers FILE";
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

/// What is told of one tool.
#[derive(Serialize)]
struct ToolRow {
    server: String,
    tool: String,
    bytes: usize,
    tokens: usize,
    /// The codes of what each dialect refuses, or may refuse.
    refused: BTreeMap<String, Vec<String>>,
}

impl Inspect {
    fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let mut rows = Vec::new();
        for server in self.servers.specs()? {
            match tools_of(&server) {
                Ok(listed) => {
                    for tool in &listed.tools {
                        rows.push(self.row(&server.name, tool)?);
                    }
                }
                // One server never takes the others down.
                Err(error) => note(&format!("{error:#}")),
            }
        }
        if self.json.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        } else {
            self.write_table(out, &rows)?;
        }
        Ok(Verdict::Fine)
    }

    fn row(&self, server: &str, tool: &Value) -> Result<ToolRow> {
        let bytes = tool.to_string().len();
        let list = read_tools(&json!([tool]));
        let mut refused = BTreeMap::new();
        for id in &self.dialects {
            let dialect = read_target(id)?;
            let violations = list.as_ref().map(|list| check_tools(list, &dialect)).unwrap_or_default();
            let rejected = violations.into_iter().filter(|one| one.severity != Severity::Ignored);
            refused.insert(id.clone(), rejected.map(|one| one.code).collect());
        }
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(ToolRow { server: server.to_owned(), tool: name, bytes, tokens: tokens(bytes), refused })
    }

    fn write_table(&self, out: &mut dyn Write, rows: &[ToolRow]) -> Result<()> {
        let width = rows.iter().map(|row| row.tool.len()).max().unwrap_or_default().clamp(4, 60);
        write!(out, "{:width$} {:>8} {:>8}", "tool", "bytes", "tokens")?;
        for id in &self.dialects {
            write!(out, " {id:>18}")?;
        }
        writeln!(out)?;
        for ToolRow { tool, bytes, tokens, refused, .. } in rows {
            write!(out, "{tool:width$} {bytes:>8} {tokens:>8}")?;
            for id in &self.dialects {
                let told = match refused.get(id).map_or(0, Vec::len) {
                    0 => "fits".to_owned(),
                    count => format!("{count} refused"),
                };
                write!(out, " {told:>18}")?;
            }
            writeln!(out)?;
        }
        let (bytes, tokens) = rows.iter().fold((0, 0), |(bytes, tokens), row| (bytes + row.bytes, tokens + row.tokens));
        writeln!(out, "{} tools, {bytes} bytes, about {tokens} tokens", rows.len())?;
        Ok(())
    }
}

/// Providers count about one token for four bytes of JSON.
fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
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
