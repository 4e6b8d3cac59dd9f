//! The tools of a server, such as an MCP server, fitted for a dialect: what is listed to the model, and calls back in the server's own
//! names and schemas.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use polywire_answer::{Fault, Schema, Verdict};
use polywire_schema::{
    Dialect, FitCache, FitOptions, Fitted, FittedTool, Lens, Slot, StrictMode, ToolEntry, ToolList, dialect, read_tools,
};
use serde_json::{Map, Value, json};

use crate::change::{Action, Change, Effect};
use crate::restore::value::{RecoverTarget, recover};

/// The key of `_meta` that has the changes of a listed tool.
pub const CHANGES_META: &str = "polywire/changes";

/// The key of `_meta` that is `false` where a tool of a strict list is not strict.
pub const STRICT_META: &str = "polywire/strict";

/// The member with the schema of results.
const OUTPUT_SCHEMA: &str = "outputSchema";

/// The dialect of what MCP clients themselves read.
const CLIENTS: &str = "mcp";

/// The code of a schema of results that is left out.
const OUTPUT_LEFT_OUT: &str = "MCP-OUTPUT";

/// The code of changes to what is no schema.
const MALFORMED: &str = "READ-MALFORMED";
/// The code of a schema that cannot be read.
const UNREADABLE: &str = "READ-TOOL";

/// The maximum number of faults in one message to the model.
const MAX_FAULTS: usize = 8;

/// Tools in the shape of MCP, fitted for a dialect.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    tools: Vec<ServerTool>,
    by_listed_name: HashMap<String, usize>,
    changes: Vec<Change>,
}

