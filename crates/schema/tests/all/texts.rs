//! R-E2: what `check` says is what the provider would answer, to the letter where that is known.

use polywire_schema::{Violation, check_output, check_tools, dialect, read_output, read_tools};
use serde_json::{Value, json};

/// The texts about a document, by code.
fn told(id: &str, document: &Value, code: &str) -> Vec<String> {
    let dialect = dialect(id).expect("a dialect");
    let found: Vec<Violation> = match read_tools(document) {
        Some(tools) => check_tools(&tools, dialect),
        None => check_output(&read_output(document).expect("an output"), dialect),
    };
    found.into_iter().filter(|violation| violation.code == code).map(|violation| violation.says).collect()
}

fn tool(schema: impl Into<Value>) -> Value {
    let schema = schema.into();
    json!([{"name": "first", "inputSchema": {"type": "object", "properties": {}}}, {"name": "do_it", "inputSchema": schema}])
}

fn object(properties: impl Into<Value>) -> Value {
    let properties = properties.into();
    json!({"type": "object", "properties": properties})
}

#[test]
fn the_parser_of_google_counts_properties_and_its_validator_names_them() {
    let id = "gemini-openapi";
    let nested = tool(object(json!({"a": {"type": "string"}, "b": {"anyOf": [{"type": "string", "const": "x"}]}})));
    assert_eq!(
        told(id, &nested, "GEM-SCHEMA-07"),
        ["Invalid JSON payload received. Unknown name \"const\" at \
         'tools[0].function_declarations[1].parameters.properties[1].value.any_of[0]': Cannot find field."]
    );
    let output = json!({"responseSchema": object(json!({"a": {"type": "integer", "enum": [1, 2]}}))});
    assert_eq!(
        told(id, &output, "GEM-SCHEMA-17"),
        ["Invalid value at 'generation_config.response_schema.properties[0].value.enum[0]' (TYPE_STRING), 1"]
    );
    let required = tool(json!({"type": "object", "properties": {"a": {"type": "array", "items": {
        "type": "object", "properties": {"b": {"type": "string"}}, "required": ["b", "c"]}}}}));
    assert_eq!(
        told(id, &required, "GEM-SCHEMA-28"),
        ["* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].items.required[1]: \
         property is not defined"]
    );
}

#[test]
fn a_property_called_like_a_keyword_is_a_property_in_texts_too() {
    let schema = tool(object(json!({"properties": {"type": "object", "properties": {"anyOf": {"const": 1}}}})));
    assert_eq!(
        told("gemini-openapi", &schema, "GEM-SCHEMA-07"),
        ["Invalid JSON payload received. Unknown name \"const\" at \
         'tools[0].function_declarations[1].parameters.properties[0].value.properties[0].value': Cannot find field."]
    );
    let typeless = tool(object(json!({"properties": {"type": "object", "properties": {"items": {}}}})));
    assert_eq!(
        told("vertex-openapi", &typeless, "GEM-SCHEMA-20"),
        ["Unable to submit request because `do_it` functionDeclaration `parameters.properties.items` \
         schema didn't specify the schema type field."]
    );
}

#[test]
fn openai_tells_the_context_of_the_schema_and_values_as_python_does() {
    let refused = json!({"name": "choice", "strict": true, "schema": {
        "type": "object", "properties": {"data": {"oneOf": [{"type": "string"}]}}, "required": ["data"], "additionalProperties": false}});
    assert_eq!(
        told("openai-strict", &refused, "OAI-STRICT-26"),
        ["Invalid schema for response_format 'choice': In context=('properties', 'data'), 'oneOf' is not permitted."]
    );
    let null = tool(object(json!({"a": {"type": "string", "properties": null}, "b": {"type": "array", "items": []}})));
    assert_eq!(
        told("openai", &null, "OAI-NS-07"),
        [
            "Invalid schema for function 'do_it': None is not of type 'object'.",
            "Invalid schema for function 'do_it': [] is not of type 'object', 'boolean'.",
        ]
    );
}

#[test]
fn tools_are_named_by_their_place_where_the_provider_does() {
    let schema = tool(json!({"type": "string"}));
    assert_eq!(
        told("bedrock", &schema, "BDR-03"),
        ["The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of the following: object."]
    );
    let text = tool(json!("{\"type\": \"object\"}"));
    assert_eq!(
        told("bedrock", &text, "BDR-03"),
        ["The format of the value at toolConfig.tools.1.toolSpec.inputSchema.json is invalid. Provide a json object \
         for the field and try again."]
    );
    assert_eq!(told("openai", &text, "READ-TOOL").len(), 1);
    let union = tool(json!({"type": "object", "anyOf": [{"required": ["a"]}]}));
    for id in ["anthropic", "anthropic-strict"] {
        let code = if id == "anthropic" { "ANT-SCH-02" } else { "ANT-STRICT-01" };
        assert_eq!(
            told(id, &union, code),
            ["tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"]
        );
    }
}

