//! How each provider writes tools down: one table, read in both directions.

use serde_json::{Map, Value, json};

use super::{FittedTool, ForeignMembers, HostedTool, RawSchema, ToolEntry, ToolList};
use crate::ToolShape;
use crate::keyword::{KeywordRole, KeywordValue, Kw};
use crate::types::Types;

const NAME: &str = "name";
const STRICT: &str = "strict";
/// The member for what MCP itself does not know, and the key in it that says whether a tool is strict.
const META: &str = "_meta";
const STRICT_META: &str = "polywire/strict";
const FUNCTION: &str = "function";
const CUSTOM: &str = "custom";
const TOOLS: &str = "tools";
const TOOL_CONFIG: &str = "toolConfig";
const FUNCTION_DECLARATIONS: &str = "functionDeclarations";
const DECLARATION_LISTS: [&str; 2] = [FUNCTION_DECLARATIONS, "function_declarations"];

/// Where a list stands in a document: itself, a request body, the answer of a server, Bedrock, Cloud Code Assist, legacy `OpenAI`.
const PLACES: [&str; 6] = ["", "/tools", "/result/tools", "/toolConfig/tools", "/request/tools", "/functions"];

/// How one shape spells a tool.
struct ShapeLayout {
    shape: ToolShape,
    /// The value of `type` that marks it.
    tag: Option<&'static str>,
    /// The member that holds the tool.
    wrapper: Option<&'static str>,
    /// The member with the schema, as written and as also read.
    schema: &'static [&'static str],
    /// The member of that member in which the schema stands.
    inner: Option<&'static str>,
    /// Members of another slot for the same schema: only one of them may be set.
    duplicates: &'static [&'static str],
    strict: StrictFlag,
    /// The member with the schema of the result, as written and as also read.
    output: &'static [&'static str],
    results: ResultSchemas,
    /// The member with examples of arguments.
    examples: Option<&'static str>,
}

/// Whose schemas of results a shape takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultSchemas {
    Anyones,
    /// One that was not written for it may be refused.
    ItsOwn,
}

/// When a shape has the strict flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StrictFlag {
    Never,
    /// Leaving it out means false.
    Optional,
    /// Leaving it out lets the provider choose (`OAI-RESP-03`).
    Always,
}

