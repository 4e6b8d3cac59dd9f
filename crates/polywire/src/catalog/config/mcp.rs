//! The table `[mcp]`: the servers behind the MCP proxy. Plain data; the proxy starts them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The settings of the MCP proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Mcp {
    /// The servers, by name: `[mcp.server.NAME]`.
    #[serde(rename = "server")]
    pub servers: BTreeMap<String, McpServer>,
}

/// An MCP server: a program, or an address. Texts may name environment variables as `${NAME}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct McpServer {
    /// The program of a server that speaks on its standard input and output.
    pub command: Option<String>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The variables that the program gets, besides the few without which no program runs.
    pub env: BTreeMap<String, String>,
    /// The address of a server over streamable HTTP.
    pub url: Option<String>,
    /// Headers of each request to the address, such as `Authorization`.
    pub headers: BTreeMap<String, String>,
    /// `true` if the server is left out.
    pub disabled: bool,
}