#[test]
fn what_a_text_quotes_is_not_filled_in_again() {
    let schema = tool(object(json!({"a": {"type": "{name}"}})));
    assert_eq!(
        told("openai", &schema, "OAI-NS-07"),
        ["Invalid schema for function 'do_it': '{name}' is not valid under any of the given schemas."]
    );
}

#[test]
fn tools_without_a_schema_lists_without_tools_and_names_of_formats_are_judged() {
    let bare = json!({"tools": [{"name": "now"}]});
    assert_eq!(told("anthropic", &bare, "ANT-TOOL-01"), ["tools.0.custom.input_schema: Field required"]);
    assert_eq!(told("mcp", &bare, "MCP-02"), ["Invalid schema for tool now: inputSchema: Required"]);
    assert!(told("openai", &bare, "ANT-TOOL-01").is_empty());
    assert_eq!(told("openai", &json!({"tools": []}), "OAI-CHAT-07").len(), 1);
    assert_eq!(told("gemini", &json!([{"functionDeclarations": []}]), "GEM-FN-16").len(), 1);
    let format =
        json!({"name": "Cart`1", "schema": {"type": "object", "properties": {}, "additionalProperties": false}});
    let named = "Invalid 'response_format.json_schema.name': string does not match pattern. Expected a string that \
                 matches the pattern '^[a-zA-Z0-9_-]+$'.";
    assert_eq!(told("openai-strict", &format, "OAI-CHAT-30"), [named]);
}

#[test]
fn google_reads_its_words_in_snake_case_too() {
    let schema = |list: &str, least: &str, any: &str| {
        tool(object(json!({
            "min_items": {"type": "array", "items": {"type": "string"}, list: 3, least: 1},
            "b": {any: [{"type": "string"}, {"type": "integer", "multipleOf": 2}]},
        })))
    };
    let found = |id: &str, document: &Value| -> Vec<(String, String)> {
        let found = check_tools(&read_tools(document).unwrap(), dialect(id).unwrap());
        found.into_iter().map(|one| (one.code, one.at.replace("anyOf", "any_of"))).collect()
    };
    let (snake, camel) = (schema("max_items", "min_items", "any_of"), schema("maxItems", "minItems", "anyOf"));
    for id in ["gemini-openapi", "vertex-openapi"] {
        assert_eq!(found(id, &snake), found(id, &camel), "{id}");
        assert_eq!(found(id, &snake).len(), 1, "{id}: only `multipleOf` is unknown");
    }
    assert!(found("gemini-openapi", &snake)[0].1.ends_with("/properties/b/any_of/1/multipleOf"));
    assert_eq!(found("cca", &tool(object(json!({"a": {"type": "string", "min_length": 1}})))).len(), 1);
    // What stands there twice, or has no such word, is still a finding.
    let twice = tool(object(json!({"a": {"type": "string", "min_length": 1, "minLength": 1, "one_of": []}})));
    assert_eq!(found("gemini-openapi", &twice).len(), 2);
}

#[test]
fn what_is_wrong_with_a_value_is_told_as_the_validator_of_openai_does() {
    for (node, wrong) in [
        (json!({"required": ["a", "a"]}), "['a', 'a'] has non-unique elements"),
        (json!({"required": ["a", 1]}), "1 is not of type 'string'"),
        (json!({"anyOf": []}), "[] should be non-empty"),
        (json!({"minLength": -1}), "-1 is less than the minimum of 0"),
        (json!({"minLength": "1"}), "'1' is not of type 'integer'"),
        (json!({"multipleOf": 0}), "0 is less than or equal to the minimum of 0"),
        (json!({"dependentRequired": {"a": "b"}}), "'b' is not of type 'array'"),
        (json!({"items": [{}]}), "[{}] is not of type 'object', 'boolean'"),
        (json!({"title": 5}), "5 is not of type 'string'"),
    ] {
        let schema = tool(object(json!({"a": node})));
        assert_eq!(told("openai", &schema, "OAI-NS-07"), [format!("Invalid schema for function 'do_it': {wrong}.")]);
    }
}
