//! All tools of real MCP servers in one request, for every row of the catalog: taken by the provider's rules over HTTP, and called with
//! arguments that are valid by the server's own schema. Without `../shared` beside the repository the test is skipped, or fails under `CI=true`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use polywire::wire::{Block, Function, Message, Request, Response, Role, Tool, ToolCall, ToolResult};
use polywire::{Catalog, Effect, Model, Plan, plan, restore};
use polywire_emulator::Emulator;
use polywire_testkit::sample;
use serde_json::Value;

use super::client;

fn servers_tools() -> Option<Vec<Function>> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "corpus", "mcp-tools.jsonl"].iter().collect();
    let Ok(text) = std::fs::read_to_string(&path) else {
        // A skip would look like a pass.
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
        println!("skipped: {} is missing", path.display());
        return None;
    };
    let tools = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a tool a line"));
    let function = |tool: Value| Function {
        name: tool["name"].as_str().unwrap_or_default().to_owned(),
        description: tool["description"].as_str().map(str::to_owned),
        parameters: Some(tool["inputSchema"].clone()),
        ..Function::default()
    };
    Some(tools.map(function).collect())
}

/// The tools under names of their own: several servers have a `search`.
fn named_apart(tools: Vec<Function>) -> Vec<Function> {
    let mut taken = BTreeSet::new();
    let apart = |mut tool: Function| {
        let name = tool.name.clone();
        let mut number = 1;
        while !taken.insert(tool.name.clone()) {
            number += 1;
            tool.name = format!("{name}.{number}");
        }
        tool
    };
    tools.into_iter().map(apart).collect()
}

/// Every surface of the catalog whose model calls tools.
fn models() -> Vec<Model> {
    let catalog = Catalog::built_in();
    let surfaces = catalog.providers().flat_map(|provider| provider.surfaces.iter().map(move |row| (provider, row)));
    let names = surfaces.map(|(provider, surface)| {
        let serves = |row: &&polywire::ModelRow| {
            row.provider == provider.id
                && (row.surfaces.is_empty() || row.surfaces.contains(&surface.id))
                && row.can(polywire::Ability::Tools)
        };
        let first = catalog.models().find(serves);
        format!("{}:{}/{}", provider.id, surface.id, first.map_or("emulated", |row| row.id.as_str()))
    });
    names.filter_map(|name| catalog.resolve(&name).ok()).collect()
}

/// The place of each tool and a validator of its own schema.
fn validators(tools: &[Function]) -> BTreeMap<&str, (String, jsonschema::Validator)> {
    let validator = |tool: &Function| jsonschema::validator_for(tool.parameters.as_ref()?).ok();
    let placed = tools.iter().enumerate();
    placed.filter_map(|(at, tool)| Some((tool.name.as_str(), (format!("/tools/{at}/"), validator(tool)?)))).collect()
}

/// Calls that are not valid by the server's schema, unless the plan says that this tool accepts more on the way.
fn faults(calls: &[ToolCall], own: &BTreeMap<&str, (String, jsonschema::Validator)>, plan: &Plan) -> Vec<String> {
    let wrong = calls.iter().filter_map(|call| {
        let Some((at, validator)) = own.get(call.name.as_str()) else {
            return Some(format!("no tool `{}`", call.name));
        };
        let value = call.value().expect("JSON");
        let error = validator.validate(&value).err()?;
        let told = plan.losses().any(|change| change.effect == Effect::Wider && change.at.starts_with(at));
        // That exactly one key of a carried choice is to be there is said in a description, and the emulator reads none.
        let one_key =
            |change: &polywire::Change| change.at.starts_with(at) && change.detail.contains("one key for each branch");
        let told = told || plan.changes().iter().any(one_key);
        (!told).then(|| format!("{}: {error}: {value}", call.name))
    });
    wrong.collect()
}

#[tokio::test]
async fn all_tools_of_real_servers_in_one_request() {
    let Some(tools) = servers_tools() else { return };
    let tools = named_apart(tools);
    let own = validators(&tools);
    assert_eq!(own.len(), tools.len(), "every schema of the servers is one");
    let emulator = Emulator::start(0).await.expect("a port");
    let mut request = Request::new("", vec![Message::user("Do all you can.")]);
    request.tools = tools.iter().cloned().map(Tool::Function).collect();
    let (mut failed, mut wrong, mut count) = (Vec::new(), Vec::new(), 0);
    for model in models() {
        let name = format!("{}:{}/{}", model.provider().id, model.surface().id, model.id());
        let done = match client(&emulator, &model, "all").complete(&request, &model).await {
            Ok(done) => done,
            Err(error) => {
                failed.push(format!("{name}: {error}"));
                continue;
            }
        };
        let plan = plan(&request, &model);
        let calls: Vec<ToolCall> = done.response.calls().cloned().collect();
        if calls.len() != plan.tools.len() {
            failed.push(format!("{name}: {} calls of {} entries", calls.len(), plan.tools.len()));
        }
        let sent: BTreeSet<&str> = plan.tools.iter().flat_map(names).collect();
        if sent.len() != tools.len() {
            failed.push(format!("{name}: only {} tools are there", sent.len()));
        }
        count += calls.len();
        wrong.extend(faults(&calls, &own, &plan).into_iter().map(|fault| format!("{name} {fault}")));
    }
    println!("{count} calls, {} not valid", wrong.len());
    assert!(failed.is_empty() && wrong.is_empty(), "{}\n{}", failed.join("\n"), wrong.join("\n"));
}

fn names(tool: &polywire::PlannedTool) -> Vec<&str> {
    if tool.shared_by.is_empty() { vec![&tool.name] } else { tool.shared_by.iter().map(String::as_str).collect() }
}

/// Where tools share an entry, a call of any of them is said through it and comes back as it was.
#[test]
fn calls_of_tools_that_share_an_entry_come_back() {
    let Some(tools) = servers_tools() else { return };
    let tools = named_apart(tools);
    let model = super::model("openai:chat/gpt-4o");
    let calls: Vec<ToolCall> = tools.iter().enumerate().filter_map(|(index, tool)| call(index, tool)).collect();
    let results = calls.iter().map(|call| ToolResult::text(call.id.clone(), "done"));
    let blocks = calls.iter().cloned().map(Block::ToolCall).collect();
    let turns = vec![Message::user("Do it."), Message::new(Role::Assistant, blocks), Message::tool(results)];
    let mut request = Request::new("", turns);
    request.tools = tools.into_iter().map(Tool::Function).collect();
    let plan = plan(&request, &model);
    assert_eq!(plan.tools.len(), 128);
    let sent = plan.protocol.decode_request(serde_json::from_str(plan.body.get()).expect("JSON")).expect("a request");
    let said = sent.value.messages.iter().flat_map(Message::calls).cloned().map(Block::ToolCall);
    let restored = restore(Response { content: said.collect(), ..Response::default() }, &plan);
    let response = restored.response;
    let mut differ = Vec::new();
    for (back, asked) in response.calls().zip(&calls) {
        // That `null` cannot be told from absence is on record.
        let value = |call: &ToolCall| call.value().ok().map(without_nulls);
        if back.name != asked.name || value(back) != value(asked) {
            differ.push(format!("{}: {} is {}: {}", asked.name, asked.arguments, back.name, back.arguments));
        }
    }
    assert_eq!(response.calls().count(), calls.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// A value without the members that are `null`.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

fn call(index: usize, tool: &Function) -> Option<ToolCall> {
    let value = sample(tool.parameters.as_ref()?, u64::try_from(index).ok()?)?;
    Some(ToolCall::new(format!("call_{index}"), tool.name.clone(), value.to_string()))
}
