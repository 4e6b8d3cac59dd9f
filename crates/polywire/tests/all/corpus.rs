//! All tools of real MCP servers in one plan, for every surface of every provider: accepted, names reversible, arguments back in the
//! server's own schema. The corpus lies beside the repository; without it the test is skipped, or fails under `CI=true`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use polywire::schema::{Dialect, Severity, Slot, check, read_tools, target};
use polywire::wire::{Block, Response, Tool, ToolCall};
use polywire::{Ability, Catalog, Model, Plan, plan, restore};
use serde_json::{Map, Value, json};

use crate::{function, question};

/// The tools in `../shared/corpus`. Under `CI=true` a missing file fails the test, because a skip would look like a pass.
fn tools() -> Option<Vec<(String, Value)>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/mcp-tools.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
        println!("skipped: {} is missing", path.display());
        return None;
    };
    let tool = |line: &str| {
        let mut tool: Value = serde_json::from_str(line).expect("a tool a line");
        (tool["name"].as_str().expect("a name").to_owned(), tool["inputSchema"].take())
    };
    Some(text.lines().map(tool).collect())
}

/// A model on every surface of every provider, the strictest one.
fn targets() -> Vec<Model> {
    let catalog = Catalog::built_in();
    let mut found = Vec::new();
    for provider in catalog.providers() {
        for surface in &provider.surfaces {
            let own = catalog.models().filter(|row| row.provider == provider.id).map(|row| row.id.as_str());
            let names = own.chain(["unknown"]).map(|id| format!("{}:{}/{id}", provider.id, surface.id));
            let models: Vec<Model> = names.filter_map(|name| catalog.resolve(&name).ok()).collect();
            let able = || models.iter().filter(|model| model.row().can(Ability::Tools));
            let strict = able().find(|model| model.row().can(Ability::Strict));
            found.extend(strict.or_else(|| able().next()).cloned());
        }
    }
    found
}

/// The dialects that a tool was fitted to: with the flag, and without.
fn dialects(model: &Model) -> [std::borrow::Cow<'static, Dialect>; 2] {
    let ids = &model.surface().dialects;
    let plain = ids.tool.as_deref().expect("a dialect for tools");
    let strict =
        ids.tool_strict.as_deref().filter(|_| model.row().can(Ability::Strict)).map(|ids| target(ids).unwrap());
    let loose = strict.as_ref().and_then(|dialect| dialect.fallback()).unwrap_or(plain);
    let loose = target(loose).unwrap();
    [strict.unwrap_or_else(|| loose.clone()), loose]
}

#[test]
fn every_tool_of_the_corpus_is_accepted_everywhere_and_comes_back() {
    let Some(tools) = tools() else { return };
    let list: Vec<Tool> = tools.iter().map(|(name, schema)| function(name, schema.clone())).collect();
    let request = question(list);
    let targets = targets();
    assert!(targets.len() >= 21, "a model for every provider");
    for model in targets {
        let place = format!("{}:{}", model.name(), model.surface().id);
        let plan = plan(&request, &model);
        accepted(&plan, &model, &place);
        let names: BTreeSet<&str> = plan.tools.iter().map(|tool| tool.wire_name.as_str()).collect();
        assert_eq!(names.len(), plan.tools.len(), "{place}: names are unique");
        let shared = plan.tools.iter().map(|tool| tool.shared_by.len().max(1)).sum::<usize>();
        assert_eq!(shared, tools.len(), "{place}: every tool has an entry or shares one");
        come_back(&plan, &tools, &place);
    }
}

