//! The tools of a server, such as an MCP server, fitted for a dialect: what is listed to the model, and calls back in the server's own
//! names and schemas.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use polywire_answer::{Fault, Schema, Verdict};
use polywire_schema::{Dialect, FitCache, FitOptions, Lens, read_tools};
use serde_json::{Map, Value, json};

use crate::change::{Change, Effect};
use crate::restore::value::{RecoverTarget, recover};

/// The key of `_meta` that has the changes of a listed tool.
pub const CHANGES_META: &str = "polywire/changes";

/// The code of changes to what is no schema.
const MALFORMED: &str = "READ-MALFORMED";

/// The maximum number of faults in one message to the model.
const MAX_FAULTS: usize = 8;

/// Tools in the shape of MCP, fitted for a dialect.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    tools: Vec<ServerTool>,
    by_listed_name: HashMap<String, usize>,
    by_name: HashMap<String, usize>,
}

/// One tool of a server.
#[derive(Clone, Debug)]
pub struct ServerTool {
    /// The name for the server.
    pub name: String,
    /// The tool as it is listed: the server's members, with the fitted name and schema.
    pub listed: Value,
    /// The schema of the server, as given.
    pub schema: Value,
    /// What was changed, with places in the server's tool.
    pub changes: Vec<Change>,
    /// True where the schema of the server, or a part of it, is no schema: anything is accepted there.
    pub is_broken: bool,
    lens: Option<Arc<Lens>>,
}

/// A call in the names and shapes of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerCall {
    /// The name for the server.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
    /// True where the arguments were repaired.
    pub is_repaired: bool,
}

