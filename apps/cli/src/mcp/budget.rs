//! What is left of tools in a budget of tokens. The rule has fixed steps, mildest first; each applies to all tools before the next begins,
//! and the last ones take the largest part first and stop as soon as the budget is met. Every cut is on record.

use polywire::schema::internals::{KeywordValue, Kw};
use serde::Serialize;
use serde_json::{Map, Value};

/// Providers count about one token for four bytes of JSON.
pub(super) fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Step {
    /// Titles, examples and comments of schemas go.
    DropAnnotations,
    /// Descriptions in schemas are cut after the first sentence.
    FirstSentence,
    /// Descriptions of tools are cut after the first paragraph.
    FirstParagraph,
    /// Descriptions in schemas go.
    DropDescriptions,
    /// Optional parameters go, the largest first.
    DropOptional,
}

const STEPS: [Step; 5] =
    [Step::DropAnnotations, Step::FirstSentence, Step::FirstParagraph, Step::DropDescriptions, Step::DropOptional];

/// Members of schemas that say nothing about values.
const ANNOTATIONS: [&str; 4] = ["title", "examples", "example", "$comment"];
/// One cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Cut {
    pub(super) step: Step,
    pub(super) tool: String,
    /// The place in the tool.
    pub(super) at: String,
    pub(super) bytes: usize,
}

/// What the budget leaves.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BudgetReport {
    pub(super) budget: usize,
    pub(super) tokens_before: usize,
    pub(super) tokens_after: usize,
    pub(super) cuts: Vec<Cut>,
}

/// Shortens tools until they fit in so many tokens, or nothing is left to cut. Required parameters always stay.
pub(super) fn meet_budget(tools: &mut [Value], budget: usize) -> BudgetReport {
    let size = |tools: &[Value]| tokens(tools.iter().map(|tool| tool.to_string().len()).sum());
    let mut report = BudgetReport { budget, tokens_before: size(tools), tokens_after: size(tools), cuts: Vec::new() };
    for step in STEPS {
        if report.tokens_after <= budget {
            break;
        }
        if step == Step::DropOptional {
            drop_optional(tools, budget, &mut report);
        } else {
            for tool in tools.iter_mut() {
                let mut cutter = Cutter { step, tool: name_of(tool), cuts: Vec::new() };
                cutter.cut_tool(tool);
                report.cuts.append(&mut cutter.cuts);
            }
        }
        report.tokens_after = size(tools);
    }
    report
}

fn name_of(tool: &Value) -> String {
    tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn drop_optional(tools: &mut [Value], budget: usize, report: &mut BudgetReport) {
    let mut parts: Vec<(usize, usize, String)> = Vec::new();
    for (number, tool) in tools.iter().enumerate() {
        let optional = tool.pointer("/inputSchema").map(optional_properties).unwrap_or_default();
        parts.extend(optional.into_iter().map(|(key, bytes)| (bytes, number, key)));
    }
    parts.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| (one.1, &one.2).cmp(&(other.1, &other.2))));
    let mut bytes: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    for (size, number, key) in parts {
        if tokens(bytes) <= budget {
            return;
        }
        let Some(tool) = tools.get_mut(number) else { continue };
        let Some(Value::Object(properties)) = tool.pointer_mut("/inputSchema/properties") else { continue };
        if properties.shift_remove(&key).is_some() {
            bytes = bytes.saturating_sub(size);
            let at = format!("/inputSchema/properties/{key}");
            report.cuts.push(Cut { step: Step::DropOptional, tool: name_of(tool), at, bytes: size });
        }
    }
}

/// The properties that a call may leave out, with their sizes.
fn optional_properties(schema: &Value) -> Vec<(String, usize)> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|names| names.iter().any(|name| name == key));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties
        .filter(|(key, _)| !is_required(key))
        .map(|(key, value)| (key.clone(), key.len() + value.to_string().len() + 4))
        .collect()
}

struct Cutter {
    step: Step,
    tool: String,
    cuts: Vec<Cut>,
}

impl Cutter {
    fn cut_tool(&mut self, tool: &mut Value) {
        if self.step == Step::FirstParagraph {
            if let Some(Value::String(text)) = tool.get_mut("description") {
                let first = text.split("\n\n").next().unwrap_or_default().trim_end().len();
                self.shorten(text, first, "/description");
            }
            return;
        }
        for key in ["inputSchema", "outputSchema"] {
            if let Some(schema) = tool.get_mut(key) {
                self.cut_schema(schema, &format!("/{key}"));
            }
        }
    }