/// Ordered so that the first match is the right one: a shape that says more stands before one that says less.
const LAYOUTS: [ShapeLayout; 7] = [
    ShapeLayout {
        tag: Some(FUNCTION),
        wrapper: Some(FUNCTION),
        ..ShapeLayout::of(ToolShape::OpenaiChat, &["parameters"])
    },
    ShapeLayout {
        wrapper: Some("toolSpec"),
        inner: Some("json"),
        ..ShapeLayout::of(ToolShape::Bedrock, &["inputSchema"])
    },
    ShapeLayout {
        tag: Some(FUNCTION),
        strict: StrictFlag::Always,
        output: &["output_schema"],
        ..ShapeLayout::of(ToolShape::OpenaiResponses, &["parameters"])
    },
    ShapeLayout { examples: Some("input_examples"), ..ShapeLayout::of(ToolShape::Anthropic, &["input_schema"]) },
    // The vendor's own SDK leaves out schemas of results on one of its APIs (`GEM-FN-06`), so none is brought there.
    ShapeLayout {
        duplicates: &["parameters"],
        strict: StrictFlag::Never,
        output: &["responseJsonSchema", "response_json_schema", "response"],
        results: ResultSchemas::ItsOwn,
        ..ShapeLayout::of(ToolShape::GeminiJson, &["parametersJsonSchema", "parameters_json_schema"])
    },
    ShapeLayout {
        strict: StrictFlag::Never,
        output: &["response", "responseJsonSchema", "response_json_schema"],
        results: ResultSchemas::ItsOwn,
        ..ShapeLayout::of(ToolShape::GeminiOpenapi, &["parameters"])
    },
    ShapeLayout {
        strict: StrictFlag::Never,
        output: &["outputSchema"],
        ..ShapeLayout::of(ToolShape::Mcp, &["inputSchema"])
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    Alone,
    InList,
}

/// The schema of a tool without arguments, and of one whose schema cannot be read.
pub(super) fn no_arguments() -> Value {
    json!({ Kw::Type.name(): "object", Kw::Properties.name(): {} })
}

pub(super) fn read(document: &Value) -> Option<ToolList> {
    if document.as_object().is_some_and(is_schema) {
        return None;
    }
    let mut list = ToolList::default();
    let Some((place, members)) = PLACES.iter().find_map(|at| Some((*at, document.pointer(at)?.as_array()?))) else {
        return list.take_member(document, "", Setting::Alone).then_some(list);
    };
    for (index, member) in members.iter().enumerate() {
        let at = format!("{place}/{index}");
        if !list.take_member(member, &at, Setting::InList) {
            list.hosted.push(HostedTool { after: list.tools.len(), at, value: member.clone() });
        }
    }
    let hosted = |member: &Value| member.as_object().is_some_and(|map| !is_schema(map));
    (!list.tools.is_empty() || members.iter().all(hosted)).then_some(list)
}

/// Writes a list in the shape of the target; hosted tools stand where they stood.
pub(super) fn write(shape: ToolShape, says_strict: bool, tools: &[FittedTool], hosted: &[HostedTool]) -> Value {
    let groups = matches!(shape, ToolShape::GeminiJson | ToolShape::GeminiOpenapi);
    let mut members = Vec::with_capacity(tools.len() + hosted.len());
    let mut waiting = hosted.iter().peekable();
    for (index, tool) in tools.iter().enumerate() {
        while let Some(next) = waiting.next_if(|next| !groups && next.after <= index) {
            members.push(next.value.clone());
        }
        members
            .extend(LAYOUTS.iter().find(|layout| layout.shape == shape).map(|layout| layout.write(tool, says_strict)));
    }
    if groups && !members.is_empty() {
        members = vec![json!({ FUNCTION_DECLARATIONS: members })];
    }
    members.extend(waiting.map(|next| next.value.clone()));
    match shape {
        ToolShape::Mcp => json!({ TOOLS: members }),
        // A tool configuration without tools is refused, so there is none.
        ToolShape::Bedrock if members.is_empty() => json!({}),
        ToolShape::Bedrock => json!({ TOOL_CONFIG: { TOOLS: members } }),
        ToolShape::OpenaiChat
        | ToolShape::OpenaiResponses
        | ToolShape::Anthropic
        | ToolShape::GeminiJson
        | ToolShape::GeminiOpenapi => Value::Array(members),
    }
}

/// The schema of a tool's result and its place in the document, where the target has room for one.
pub(super) fn output_of(entry: &ToolEntry, target: ToolShape) -> Option<(&Value, String)> {
    let layout = LAYOUTS.iter().find(|layout| layout.shape == target)?;
    let own = entry.extra.shape.is_some_and(|shape| related(shape, target));
    let raw_schema = layout.output.first().filter(|_| own || layout.results == ResultSchemas::Anyones)?;
    let read = entry.extra.output.unwrap_or(raw_schema);
    Some((entry.output_schema.as_ref()?, format!("{}/{read}", entry.holder)))
}

/// The member in which a tool has examples of its arguments, where the target reads it.
pub(super) fn examples_in(entry: &ToolEntry, target: ToolShape) -> Option<&'static str> {
    let layout = LAYOUTS.iter().find(|layout| layout.shape == target && entry.extra.shape == Some(target))?;
    layout.examples.filter(|key| entry.extra.inside.contains_key(*key))
}

pub(super) fn has_strict_flag(shape: ToolShape) -> bool {
    LAYOUTS.iter().any(|layout| layout.shape == shape && layout.strict != StrictFlag::Never)
}

/// True where the extra members of one shape mean the same in the other.
pub(super) fn related(one: ToolShape, other: ToolShape) -> bool {
    let vendor = |shape: ToolShape| match shape {
        ToolShape::OpenaiChat | ToolShape::OpenaiResponses => 0,
        ToolShape::GeminiJson | ToolShape::GeminiOpenapi => 1,
        ToolShape::Anthropic => 2,
        ToolShape::Bedrock => 3,
        ToolShape::Mcp => 4,
    };
    vendor(one) == vendor(other)
}

/// True where both shapes have the same hosted tools.
pub(super) fn share_hosted(one: ToolShape, other: ToolShape) -> bool {
    let of_chat = |shape: ToolShape| shape == ToolShape::OpenaiChat;
    related(one, other) && of_chat(one) == of_chat(other)
}