/// Why a call does not go to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// No tool has this name.
    UnknownTool(String),
    /// The arguments are not valid. The text tells the model what to correct.
    InvalidArguments(String),
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool(name) => write!(f, "there is no tool `{name}`"),
            Self::InvalidArguments(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for CallFault {}

impl Toolset {
    /// Fits the tools of a list, each in the shape of MCP.
    ///
    /// ```
    /// use polywire::Toolset;
    /// use polywire::schema::{FitCache, FitOptions, dialect};
    /// use serde_json::json;
    ///
    /// let tools = [json!({"name": "tag", "inputSchema": {"type": "object", "properties": {
    ///     "labels": {"type": "object", "additionalProperties": {"type": "string"}}}, "required": ["labels"]}})];
    /// let strict = dialect("openai-strict").expect("a dialect");
    /// let tools = Toolset::fit(&tools, strict, &FitOptions::default(), &FitCache::new(64));
    /// let call = tools.call("tag", &json!({"labels": [{"key": "a", "value": "b"}]})).expect("valid arguments");
    /// assert_eq!(call.arguments, json!({"labels": {"a": "b"}}));
    /// ```
    pub fn fit(tools: &[Value], dialect: &Dialect, options: &FitOptions, cache: &FitCache) -> Self {
        let mut set = Self::default();
        set.extend(tools, dialect, options, cache);
        set
    }

    /// Fits more tools, such as those of the next page, and gives their numbers. Listed names are unique among all; a tool that is
    /// listed again takes the place of the one before.
    pub fn extend(&mut self, tools: &[Value], dialect: &Dialect, options: &FitOptions, cache: &FitCache) -> Vec<usize> {
        let fitted = tools.iter().filter_map(|tool| fit_tool(tool, dialect, options, cache));
        fitted.map(|tool| self.put(tool)).collect()
    }

    fn put(&mut self, mut tool: ServerTool) -> usize {
        let known = self.by_name.get(&tool.name).copied();
        if let Some((number, before)) = known.and_then(|number| Some((number, self.tools.get_mut(number)?))) {
            tool.rename(before.listed_name().to_owned());
            *before = tool;
            return number;
        }
        let name = unique_name(tool.listed_name(), |name| self.by_listed_name.contains_key(name));
        tool.rename(name.clone());
        let number = self.tools.len();
        self.by_name.insert(tool.name.clone(), number);
        self.by_listed_name.insert(name, number);
        self.tools.push(tool);
        number
    }

    /// The tools, in order.
    pub fn tools(&self) -> &[ServerTool] {
        &self.tools
    }

    /// The number of the tool of a listed name.
    pub fn position(&self, listed_name: &str) -> Option<usize> {
        self.by_listed_name.get(listed_name).copied()
    }

    /// The tool of a listed name.
    pub fn get(&self, listed_name: &str) -> Option<&ServerTool> {
        self.tools.get(self.position(listed_name)?)
    }

    /// The call that a model made, for the server: the server's name of the tool, and arguments that its schema accepts. Arguments are
    /// salvaged, decoded and validated.
    pub fn call(&self, listed_name: &str, arguments: &Value) -> Result<ServerCall, CallFault> {
        let tool = self.get(listed_name).ok_or_else(|| CallFault::UnknownTool(listed_name.to_owned()))?;
        tool.call(arguments)
    }
}

impl ServerTool {
    /// The name in the list.
    pub fn listed_name(&self) -> &str {
        self.listed.get("name").and_then(Value::as_str).unwrap_or(&self.name)
    }

    fn rename(&mut self, name: String) {
        if let Value::Object(members) = &mut self.listed {
            members.insert("name".to_owned(), Value::String(name));
        }
    }

    /// True where values that the server accepts may be lost, or others may pass.
    pub fn has_losses(&self) -> bool {
        self.changes.iter().any(|change| matches!(change.effect, Effect::Wider | Effect::Narrower))
    }

    fn call(&self, arguments: &Value) -> Result<ServerCall, CallFault> {
        let text = match arguments {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => arguments.to_string(),
        };
        // A schema that no validator reads refuses nothing.
        let schema = Schema::cached(&self.schema).ok();
        let fitted = || self.listed.get("inputSchema").cloned();
        let target = RecoverTarget { lens: self.lens.as_deref(), schema: schema.as_deref(), fitted_schema: &fitted };
        let recovered = recover(&text, &target);
        if let Some(why) = &recovered.not_decoded {
            return Err(self.fault(&recovered.wire_faults, why));
        }
        let answer = recovered.answer;
        let is_valid = schema.is_none() || answer.verdict == Verdict::Valid;
        match answer.value {
            Some(arguments) if is_valid => {
                Ok(ServerCall { name: self.name.clone(), arguments, is_repaired: !answer.repairs.is_empty() })
            }
            Some(_) => {
                // The model knows the fitted schema, not the server's.
                let own = answer.verdict.into_faults();
                let faults = if recovered.wire_faults.is_empty() { own } else { recovered.wire_faults };
                Err(self.fault(&faults, "they do not match the schema of the tool"))
            }
            None => Err(self.fault(&[], "they are not JSON")),
        }
    }

    /// Tells the model what to correct.
    fn fault(&self, faults: &[Fault], otherwise: &str) -> CallFault {
        let mut lines =
            vec![format!("The arguments of `{}` are not valid, so the tool was not called.", self.listed_name())];
        if faults.is_empty() {
            lines.push(format!("Reason: {otherwise}."));
        }
        lines.extend(faults.iter().take(MAX_FAULTS).map(|fault| {
            let at = if fault.at.is_empty() { "/" } else { &fault.at };
            format!("- at {at}: {}", fault.detail)
        }));
        if faults.len() > MAX_FAULTS {
            lines.push(format!("- and {} more", faults.len() - MAX_FAULTS));
        }
        lines.push("Correct the arguments and call the tool again.".to_owned());
        let text = lines.join("\n");
        CallFault::InvalidArguments(text)
    }
}

/// Fits one tool; `None` for what is no tool.
fn fit_tool(tool: &Value, dialect: &Dialect, options: &FitOptions, cache: &FitCache) -> Option<ServerTool> {
    let members = tool.as_object()?;
    let name = members.get("name")?.as_str()?.to_owned();
    let list = read_tools(&json!([tool]))?;
    let schema = list.tools.first()?.schema.clone();
    let mut fitted = cache.fit_tools(&list, dialect, options);
    let fitted = fitted.tools.pop()?;
    let mut listed: Map<String, Value> = members.clone();
    listed.insert("name".to_owned(), json!(fitted.name));
    listed.insert("inputSchema".to_owned(), fitted.schema.clone());
    if let Some(description) = &fitted.description {
        listed.insert("description".to_owned(), json!(description));
    }
    // The list has one tool: places start at it.
    let changes: Vec<Change> = fitted
        .changes
        .iter()
        .map(|change| Change { at: change.at.strip_prefix("/0").unwrap_or(&change.at).to_owned(), ..change.clone() })
        .collect();
    let losses: Vec<&Change> =
        changes.iter().filter(|change| matches!(change.effect, Effect::Wider | Effect::Narrower)).collect();
    if !losses.is_empty() {
        let meta = listed.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(CHANGES_META.to_owned(), json!(losses));
        }
    }
    let lens = fitted.shared_lens();
    let is_broken = lens.is_none() || changes.iter().any(|change| &*change.code == MALFORMED);
    Some(ServerTool { name, listed: Value::Object(listed), schema, changes, is_broken, lens })
}

