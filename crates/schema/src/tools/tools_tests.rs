//! Tool lists in every shape, and what fitting keeps of them.

use serde_json::{Value, json};

use super::{ToolList, check_tools, fit_tools, read_tools};
use crate::{Dialect, Effect, FitOptions, ToolShape, dialect};

fn schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
}

fn target(id: &str) -> &'static Dialect {
    dialect(id).expect("a built-in dialect")
}

/// A dialect with nothing but the given rules.
fn made(shape: &str, rest: &str) -> Dialect {
    let head = "id = 'made'\ntitle = 't'\nserves = 's'\nsource = 's'\nchecked-on = '2026-11-15'\n";
    Dialect::from_toml(&format!("{head}shape = '{shape}'\n{rest}")).expect("a dialect")
}

fn rule(demand: &str, rest: &str) -> String {
    format!("[[rule]]\ndemand = '{demand}'\ncode = 'T-1'\nsays = 'no'\nconfidence = 'inferred'\nsource = 's'\n{rest}\n")
}

fn names(list: &ToolList) -> Vec<(&str, &str)> {
    list.tools.iter().map(|tool| (tool.name.as_str(), tool.at.as_str())).collect()
}

#[track_caller]
fn check_read(document: &Value, at: &str) {
    let list = read_tools(document).unwrap_or_else(|| panic!("a tool list: {document}"));
    assert_eq!(names(&list), [("weather", at)]);
    assert_eq!(list.tools[0].schema, schema());
    assert_eq!(list.tools[0].description.as_deref(), Some("d"));
}

#[test]
fn every_shape_is_read() {
    let with = |key: &str, schema: Value| json!({"name": "weather", "description": "d", key: schema});
    let function = json!({"type": "function", "function": with("parameters", schema())});
    let mcp = with("inputSchema", schema());
    let gemini = json!({"functionDeclarations": [with("parametersJsonSchema", schema())]});
    let bedrock = |schema: Value| json!({"toolSpec": with("inputSchema", json!({"json": schema}))});
    let mut flat = with("parameters", schema());
    flat["type"] = json!("function");
    let mut custom = with("input_schema", schema());
    custom["type"] = json!("custom");
    check_read(&json!({"tools": [mcp]}), "/tools/0/inputSchema");
    check_read(&json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [mcp]}}), "/result/tools/0/inputSchema");
    check_read(&json!([mcp]), "/0/inputSchema");
    check_read(&mcp, "/inputSchema");
    check_read(&function, "/function/parameters");
    check_read(&json!([function]), "/0/function/parameters");
    check_read(&json!({"model": "m", "tools": [function]}), "/tools/0/function/parameters");
    check_read(&json!({"functions": [with("parameters", schema())]}), "/functions/0/parameters");
    check_read(&json!([flat]), "/0/parameters");
    check_read(&json!([with("input_schema", schema())]), "/0/input_schema");
    check_read(&json!([custom]), "/0/input_schema");
    check_read(&gemini, "/functionDeclarations/0/parametersJsonSchema");
    check_read(&json!({"tools": [gemini]}), "/tools/0/functionDeclarations/0/parametersJsonSchema");
    check_read(
        &json!([{"function_declarations": [with("parameters", schema())]}]),
        "/0/function_declarations/0/parameters",
    );
    check_read(&json!({"toolConfig": {"tools": [bedrock(schema())]}}), "/toolConfig/tools/0/toolSpec/inputSchema/json");
    check_read(&json!([bedrock(json!(schema().to_string()))]), "/0/toolSpec/inputSchema/json");
    check_read(&json!([with("inputSchema", json!(schema().to_string()))]), "/0/inputSchema");
}