impl ToolList {
    /// Adds the tool, or the group of tools, that `member` is; false where it is none.
    fn take_member(&mut self, member: &Value, at: &str, setting: Setting) -> bool {
        let Some(map) = member.as_object().filter(|map| !is_schema(map)) else { return false };
        for key in DECLARATION_LISTS {
            let Some(declarations) = map.get(key).and_then(Value::as_array) else { continue };
            for (index, declaration) in declarations.iter().enumerate() {
                let at = format!("{at}/{key}/{index}");
                let entry = declaration.as_object().and_then(|map| read_tool(map, &at, Setting::InList));
                match entry {
                    Some(entry) => self.tools.push(entry),
                    None => self.hosted.push(HostedTool { after: self.tools.len(), at, value: declaration.clone() }),
                }
            }
            let rest: Map<_, _> =
                map.iter().filter(|(own, _)| *own != key).map(|(k, v)| (k.clone(), v.clone())).collect();
            if !rest.is_empty() {
                self.hosted.push(HostedTool { after: self.tools.len(), at: at.to_owned(), value: Value::Object(rest) });
            }
            return true;
        }
        let entry = read_tool(map, at, setting);
        let found = entry.is_some();
        self.tools.extend(entry);
        found
    }
}

fn read_tool(map: &Map<String, Value>, at: &str, setting: Setting) -> Option<ToolEntry> {
    let named = |layout: &&ShapeLayout| layout.matches(map);
    let bare = setting == Setting::InList && !map.contains_key(Kw::Type.name());
    // Only MCP writes a tool that is nothing but a name.
    let by_name = || LAYOUTS.iter().find(|layout| bare && layout.shape == ToolShape::Mcp);
    LAYOUTS.iter().find(named).or_else(by_name)?.read(map, at, setting)
}

impl ShapeLayout {
    /// A flat tool with an optional strict flag, which is what most shapes are.
    const fn of(shape: ToolShape, schema: &'static [&'static str]) -> Self {
        Self {
            shape,
            tag: None,
            wrapper: None,
            schema,
            inner: None,
            duplicates: &[],
            strict: StrictFlag::Optional,
            output: &[],
            results: ResultSchemas::Anyones,
            examples: None,
        }
    }

    fn matches(&self, map: &Map<String, Value>) -> bool {
        let tag = map.get(Kw::Type.name()).and_then(Value::as_str);
        let holder = self.wrapper.map_or(Some(map), |key| map.get(key).and_then(Value::as_object));
        let has_schema = holder.is_some_and(|holder| self.schema.iter().any(|key| holder.contains_key(*key)));
        match (self.tag, self.wrapper) {
            (Some(own), Some(_)) => tag.is_none_or(|tag| tag == own) && holder.is_some(),
            (Some(own), None) => tag == Some(own),
            (None, Some(_)) => holder.is_some(),
            (None, None) => has_schema && tag.is_none_or(|tag| tag == CUSTOM),
        }
    }

    fn read(&self, map: &Map<String, Value>, at: &str, setting: Setting) -> Option<ToolEntry> {
        let (holder, holder_at, mut outside) = match self.wrapper {
            Some(key) => (map.get(key)?.as_object()?, format!("{at}/{key}"), without(map, &[Kw::Type.name(), key])),
            None => (map, at.to_owned(), Map::new()),
        };
        let has_schema = self.schema.iter().any(|key| holder.contains_key(*key));
        // What stands among tools and has a tool's schema is one whose name was forgotten: it is known by its place.
        let forgotten = || (setting == Setting::InList && has_schema).then_some(at);
        let name = holder.get(NAME).and_then(Value::as_str).or_else(forgotten)?.to_owned();
        let key = self.schema.iter().find(|key| holder.contains_key(**key)).or(self.schema.first())?;
        let mut schema_at = format!("{holder_at}/{key}");
        let mut schema = holder.get(*key).filter(|own| !own.is_null());
        let mut raw_schema = RawSchema::AsSchema;
        // Some write it beside what should hold it.
        if schema.is_none() && self.wrapper.is_some() {
            schema = map.get(*key).filter(|own| own.is_object());
            if schema.is_some() {
                (schema_at, raw_schema) = (format!("{at}/{key}"), RawSchema::Outside);
                outside.remove(*key);
            }
        }
        if let Some((inner, within)) = self.inner.and_then(|inner| Some((inner, schema?.get(inner)?))) {
            schema_at = format!("{schema_at}/{inner}");
            schema = Some(within);
        }
        let mut arguments = schema.map_or_else(no_arguments, plain);
        if schema.is_none() {
            raw_schema = RawSchema::Not;
        } else if schema.is_some_and(Value::is_string) && !arguments.is_string() {
            raw_schema = RawSchema::AsText;
        }
        if is_property_map(&arguments) {
            arguments = json!({ Kw::Type.name(): "object", Kw::Properties.name(): arguments });
            raw_schema = RawSchema::AsProperties;
        }
        let set = |key: &&'static str| holder.get(*key).is_some_and(|own| !own.is_null());
        let mut results = self.output.iter().copied().filter(set);
        let output = results.next();
        let duplicates = self.duplicates.iter().copied().filter(set).chain(results).collect();
        let mut own = vec![NAME, Kw::Description.name(), STRICT, key];
        own.extend(self.output.iter().chain(self.duplicates));
        own.extend(self.tag.filter(|_| self.wrapper.is_none()).map(|_| Kw::Type.name()));
        Some(ToolEntry {
            name,
            description: holder.get(Kw::Description.name()).and_then(Value::as_str).map(str::to_owned),
            schema: arguments,
            strict: self.strict_of(holder),
            output_schema: output.and_then(|key| holder.get(key)).map(plain),
            at: schema_at,
            extra: ForeignMembers {
                shape: Some(self.shape),
                raw_schema,
                output,
                duplicates,
                inside: without(holder, &own),
                outside,
            },
            holder: holder_at,
        })
    }

    fn strict_of(&self, holder: &Map<String, Value>) -> Option<bool> {
        let in_meta = || holder.get(META)?.get(STRICT_META).filter(|_| self.shape == ToolShape::Mcp);
        holder.get(STRICT).or_else(in_meta)?.as_bool()
    }

    fn write(&self, tool: &FittedTool, says_strict: bool) -> Value {
        let mut holder = Map::new();
        if let (Some(tag), None) = (self.tag, self.wrapper) {
            holder.insert(Kw::Type.name().to_owned(), tag.into());
        }
        holder.insert(NAME.to_owned(), tool.name.clone().into());
        if let Some(description) = &tool.description {
            holder.insert(Kw::Description.name().to_owned(), description.clone().into());
        }
        if let Some(key) = self.schema.first() {
            let schema = tool.schema.clone();
            holder.insert((*key).to_owned(), self.inner.map_or(schema.clone(), |inner| json!({ inner: schema })));
        }
        if let (Some(key), Some(schema)) = (self.output.first(), &tool.output_schema) {
            holder.insert((*key).to_owned(), schema.clone());
        }
        // A tool that could not be strict says so where strict was asked for: left out, the flag would read as "as the target".
        let said = self.strict == StrictFlag::Always || (self.strict == StrictFlag::Optional && says_strict);
        if said {
            holder.insert(STRICT.to_owned(), tool.strict.into());
        }
        let same = tool.extra.shape == Some(self.shape);
        if same {
            holder.extend(tool.extra.inside.clone());
        }
        // MCP has no flag, but its lists go on to providers that have one.
        if self.shape == ToolShape::Mcp && says_strict && !tool.strict {
            let meta = holder.entry(META).or_insert_with(|| json!({}));
            if let Value::Object(meta) = meta {
                meta.insert(STRICT_META.to_owned(), false.into());
            }
        }
        let Some(wrapper) = self.wrapper else { return Value::Object(holder) };
        let mut outer = Map::new();
        if let Some(tag) = self.tag {
            outer.insert(Kw::Type.name().to_owned(), tag.into());
        }
        outer.insert(wrapper.to_owned(), Value::Object(holder));
        if same {
            outer.extend(tool.extra.outside.clone());
        }
        Value::Object(outer)
    }
}