/// A name that is not taken, made by a number at its end.
fn unique_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = [name.to_owned()].into_iter().chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use polywire_schema::{FitCache, FitOptions, dialect};
    use serde_json::{Value, json};

    use super::{CallFault, Toolset};

    fn toolset(tools: &[Value], id: &str) -> Toolset {
        Toolset::fit(tools, dialect(id).expect("a dialect"), &FitOptions::default(), &FitCache::new(64))
    }

    fn tool(name: &str, properties: &Value) -> Value {
        json!({"name": name, "title": "T", "inputSchema": {"type": "object", "properties": properties,
            "required": ["m"], "additionalProperties": false}, "execution": {"taskSupport": "optional"}})
    }

    #[test]
    fn members_that_nobody_knows_stay_and_losses_are_told() {
        let map = json!({"m": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^(?!x)"}}});
        let tools = toolset(&[tool("a.b", &map)], "openai-strict");
        let listed = &tools.tools()[0].listed;
        assert_eq!(listed["execution"], json!({"taskSupport": "optional"}));
        assert_eq!(listed["name"], "a_b");
        assert_eq!(listed["_meta"]["polywire/changes"][0]["effect"], "wider", "{listed}");
    }

    #[test]
    fn calls_come_back_in_the_schema_of_the_server() {
        let map = json!({"m": {"type": "object", "additionalProperties": {"type": "integer"}}});
        let tools = toolset(&[tool("a.b", &map)], "openai-strict");
        let call = tools.call("a_b", &json!({"m": [{"key": "x", "value": 1}]})).expect("a call");
        assert_eq!((call.name.as_str(), &call.arguments), ("a.b", &json!({"m": {"x": 1}})));
        let as_text = tools.call("a_b", &json!("{\"m\": [{\"key\": \"x\", \"value\": 1},]}")).expect("a call");
        assert_eq!(as_text.arguments, call.arguments);
        assert!(as_text.is_repaired);
    }

    #[test]
    fn the_model_is_told_what_to_correct_in_the_schema_that_it_knows() {
        let map = json!({"m": {"type": "object", "additionalProperties": {"type": "integer"}}});
        let tools = toolset(&[tool("t", &map)], "openai-strict");
        let Err(CallFault::InvalidArguments(text)) = tools.call("t", &json!({"m": 7})) else { panic!("a fault") };
        assert!(text.contains("at /m"), "{text}");
        assert!(text.contains("array"), "{text}");
        assert_eq!(tools.call("u", &json!({})), Err(CallFault::UnknownTool("u".to_owned())));
    }

    #[test]
    fn names_are_legal_and_unique() {
        let none = json!({"m": {"type": "string"}});
        let tools = toolset(&[tool("a.b", &none), tool("a_b", &none), tool("a/b", &none)], "openai");
        let names: Vec<&str> = tools.tools().iter().map(super::ServerTool::listed_name).collect();
        assert_eq!(names, ["a_b", "a_b_2", "a_b_3"]);
        let mut again = tools.clone();
        let strict = dialect("openai").expect("a dialect");
        let numbers = again.extend(&[tool("a/b", &none)], strict, &FitOptions::default(), &FitCache::new(1));
        assert_eq!((numbers, again.tools().len()), (vec![2], 3));
        assert_eq!(tools.call("a_b_3", &json!({"m": "x"})).expect("a call").name, "a/b");
    }
}