#[test]
fn a_schema_is_not_a_tool_list() {
    let tool = json!({"name": "weather", "inputSchema": schema()});
    for document in [
        schema(),
        json!({"type": "object", "properties": {"tools": {"type": "array"}}}),
        json!({"type": "object", "properties": {}, "tools": [tool]}),
        json!({"properties": {"name": {}, "parameters": {}}}),
        json!({"$ref": "#/$defs/x", "name": "weather", "parameters": {}}),
        json!({"name": "weather", "strict": true, "schema": {}}),
        json!({"tools": [{"type": "string"}]}),
        json!({"type": "web_search"}),
        json!({}),
        json!(true),
    ] {
        assert!(read_tools(&document).is_none(), "{document}");
    }
}

#[test]
fn a_tool_without_a_schema_takes_no_arguments() {
    let none = json!({"type": "object", "properties": {}});
    for document in [
        json!({"tools": [{"functionDeclarations": [{"name": "now"}]}]}),
        json!([{"type": "function", "function": {"name": "now"}}]),
        json!([{"type": "function", "name": "now", "parameters": null}]),
        json!({"tools": [{"name": "now"}]}),
        json!([{"toolSpec": {"name": "now", "inputSchema": {"json": null}}}]),
    ] {
        let list = read_tools(&document).expect("a tool list");
        assert_eq!(list.tools[0].schema, none, "{document}");
    }
}

#[test]
fn each_target_shape_is_written_and_read_back() {
    let list = read_tools(&json!([{"name": "weather", "description": "d", "inputSchema": schema()}])).expect("a list");
    let shapes = ["openai-chat", "openai-responses", "anthropic", "gemini-json", "gemini-openapi", "bedrock", "mcp"];
    for shape in shapes {
        let written = fit_tools(&list, &made(shape, ""), &FitOptions::default()).to_json();
        let again = read_tools(&written).unwrap_or_else(|| panic!("{shape}: {written}"));
        assert_eq!(
            (again.tools[0].name.as_str(), again.tools[0].description.as_deref()),
            ("weather", Some("d")),
            "{shape}"
        );
        assert_eq!(again.tools[0].schema, schema(), "{shape}");
    }
}

#[test]
fn an_empty_list_is_omitted() {
    let list = read_tools(&json!({"tools": [{"functionDeclarations": []}]})).expect("a list");
    let written = |shape: &str| fit_tools(&list, &made(shape, ""), &FitOptions::default()).to_json();
    assert_eq!(written("gemini-json"), json!([]));
    assert_eq!(written("openai-chat"), json!([]));
    assert_eq!(written("bedrock"), json!({}));
    assert_eq!(written("mcp"), json!({"tools": []}));
}

#[test]
fn hosted_tools_pass_untouched_to_their_own_vendor_and_are_reported_elsewhere() {
    let search = json!({"type": "web_search"});
    let document = json!([search, {"type": "function", "name": "now", "parameters": schema()}]);
    let list = read_tools(&document).expect("a list");
    let same = fit_tools(&list, &made("openai-responses", ""), &FitOptions::default());
    assert_eq!(same.to_json()[0], search);
    assert_eq!(same.to_json()[1]["strict"], json!(false));
    let other = fit_tools(&list, &made("anthropic", ""), &FitOptions::default());
    assert_eq!(other.to_json().as_array().map(Vec::len), Some(1));
    assert_eq!((other.changes[0].at.as_str(), other.changes[0].effect), ("/0", Effect::Note));
    assert_eq!(list.shape(), Some(ToolShape::OpenaiResponses));
}

#[test]
fn hosted_tools_stay_with_the_endpoint_that_runs_them() {
    let function = json!({"type": "function", "name": "f", "parameters": schema()});
    let list = read_tools(&json!({"tools": [{"type": "web_search"}, function]})).expect("a list");
    let hosted = |id: &str| fit_tools(&list, target(id), &FitOptions::default()).to_json().to_string();
    assert!(hosted("openai-responses").contains("web_search"));
    assert!(!hosted("openai-strict").contains("web_search"));
    let told = fit_tools(&list, target("openai-strict"), &FitOptions::default());
    assert!(told.changes.iter().any(|change| change.at == "/tools/0" && &*change.code == "TOOL-SHAPE"));
}