/// A schema that came as JSON text is read; text that is not JSON stays, for the reader of schemas to refuse.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| schema.clone()),
        Value::Null => no_arguments(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => schema.clone(),
    }
}

/// Whether an object is no schema, and all its members are. A keyword that may hold anything is one.
fn is_property_map(value: &Value) -> bool {
    let schema = |value: &Value| value.as_object().is_some_and(is_schema);
    let says =
        |key: &String| key.starts_with('$') || Kw::of(key).is_some_and(|kw| kw.info().holds == KeywordValue::Data);
    let lists = |map: &Map<String, Value>| !map.is_empty() && !is_schema(map) && !map.keys().any(says);
    value.as_object().is_some_and(|map| lists(map) && map.values().all(schema))
}

/// Whether keywords say that the object with these members is a schema: one that shapes it, or the name of a JSON type. Such a
/// document is no tool, list or request. Only the value of `type` is looked at.
pub fn is_schema(map: &Map<String, Value>) -> bool {
    map.iter().any(|(key, value)| match Kw::of(key) {
        Some(Kw::Type) => value.is_array() || value.as_str().is_some_and(|name| Types::named(name).is_some()),
        Some(kw) => kw.info().role == KeywordRole::Structure,
        None => false,
    })
}

fn without(map: &Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    map.iter()
        .filter(|(key, _)| !keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
