//! `polywire mcp`: a proxy before MCP servers, and what their tools cost and need.

mod budget;
mod inspect;
mod servers;

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use polywire_mcp::{Audience, BrokenTools, Listen, ProxyOptions, Results, serve_http, serve_stdio};

use crate::Verdict;
use crate::args::{FitArgs, read_target};
use crate::input::Failure;
use crate::known::{Known, note};
use inspect::Inspect;
use servers::Servers;
pub(crate) use servers::{server_of, tools_of};

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