#[test]
fn a_tool_whose_name_was_forgotten_is_found_and_gets_one() {
    let closed = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let [typo, number] = [json!({"nme": "typo", "inputSchema": closed}), json!({"name": 5, "inputSchema": closed})];
    let list = json!({"tools": [{"name": "ok", "inputSchema": closed}, typo, number]});
    let list = read_tools(&list).expect("a list");
    let found = check_tools(&list, target("openai-strict"));
    assert_eq!(found.iter().map(|one| one.at.as_str()).collect::<Vec<_>>(), ["/tools/1/name", "/tools/2/name"]);
    let fitted = fit_tools(&list, target("openai-strict"), &FitOptions::default());
    let names: Vec<_> = fitted.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names[0] == "ok" && names[1].contains("tools_1") && names[2].contains("tools_2"), "{names:?}");
    assert!(read_tools(&json!({"inputSchema": closed})).is_none(), "alone, nothing says that it is a tool");
}

#[test]
fn a_tool_without_the_flag_is_not_strict_beside_one_that_has_it() {
    let tool = |name: &str, strict: Option<bool>| {
        let closed = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        let mut function = json!({"name": name, "parameters": closed});
        if let Some(strict) = strict {
            function["strict"] = json!(strict);
        }
        json!({"type": "function", "function": function})
    };
    for (flags, mixed) in
        [([Some(true), None], true), ([None, Some(false)], false), ([None, None], false), ([Some(true); 2], false)]
    {
        let list = read_tools(&json!([tool("a", flags[0]), tool("b", flags[1])])).expect("a list");
        let found = check_tools(&list, target("cerebras-strict"));
        assert_eq!(found.iter().any(|one| one.code == "CER-01"), mixed, "{flags:?}: {found:?}");
    }
}

#[test]
fn one_bad_tool_does_not_fail_the_others() {
    let document = json!({"tools": [{"name": "bad", "inputSchema": "{"}, {"name": "good", "inputSchema": schema()}]});
    let list = read_tools(&document).expect("a list");
    let fitted = fit_tools(&list, &made("mcp", ""), &FitOptions::default());
    assert_eq!(fitted.tools[0].schema, json!({"type": "object", "properties": {}}));
    assert_eq!(fitted.tools[0].changes[0].effect, Effect::Wider);
    assert_eq!(fitted.tools[0].changes[0].at, "/tools/0/inputSchema");
    assert_eq!(fitted.tools[1].schema, schema());
}

#[test]
fn names_are_repaired_without_collision_and_mapped_back() {
    let pattern = rule("tool-name", "pattern = '^[A-Za-z_][A-Za-z0-9_]{0,15}$'") + &rule("unique-names", "");
    let originals = [
        "a.b",
        "a_b",
        "a/b",
        "a_b",
        "3d_print",
        "",
        "搜索",
        "a_very_long_name_of_a_tool",
        "a_very_long_name_of_another",
    ];
    let list: ToolList = originals.iter().map(|name| super::ToolEntry::new(*name, schema())).collect();
    let dialect = made("mcp", &pattern);
    let fitted = fit_tools(&list, &dialect, &FitOptions::default());
    let names: Vec<&str> = fitted.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names[..5], ["a_b_2", "a_b", "a_b_3", "a_b_4", "_3d_print"]);
    assert!(names[5].starts_with("tool_") && names[7].starts_with("a_very_") && names[7] != names[8], "{names:?}");
    assert_eq!(fitted.original_name("_3d_print"), Some("3d_print"));
    let renamed = fitted.all_changes().filter(|change| change.keyword == "name").count();
    assert_eq!(renamed, 8);
    let again = read_tools(&fitted.to_json()).expect("a list");
    assert_eq!(check_tools(&again, &dialect), []);
    assert_eq!(fit_tools(&again, &dialect, &FitOptions::default()).all_changes().count(), 0);
}