fn accepted(plan: &Plan, model: &Model, place: &str) {
    let body: Value = serde_json::from_str(plan.body.get()).expect("a body");
    let written = read_tools(&body).unwrap_or_else(|| panic!("{place}: no tools in the body"));
    assert_eq!(written.tools.len(), plan.tools.len(), "{place}");
    let [strict, loose] = dialects(model);
    for (tool, planned) in written.tools.iter().zip(&plan.tools) {
        assert_eq!(tool.name, planned.wire_name, "{place}");
        let dialect = if planned.strict { &strict } else { &loose };
        let found = check(&tool.schema, dialect, Slot::Tool).unwrap_or_else(|error| panic!("{place}: {error}"));
        let refused = found.iter().find(|violation| violation.severity == Severity::Rejected);
        assert!(refused.is_none(), "{place}: {} {:?}", tool.name, refused);
    }
}

/// Arguments that the server's schema accepts, sent as the model would see them, are the same when they come back.
fn come_back(plan: &Plan, tools: &[(String, Value)], place: &str) {
    let mut tried = 0;
    for (name, schema) in tools {
        let planned = plan.tools.iter().find(|tool| tool.stands_for(name)).expect("an entry");
        let arguments = sample(schema, schema, 0);
        if !jsonschema::is_valid(schema, &arguments) {
            continue;
        }
        let called = if planned.shared_by.is_empty() {
            arguments.clone()
        } else {
            json!({"call": {"tool": name, "arguments": arguments}})
        };
        let wire = match &planned.lens {
            // What a narrower schema leaves out cannot be sent; the changes say so.
            Some(lens) => match lens.encode(called) {
                Ok(wire) => wire,
                Err(_) => continue,
            },
            None => called,
        };
        let call = ToolCall::new("c", planned.wire_name.as_str(), wire.to_string());
        let response = Response { content: vec![Block::ToolCall(call)], ..Response::default() };
        let restored = restore(response, plan);
        let call = restored.response.calls().next().expect("the call");
        assert_eq!(&call.name, name, "{place}");
        let back = call.value().unwrap();
        // A tag may be given that the model left out; everything else is as it was.
        assert!(is_within(&arguments, &back) && jsonschema::is_valid(schema, &back), "{place}: {arguments} is {back}");
        tried += 1;
    }
    assert!(tried * 10 >= tools.len() * 9, "{place}: only {tried} of {} tools were tried", tools.len());
}

/// Whether one value has everything that another one has.
fn is_within(asked: &Value, back: &Value) -> bool {
    match (asked, back) {
        (Value::Object(asked), Value::Object(back)) => {
            asked.iter().all(|(key, own)| back.get(key).is_some_and(|other| is_within(own, other)))
        }
        (Value::Array(asked), Value::Array(back)) => {
            asked.len() == back.len() && asked.iter().zip(back).all(|(own, other)| is_within(own, other))
        }
        _ => asked == back,
    }
}

/// A small instance of a schema: every required property, every second optional one.
fn sample(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > 12 {
        return Value::Null;
    }
    if let Some(target) =
        schema.get("$ref").and_then(Value::as_str).and_then(|at| root.pointer(at.trim_start_matches('#')))
    {
        return sample(target, root, depth + 1);
    }
    let first = |key: &str| schema.get(key).and_then(|list| list.get(0));
    if let Some(value) = schema.get("const").or_else(|| first("enum")).or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(branch) = first("anyOf").or_else(|| first("oneOf")).or_else(|| first("allOf")) {
        return sample(branch, root, depth + 1);
    }
    let kind = schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match kind {
        Some("object") => {
            let required: BTreeSet<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let mut out = Map::new();
            for (index, (key, value)) in schema["properties"].as_object().into_iter().flatten().enumerate() {
                if required.contains(key.as_str()) || index % 2 == 0 {
                    out.insert(key.clone(), sample(value, root, depth + 1));
                }
            }
            Value::Object(out)
        }
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(1);
            (0..count).map(|_| sample(&schema["items"], root, depth + 1)).collect()
        }
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        _ => json!("abcdefgh".repeat(1 + usize::try_from(schema["minLength"].as_u64().unwrap_or(0) / 8).unwrap_or(0))),
    }
}