/// One tool of a server.
#[derive(Clone, Debug)]
pub struct ServerTool {
    /// The name for the server.
    pub name: String,
    /// The position in the list of the server. Members of that list that are no tools are left out of the set.
    pub position: usize,
    /// The tool as it is listed: the server's members, with the fitted name and schema.
    pub listed: Value,
    /// The schema of the server, as given.
    pub schema: Value,
    /// The schema of results, as the server gave it.
    pub output_schema: Option<Value>,
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
    /// Fits the tools of a whole list, each in the shape of MCP. Limits of the list, such as the number of strict tools, apply to all of
    /// them together. Listed names are unique.
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
        let read: Vec<(usize, &Map<String, Value>, ToolEntry)> = tools
            .iter()
            .enumerate()
            .filter_map(|(position, tool)| Some((position, tool.as_object()?, read_tool(tool)?)))
            .collect();
        let list: ToolList = read.iter().map(|(_, _, entry)| entry.clone()).collect();
        let mut fitted = cache.fit_tools(&list, dialect, options);
        let mut set = Self { changes: std::mem::take(&mut fitted.changes), ..Self::default() };
        for ((position, members, entry), fitted) in read.into_iter().zip(&fitted.tools) {
            let mut tool = ServerTool::new(position, members, entry, fitted, dialect.strict());
            tool.fit_output(members, options, cache);
            tool.record_losses();
            set.push(tool);
        }
        set
    }

    fn push(&mut self, mut tool: ServerTool) {
        // Dialects without a rule for it leave names that are used twice.
        let name = unique_name(tool.listed_name(), |name| self.by_listed_name.contains_key(name));
        tool.rename(name.clone());
        self.by_listed_name.insert(name, self.tools.len());
        self.tools.push(tool);
    }

    /// Changes to the list as a whole.
    pub fn changes(&self) -> &[Change] {
        &self.changes
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
    fn new(
        position: usize,
        members: &Map<String, Value>,
        entry: ToolEntry,
        fitted: &FittedTool,
        is_strict_list: bool,
    ) -> Self {
        let mut listed = members.clone();
        listed.insert("name".to_owned(), json!(fitted.name));
        listed.insert("inputSchema".to_owned(), fitted.schema.clone());
        if let Some(description) = &fitted.description {
            listed.insert("description".to_owned(), json!(description));
        }
        if is_strict_list && !fitted.strict {
            insert_meta(&mut listed, STRICT_META, json!(false));
        }
        // Each tool was read as a list of its own: places start at the tool.
        let own_place = |change: &Change| Change {
            at: change.at.strip_prefix("/0").unwrap_or(&change.at).to_owned(),
            ..change.clone()
        };
        // The dialect's view of results is not the client's, which reads them: `fit_output` decides.
        let is_of_input = |change: &&Change| !change.at.starts_with("/0/outputSchema");
        let changes: Vec<Change> = fitted.changes.iter().filter(is_of_input).map(own_place).collect();
        let lens = fitted.shared_lens();
        Self {
            name: entry.name,
            position,
            listed: Value::Object(listed),
            schema: entry.schema,
            output_schema: entry.output_schema,
            is_broken: lens.is_none() || changes.iter().any(|change| &*change.code == MALFORMED),
            changes,
            lens,
        }
    }

    /// Keeps the schema of results only as clients take it: they compile it, and one that they cannot compile costs the whole list.
    /// Results are not carried in another shape, so a schema that needs that is left out.
    fn fit_output(&mut self, members: &Map<String, Value>, options: &FitOptions, cache: &FitCache) {
        let Some(given) = members.get(OUTPUT_SCHEMA) else { return };
        let Some(clients) = dialect(CLIENTS) else { return };
        let options = options.clone().with_slot(Slot::Output).with_strict(StrictMode::Off);
        let at_place = |change: &Change| Change { at: format!("/{OUTPUT_SCHEMA}{}", change.at), ..change.clone() };
        let fitted = match self.output_schema.as_ref().map(|schema| cache.fit(schema, clients, &options)) {
            Some(Ok(fitted)) if is_readable_as_is(&fitted) => Ok(fitted),
            Some(Ok(fitted)) => {
                Err(fitted.changes.iter().find(|change| !matches!(change.effect, Effect::Note)).map_or_else(
                    || "it would need values of another shape".to_owned(),
                    |change| format!("at `{}`: {}", change.at, change.detail),
                ))
            }
            Some(Err(error)) => Err(error.to_string()),
            None => Err("it is no schema".to_owned()),
        };
        let Value::Object(listed) = &mut self.listed else { return };
        match fitted {
            Ok(fitted) if fitted.schema == *given => {}
            Ok(fitted) => {
                listed.insert(OUTPUT_SCHEMA.to_owned(), fitted.schema.clone());
                self.changes.extend(fitted.changes.iter().map(at_place));
            }
            Err(reason) => {
                listed.shift_remove(OUTPUT_SCHEMA);
                self.changes.push(Change {
                    kind: None,
                    code: OUTPUT_LEFT_OUT.into(),
                    at: format!("/{OUTPUT_SCHEMA}"),
                    keyword: "".into(),
                    action: Action::Dropped,
                    effect: Effect::Wider,
                    detail: format!("the schema of results is left out, because clients refuse it: {reason}").into(),
                });
            }
        }
    }

    /// Puts the losses into the listed tool.
    fn record_losses(&mut self) {
        let is_loss = |change: &&Change| matches!(change.effect, Effect::Wider | Effect::Narrower);
        let losses: Vec<&Change> = self.changes.iter().filter(is_loss).collect();
        if let (false, Value::Object(listed)) = (losses.is_empty(), &mut self.listed) {
            insert_meta(listed, CHANGES_META, json!(losses));
        }
    }

    /// The name in the list.
    pub fn listed_name(&self) -> &str {
        self.listed.get("name").and_then(Value::as_str).unwrap_or(&self.name)
    }

    fn rename(&mut self, name: String) {
        if let Value::Object(members) = &mut self.listed {
            members.insert("name".to_owned(), Value::String(name));
        }
    }

    /// Why the schema of the server, or a part of it, is no schema.
    pub fn broken_because(&self) -> Option<&str> {
        let is_cause = |change: &&Change| *change.code == *MALFORMED || *change.code == *UNREADABLE;
        self.changes.iter().filter(|_| self.is_broken).find(is_cause).map(|change| &*change.detail)
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

/// Reads one tool; `None` for what is no tool.
fn read_tool(tool: &Value) -> Option<ToolEntry> {
    // Groups of tools, which other shapes have, have no name.
    tool.get("name")?.as_str()?;
    read_tools(&json!([tool]))?.tools.pop()
}

/// True where each value stays as the server wrote it.
fn is_readable_as_is(fitted: &Fitted) -> bool {
    fitted.lens().is_identity() && fitted.changes.iter().all(|change| change.effect != Effect::Narrower)
}

fn insert_meta(listed: &mut Map<String, Value>, key: &str, value: Value) {
    if let Value::Object(meta) = listed.entry("_meta").or_insert_with(|| json!({})) {
        meta.insert(key.to_owned(), value);
    }
}

/// A name that is not taken, made by a number at its end.
fn unique_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = [name.to_owned()].into_iter().chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use polywire_schema::{FitCache, FitOptions, check_tools, dialect, read_tools};
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
    fn limits_of_strict_tools_apply_to_the_whole_list() {
        let none = json!({"m": {"type": "string"}});
        let many: Vec<Value> = (0..30).map(|number| tool(&format!("t{number}"), &none)).collect();
        let tools = toolset(&many, "anthropic-strict");
        let is_strict = |tool: &super::ServerTool| tool.listed["_meta"][super::STRICT_META] != json!(false);
        assert_eq!(tools.tools().iter().filter(|tool| is_strict(tool)).count(), 20);
        let listed: Vec<Value> = tools.tools().iter().map(|tool| tool.listed.clone()).collect();
        let list = read_tools(&json!(listed)).expect("a list");
        assert_eq!(check_tools(&list, dialect("anthropic-strict").expect("a dialect")), []);
    }

    #[test]
    fn schemas_of_results_are_as_clients_take_them_or_left_out() {
        let with_output = |schema: Value| {
            let mut tool = tool("t", &json!({"m": {"type": "string"}}));
            tool["outputSchema"] = schema;
            toolset(&[tool], "openai-strict").tools()[0].clone()
        };
        let map = json!({"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}});
        let plain = json!({"type": "object", "properties": {"a": map}});
        assert_eq!(with_output(plain.clone()).listed["outputSchema"], plain);
        let dangling = with_output(json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}));
        assert_eq!(dangling.listed["outputSchema"]["properties"]["a"], json!({}));
        assert!(
            dangling.listed["_meta"]["polywire/changes"].to_string().contains("/outputSchema"),
            "{}",
            dangling.listed
        );
        let text = with_output(json!("no schema"));
        assert_eq!(text.listed.get("outputSchema"), None);
        assert_eq!(text.listed["_meta"]["polywire/changes"][0]["code"], "MCP-OUTPUT");
    }

    #[test]
    fn names_are_legal_and_unique() {
        let none = json!({"m": {"type": "string"}});
        let tools = toolset(&[tool("a.b", &none), tool("a_b", &none), tool("a/b", &none)], "openai");
        let names: Vec<&str> = tools.tools().iter().map(super::ServerTool::listed_name).collect();
        // A name that is legal stays as it is.
        assert_eq!(names, ["a_b_2", "a_b", "a_b_3"]);
        assert_eq!(tools.call("a_b_3", &json!({"m": "x"})).expect("a call").name, "a/b");
    }
}