/// R-A11: strict is a promise per tool, and a tool that cannot keep it says so.
#[test]
fn strict_is_given_in_list_order_while_the_budget_lasts() {
    let strict = "strict = true\n".to_owned();
    let list: ToolList = ["a", "b", "c"].iter().map(|name| super::ToolEntry::new(*name, schema())).collect();
    let flags = |dialect: &Dialect| -> Vec<bool> {
        fit_tools(&list, dialect, &FitOptions::default()).tools.iter().map(|tool| tool.strict).collect()
    };
    assert_eq!(flags(&made("openai-chat", &strict)), [true; 3]);
    let limited = strict.clone() + &rule("max-strict-tools", "limit = 2");
    assert_eq!(flags(&made("openai-chat", &limited)), [true, true, false]);
    let uniform = limited + &rule("uniform-strict", "");
    assert_eq!(flags(&made("openai-chat", &uniform)), [false; 3]);
    let mut declined = list.clone();
    declined.tools[0].strict = Some(false);
    let all_or_none = made("openai-chat", &(strict + &rule("uniform-strict", "")));
    assert!(fit_tools(&declined, &all_or_none, &FitOptions::default()).tools.iter().all(|tool| !tool.strict));
}

#[test]
fn a_tool_with_the_strict_flag_is_judged_by_the_rules_for_it() {
    let optional = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let list = |strict: Value| {
        let tool = |name: &str| json!({"name": name, "input_schema": optional, "strict": strict});
        read_tools(&json!([tool("a"), tool("b")])).expect("a list")
    };
    let codes = |strict: Value, id: &str| -> Vec<String> {
        check_tools(&list(strict), target(id)).into_iter().map(|one| one.code).collect()
    };
    assert_eq!(codes(json!(true), "anthropic"), ["ANT-STRICT-02", "ANT-STRICT-02"]);
    assert_eq!(codes(json!(true), "openai"), ["OAI-STRICT-03", "OAI-STRICT-04", "OAI-STRICT-03", "OAI-STRICT-04"]);
    for said in [json!(false), json!(null)] {
        assert_eq!([codes(said.clone(), "anthropic"), codes(said, "openai")], [[""; 0], [""; 0]]);
    }
    assert_eq!(codes(json!(false), "anthropic-strict"), [""; 0]);
    assert_eq!(codes(json!(true), "mistral"), [""; 0]);
    let many = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let many: Vec<Value> =
        (0..21).map(|index| json!({"name": format!("t{index}"), "input_schema": many, "strict": true})).collect();
    let found = check_tools(&read_tools(&json!(many)).expect("a list"), target("anthropic"));
    assert_eq!(found.iter().map(|one| one.code.as_str()).collect::<Vec<_>>(), ["ANT-STRICT-03"]);
}

#[test]
fn a_tool_that_spends_one_budget_for_another_comes_after_those_that_fit_as_they_are() {
    let optional = |count: usize| -> Value {
        let properties: Value = (0..count).map(|index| (format!("p{index}"), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties, "additionalProperties": false})
    };
    let flags = |counts: &[usize]| -> Vec<bool> {
        let entry = |(index, count): (usize, &usize)| super::ToolEntry::new(format!("t{index}"), optional(*count));
        let list: ToolList = counts.iter().enumerate().map(entry).collect();
        let fitted = fit_tools(&list, target("anthropic-strict"), &FitOptions::default());
        fitted.tools.iter().map(|tool| tool.strict).collect()
    };
    assert_eq!(flags(&[30]), [true]);
    assert_eq!(flags(&[30, 0]), [true, true]);
    assert_eq!(flags(&[30, 2, 3]), [false, true, true]);
}