    fn cut_schema(&mut self, schema: &mut Value, at: &str) {
        match schema {
            Value::Object(members) => {
                self.cut_members(members, at);
                for (key, value) in members.iter_mut() {
                    let place = format!("{at}/{key}");
                    match (Kw::of(key).map(|kw| kw.info().holds), value) {
                        (Some(KeywordValue::Schema), value) => self.cut_schema(value, &place),
                        (Some(KeywordValue::SchemaList), Value::Array(items)) => self.cut_list(items, &place),
                        (Some(KeywordValue::SchemaMap), Value::Object(map)) => {
                            for (name, item) in map.iter_mut() {
                                self.cut_schema(item, &format!("{place}/{name}"));
                            }
                        }
                        _ => {}
                    }
                }
            }
            // `items` of old drafts.
            Value::Array(items) => self.cut_list(items, at),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn cut_list(&mut self, items: &mut [Value], at: &str) {
        for (index, item) in items.iter_mut().enumerate() {
            self.cut_schema(item, &format!("{at}/{index}"));
        }
    }

    fn cut_members(&mut self, members: &mut Map<String, Value>, at: &str) {
        match self.step {
            Step::DropAnnotations => ANNOTATIONS.iter().for_each(|key| self.remove(members, key, at)),
            Step::DropDescriptions => self.remove(members, "description", at),
            Step::FirstSentence => {
                if let Some(Value::String(text)) = members.get_mut("description") {
                    let first = first_sentence(text);
                    self.shorten(text, first, &format!("{at}/description"));
                }
            }
            Step::FirstParagraph | Step::DropOptional => {}
        }
    }

    fn remove(&mut self, members: &mut Map<String, Value>, key: &str, at: &str) {
        if let Some(value) = members.shift_remove(key) {
            self.record(format!("{at}/{key}"), key.len() + value.to_string().len() + 4);
        }
    }

    fn shorten(&mut self, text: &mut String, length: usize, at: &str) {
        let cut = text.len().saturating_sub(length);
        if cut > 0 && text.is_char_boundary(length) {
            text.truncate(length);
            self.record(at.to_owned(), cut);
        }
    }

    fn record(&mut self, at: String, bytes: usize) {
        self.cuts.push(Cut { step: self.step, tool: self.tool.clone(), at, bytes });
    }
}

/// The length of the first sentence or line, with its full stop.
fn first_sentence(text: &str) -> usize {
    let line = text.find('\n').unwrap_or(text.len());
    let sentence = text.find(". ").map_or(text.len(), |end| end + 1);
    line.min(sentence)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Step, meet_budget};

    #[test]
    fn the_mildest_cuts_come_first_and_all_are_on_record() {
        let tool = json!({"name": "t", "description": "Does it.\n\nAt length.", "inputSchema": {"type": "object", "properties": {
            "must": {"type": "string", "title": "Must", "description": "One. Two."},
            "title": {"type": "string", "description": "A property, not an annotation."},
            "may": {"type": "object", "properties": {"x": {"const": {"title": "data"}}}}}, "required": ["must", "title"]}});
        let whole = super::tokens(tool.to_string().len());
        let mut tools = [tool];
        let none = meet_budget(&mut tools, whole);
        assert_eq!((none.tokens_after, none.cuts.len()), (whole, 0));
        let mild = meet_budget(&mut tools, whole - 4);
        let steps: Vec<Step> = mild.cuts.iter().map(|cut| cut.step).collect();
        assert_eq!(steps, [Step::DropAnnotations]);
        assert_eq!(mild.cuts[0].at, "/inputSchema/properties/must/title");
        assert!(mild.tokens_after <= whole - 4);
        let hard = meet_budget(&mut tools, 1);
        assert!(hard.cuts.iter().any(|cut| cut.at == "/inputSchema/properties/may"));
        let left = json!({"name": "t", "description": "Does it.", "inputSchema": {"type": "object", "properties": {
            "must": {"type": "string"}, "title": {"type": "string"}}, "required": ["must", "title"]}});
        assert_eq!(tools[0], left);
    }
}