/// R-E3: budgets of the request are judged before anything is sent.
#[test]
fn a_list_is_checked_as_a_whole() {
    let document = json!({"tools": [
        {"name": "a b", "description": "", "inputSchema": schema()},
        {"name": "ab", "description": "long", "inputSchema": schema()},
        {"name": "ab", "inputSchema": schema()},
    ]});
    let rules = rule("tool-name", "pattern = '^[a-z]+$'")
        + &rule("unique-names", "")
        + &rule("description-not-empty", "")
        + &rule("max-description", "limit = 3")
        + &rule("max-tools", "limit = 2");
    let list = read_tools(&document).expect("a list");
    let found = check_tools(&list, &made("mcp", &rules));
    let places: Vec<&str> = found.iter().map(|violation| violation.at.as_str()).collect();
    assert_eq!(places, ["/tools/0/name", "/tools/0/description", "/tools/1/description", "/tools/2/name", ""]);
    assert_eq!(list.by_place().at("/tools/2/name").map(|tool| tool.at.as_str()), Some("/tools/2/inputSchema"));
}

#[test]
fn a_result_that_a_declaration_describes_is_fitted_and_judged_in_the_slot_of_the_target() {
    let answer = json!({"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}});
    let declaration = json!({"name": "now", "parameters": schema(), "response": answer});
    let list = read_tools(&json!([{"functionDeclarations": [declaration]}])).expect("a list");
    let openapi = target("gemini-openapi");
    let found = check_tools(&list, openapi);
    assert_eq!(found[0].at, "/0/functionDeclarations/0/response/properties/tags/uniqueItems");
    assert!(
        found[0].says.contains("tools[0].function_declarations[0].response.properties[0].value"),
        "{}",
        found[0].says
    );
    let written = fit_tools(&list, openapi, &FitOptions::default()).to_json();
    assert_eq!(written[0]["functionDeclarations"][0]["response"]["properties"]["tags"]["uniqueItems"], Value::Null);
    assert_eq!(check_tools(&read_tools(&written).expect("a list"), openapi), []);
    let other = &fit_tools(&list, target("gemini"), &FitOptions::default()).to_json()[0]["functionDeclarations"][0];
    assert_eq!((other["response"].is_null(), other["responseJsonSchema"]["type"].as_str()), (true, Some("object")));
    // Nobody asked for it there.
    let mcp = read_tools(&json!({"tools": [{"name": "now", "inputSchema": schema(), "outputSchema": answer}]}));
    let brought = fit_tools(&mcp.expect("a list"), target("gemini"), &FitOptions::default());
    assert_eq!(brought.tools[0].changes.last().map(|change| change.code.as_ref()), Some("TOOL-SHAPE"));
}

#[test]
fn of_two_slots_for_one_schema_one_is_taken() {
    let declaration = json!({"name": "now", "parameters": {"type": "object"}, "parametersJsonSchema": schema(),
        "response": {"type": "object"}, "responseJsonSchema": schema()});
    let list = read_tools(&json!([{"functionDeclarations": [declaration]}])).expect("a list");
    for id in ["gemini", "gemini-openapi", "vertex-openapi"] {
        let found = check_tools(&list, target(id));
        let duplicates: Vec<&str> =
            found.iter().filter(|one| one.code == "GEM-JSONP-03").map(|one| one.at.as_str()).collect();
        assert_eq!(duplicates, ["/0/functionDeclarations/0/parameters", "/0/functionDeclarations/0/response"], "{id}");
        let fitted = fit_tools(&list, target(id), &FitOptions::default());
        let told = fitted.all_changes().filter(|change| change.code.as_ref() == "GEM-JSONP-03").count();
        assert_eq!(told, 2, "{id}");
        let again = read_tools(&fitted.to_json()).expect("a list");
        assert_eq!(
            (&again.tools[0].schema["required"], check_tools(&again, target(id))),
            (&json!(["city"]), vec![]),
            "{id}"
        );
    }
    let other = fit_tools(&list, target("openai"), &FitOptions::default());
    assert!(other.all_changes().any(|change| change.at == "/0/functionDeclarations/0/parameters"));
}

#[test]
fn examples_of_arguments_travel_as_the_arguments_do() {
    let schema = json!({"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}});
    let examples = json!([{"labels": {"a": "b"}}, {}, {"labels": 1}]);
    let list =
        read_tools(&json!([{"name": "tag", "input_schema": schema, "input_examples": examples}])).expect("a list");
    let fitted = fit_tools(&list, target("anthropic-strict"), &FitOptions::default());
    let written = fitted.to_json();
    let lens = fitted.tools[0].lens().expect("a lens");
    let carried = lens.encode(json!({"labels": {"a": "b"}})).expect("a value that fits");
    assert_eq!(written[0]["input_examples"], json!([carried, {}]));
    let told: Vec<_> = fitted.all_changes().filter(|change| change.code.as_ref() == "TOOL-EXAMPLE").collect();
    let places: Vec<_> = told.iter().map(|change| (change.at.as_str(), change.effect)).collect();
    assert_eq!(places, [("/0/input_examples/0", Effect::Same), ("/0/input_examples/2", Effect::Note)]);
    let same = fit_tools(&list, target("anthropic"), &FitOptions::default());
    assert_eq!(same.to_json()[0]["input_examples"], examples);
}

#[test]
fn what_only_one_shape_knows_stays_in_that_shape_and_is_reported_in_others() {
    let document = json!({"tools": [{"name": "now", "inputSchema": schema(), "annotations": {"readOnlyHint": true}}]});
    let list = read_tools(&document).expect("a list");
    let same = fit_tools(&list, target("mcp"), &FitOptions::default());
    assert_eq!(same.to_json()["tools"][0]["annotations"], json!({"readOnlyHint": true}));
    let other = fit_tools(&list, &made("anthropic", ""), &FitOptions::default());
    assert_eq!(other.tools[0].changes[0].detail, "the target's tools have no room for: annotations");
}

#[test]
fn what_is_found_in_listed_properties_has_the_place_that_the_caller_wrote() {
    let list =
        read_tools(&json!([{"type": "function", "function": {"name": "f", "parameters": {"n": {"type": "array"}}}}]));
    let list = list.expect("a tool list");
    let (found, fitted) =
        (check_tools(&list, target("openai")), fit_tools(&list, target("openai"), &FitOptions::default()));
    assert!(found.iter().any(|one| one.at == "/0/function/parameters/n"), "{found:?}");
    assert!(fitted.tools[0].changes.iter().any(|change| change.at == "/0/function/parameters/n"));
    let bedrock = json!([{"toolSpec": {"name": "f"}, "inputSchema": {"json": schema()}}]);
    assert_eq!(read_tools(&bedrock).expect("a tool list").tools[0].schema, schema());
    let default = json!([{"name": "f", "input_schema": {"default": {"type": "object"}}}]);
    assert_eq!(read_tools(&default).expect("a tool list").tools[0].schema, json!({"default": {"type": "object"}}));
}

#[test]
fn a_schema_that_stands_elsewhere_or_lists_its_properties_is_read() {
    let town = json!({"type": "string", "description": "d"});
    let beside = json!([{"type": "function", "function": {"name": "f"}, "parameters": {"type": "object", "properties": {"town": town}}}]);
    let listed = json!([{"name": "f", "input_schema": {"town": town, "description": {"type": "string"}}}]);
    for (document, says) in [(beside, "beside the function"), (listed, "the properties of one")] {
        let list = read_tools(&document).expect("a tool list");
        let target = target("openai");
        let found = check_tools(&list, target);
        assert!(found.iter().any(|one| one.code == "READ-TOOL" && one.says.contains(says)), "{found:?}");
        let fitted = fit_tools(&list, target, &FitOptions::default());
        assert_eq!(fitted.tools[0].schema["properties"]["town"], town);
        assert_eq!(fitted.to_json()[0].get("parameters"), None);
        assert!(fitted.tools[0].changes.iter().any(|change| &*change.code == "READ-TOOL"));
    }
}
