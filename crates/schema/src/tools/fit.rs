//! Fits each tool of a list, then applies the rules for the whole list: names and the limits of strict tools.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use serde_json::value::RawValue;

use super::{ForeignMembers, HostedTool, RawSchema, ToolEntry, ToolList, names, results_dialect, shapes};
use crate::check::count_schema;
use crate::dialect::{Demand, RuleRow, demand_name};
use crate::keyword::Kw;
use crate::{
    Action, Change, Dialect, Effect, FitOptions, Fitted, Lens, ReadError, Severity, Slot, StrictMode, ToolShape, fit,
};

/// The code for a schema that cannot be read.
pub(super) const UNREADABLE: &str = "READ-TOOL";
/// The code of members that the target's tool shape cannot hold.
const NO_PLACE_CODE: &str = "TOOL-SHAPE";
/// The code of a change to an example of a tool's arguments.
const EXAMPLE: &str = "TOOL-EXAMPLE";

/// A tool list for one target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FittedTools {
    /// The tools, in the caller's order.
    pub tools: Vec<FittedTool>,
    /// Changes to the list itself.
    pub changes: Vec<Change>,
    hosted: Vec<HostedTool>,
    shape: ToolShape,
    /// True where the flag is written even if false.
    says_strict: bool,
}

/// One tool, fitted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FittedTool {
    /// The name for the provider.
    pub name: String,
    /// The name the caller knows.
    pub original_name: String,
    /// The description for the provider.
    pub description: Option<String>,
    /// The fitted schema.
    pub schema: Value,
    /// The schema of the result, where the target has room for one.
    pub output_schema: Option<Value>,
    /// True where the tool is sent with the strict flag.
    pub strict: bool,
    /// What was changed; pointers start at the document from which the list was read.
    pub changes: Vec<Change>,
    pub(super) extra: ForeignMembers,
    fitted: Option<Arc<Fitted>>,
    text: OnceLock<Arc<RawValue>>,
}

impl FittedTool {
    /// The lens of the arguments; `None` where the caller's schema could not be read.
    pub fn lens(&self) -> Option<&Lens> {
        self.fitted.as_deref().map(Fitted::lens)
    }

    /// The same, to be kept without a copy.
    pub fn shared_lens(&self) -> Option<Arc<Lens>> {
        self.fitted.as_deref().map(Fitted::shared_lens)
    }

    /// The fitted schema as JSON, written once.
    pub fn schema_text(&self) -> &Arc<RawValue> {
        self.text.get_or_init(|| {
            let written = serde_json::value::to_raw_value(&self.schema);
            written.unwrap_or_else(|_| RawValue::NULL.to_owned()).into()
        })
    }
}

impl FittedTools {
    /// The list as the target's provider wants to read it; a list without tools is written so that it may be sent.
    pub fn to_json(&self) -> Value {
        shapes::write(self.shape, self.says_strict, &self.tools, &self.hosted)
    }

    /// True where every tool is sent with the strict flag.
    pub fn strict(&self) -> bool {
        !self.tools.is_empty() && self.tools.iter().all(|tool| tool.strict)
    }

    /// Every change, those to the list first.
    pub fn all_changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().chain(self.tools.iter().flat_map(|tool| &tool.changes))
    }

    /// The name the caller knows for the name that the provider uses.
    pub fn original_name(&self, name: &str) -> Option<&str> {
        self.tools.iter().find(|tool| tool.name == name).map(|tool| tool.original_name.as_str())
    }
}

/// Fits a tool list to a dialect. One bad tool never fails the others: a schema that cannot be read becomes one that takes
/// any object, with a change that says so.
///
/// ```
/// use polywire_schema::{FitOptions, dialect, fit_tools, read_tools};
///
/// let document = serde_json::json!([{"name": "get.time", "input_schema": {"type": "object"}}]);
/// let list = read_tools(&document).expect("a tool list");
/// let fitted = fit_tools(&list, dialect("openai").expect("a dialect"), &FitOptions::default());
/// assert_eq!(fitted.to_json()[0]["function"]["name"], "get_time");
/// assert_eq!(fitted.original_name("get_time"), Some("get.time"));
/// ```
pub fn fit_tools(list: &ToolList, dialect: &Dialect, options: &FitOptions) -> FittedTools {
    fit_tools_by(&|schema, options| fit(schema, dialect, options).map(Arc::new), list, dialect, options)
}

/// Fits one schema to the dialect of the list, or remembers how it was done.
pub(crate) type FitSchema<'a> = &'a dyn Fn(&Value, &FitOptions) -> Result<Arc<Fitted>, ReadError>;

pub(crate) fn fit_tools_by(
    fit: FitSchema<'_>,
    list: &ToolList,
    dialect: &Dialect,
    options: &FitOptions,
) -> FittedTools {
    let options = options.clone().with_slot(Slot::Tool);
    let mut tools: Vec<FittedTool> = list.tools.iter().map(|entry| FittedTool::of(fit, entry, &options)).collect();
    apply_strict_limits(fit, list, &mut tools, dialect, &options);
    for ((entry, tool), (name, renamed)) in list.tools.iter().zip(&mut tools).zip(names::choose(list, dialect)) {
        tool.name = name;
        tool.changes.extend(renamed);
        tool.fit_output(fit, entry, dialect, &options);
        tool.apply_description_rules(entry, dialect);
        tool.record_lost_members(entry, dialect.shape());
        tool.record_duplicate_schemas(entry, dialect);
        tool.encode_examples(entry, dialect.shape());
        if entry.strict == Some(true) && !dialect.strict() {
            let detail = format!("`{}` is met without the strict flag, which goes", dialect.id());
            tool.changes.push(note(NO_PLACE_CODE, entry.holder.clone(), "strict", Action::FellBack, detail));
        }
    }
    let shape = dialect.shape();
    let (hosted, changes) = keep_hosted(list, shape);
    let mut fitted = FittedTools { tools, changes, hosted, shape, says_strict: dialect.strict() };
    let count = fitted.tools.len() + fitted.hosted.len();
    for row in rows(dialect, Demand::MaxTools).filter(|row| exceeds(row, count as u64)) {
        let detail =
            format!("{count} tools are more than the provider takes; which ones to send is the caller's choice");
        fitted.changes.push(note(&row.code, String::new(), "tools", Action::FellBack, detail));
    }
    let chars: u64 = fitted.tools.iter().map(|tool| count_schema(&tool.schema).chars).sum();
    for row in rows(dialect, Demand::RequestChars).filter(|row| exceeds(row, chars)) {
        let detail = format!("the schemas have {chars} characters together, which may be more than the provider takes");
        fitted.changes.push(note(&row.code, String::new(), "tools", Action::FellBack, detail));
    }
    fitted
}

impl FittedTool {
    fn of(fit: FitSchema<'_>, entry: &ToolEntry, options: &FitOptions) -> Self {
        let mut tool = Self {
            name: entry.name.clone(),
            original_name: entry.name.clone(),
            description: entry.description.clone(),
            schema: Value::Null,
            output_schema: None,
            strict: false,
            changes: Vec::new(),
            extra: entry.extra.clone(),
            fitted: None,
            text: OnceLock::new(),
        };
        tool.record_raw_form(entry);
        let declined = entry.strict == Some(false) && options.strict == StrictMode::Auto;
        let mode = if declined { StrictMode::Off } else { options.strict };
        tool.fit_schema(fit, entry, &options.clone().with_strict(mode));
        tool
    }

    /// Records that the schema was not written as one.
    fn record_raw_form(&mut self, entry: &ToolEntry) {
        let detail = match entry.extra.raw_schema {
            RawSchema::AsSchema => return,
            RawSchema::AsText => "the schema was JSON text and is read",
            RawSchema::Outside => "the schema stood beside the function and is taken into it",
            RawSchema::AsProperties => "the properties were listed without a schema around them",
            RawSchema::Not => "there was no schema: the tool takes no arguments",
        };
        self.changes.push(note(UNREADABLE, entry.at.clone(), "", Action::Rewritten, detail.to_owned()));
    }

    fn fit_schema(&mut self, fit: FitSchema<'_>, entry: &ToolEntry, options: &FitOptions) {
        match fit(&entry.schema, options) {
            Ok(fitted) => {
                self.schema = fitted.schema.clone();
                self.strict = fitted.strict();
                let changes = prefixed(&fitted.changes, &entry.at);
                self.changes.extend(changes.map(|change| Change { at: entry.as_written(&change.at), ..change }));
                self.fitted = Some(fitted);
            }
            Err(error) => {
                let permissive = shapes::no_arguments();
                let off = options.clone().with_strict(StrictMode::Off);
                self.schema = fit(&permissive, &off).map_or(permissive, |fitted| fitted.schema.clone());
                self.strict = false;
                self.changes.push(Change {
                    kind: None,
                    code: UNREADABLE.into(),
                    at: format!("{}{}", entry.at, error.at()),
                    keyword: "".into(),
                    action: Action::FellBack,
                    effect: Effect::Wider,
                    detail: format!("any object is accepted, because the schema cannot be read: {error}").into(),
                });
            }
        }
    }

    /// Gives up the strict flag because of a rule about the request as a whole.
    fn drop_strict(&mut self, fit: FitSchema<'_>, entry: &ToolEntry, options: &FitOptions, row: &RuleRow) {
        self.changes.clear();
        self.record_raw_form(entry);
        let detail = format!("not strict, because the request as a whole breaks `{}`", demand_name(row.demand));
        self.changes.push(note(&row.code, entry.at.clone(), "strict", Action::FellBack, detail));
        self.fit_schema(fit, entry, &options.clone().with_strict(StrictMode::Off));
    }

    fn budget_use(&self, dialect: &Dialect) -> BudgetUse {
        let made = |row: &RuleRow, one: &Change| one.action == Action::MadeNullable && one.code == *row.code;
        let traded = rows(dialect, Demand::MaxOptionals).any(|row| self.changes.iter().any(|one| made(row, one)));
        if traded { BudgetUse::Traded } else { BudgetUse::Natural }
    }

    fn fit_output(&mut self, fit: FitSchema<'_>, entry: &ToolEntry, dialect: &Dialect, options: &FitOptions) {
        let Some((schema, at)) = shapes::output_of(entry, dialect.shape()) else { return };
        let options = options.clone().with_slot(Slot::Output).with_strict(StrictMode::Off);
        let readers = results_dialect(dialect, dialect);
        let fitted = if std::ptr::eq(readers, dialect) {
            fit(schema, &options)
        } else {
            crate::fit(schema, readers, &options).map(Arc::new)
        };
        match fitted {
            Ok(fitted) => {
                self.output_schema = Some(fitted.schema.clone());
                self.changes.extend(prefixed(&fitted.changes, &at));
            }
            Err(error) => {
                let detail = format!("the schema of the result went, because it cannot be read: {error}");
                self.changes.push(note(UNREADABLE, at, "", Action::Dropped, detail));
            }
        }
    }

    fn apply_description_rules(&mut self, entry: &ToolEntry, dialect: &Dialect) {
        let Some(text) = self.description.take() else { return };
        let word = Kw::Description.name();
        let at = || format!("{}/{word}", entry.holder);
        if let Some(row) = dialect.rule(Demand::DescriptionNotEmpty).filter(|_| text.trim().is_empty()) {
            let detail = "an empty description went".to_owned();
            self.changes.push(note(&row.code, at(), word, Action::Dropped, detail));
            return;
        }
        // Only a provider that refuses long texts is worth cutting one short.
        let refusing = rows(dialect, Demand::MaxDescription).filter(|row| row.severity == Severity::Rejected);
        let tightest = refusing.filter_map(|row| Some((row.limit?, row))).min_by_key(|(limit, _)| *limit);
        let limit = tightest.map(|(limit, row)| (usize::try_from(limit).unwrap_or(usize::MAX), row));
        let length = text.chars().count();
        self.description = match limit.filter(|(limit, _)| length > *limit) {
            Some((limit, row)) => {
                let detail = format!("the description was cut from {length} to {limit} characters");
                self.changes.push(note(&row.code, at(), word, Action::Rewritten, detail));
                Some(text.chars().take(limit.saturating_sub(1)).chain(['…']).collect())
            }
            None => Some(text),
        };
    }

    /// Records schemas that are dropped because another slot has one.
    fn record_duplicate_schemas(&mut self, entry: &ToolEntry, dialect: &Dialect) {
        let code = dialect.rule(Demand::OneSchema).map_or(NO_PLACE_CODE, |row| &row.code);
        for rival in &entry.extra.duplicates {
            let detail = "only one slot may have a schema, and another one has".to_owned();
            self.changes.push(note(code, format!("{}/{rival}", entry.holder), rival, Action::Dropped, detail));
        }
    }

    /// Examples travel as the arguments do: each has to fit the schema, or the provider refuses the tool (`ANT-TOOL-06`).
    fn encode_examples(&mut self, entry: &ToolEntry, shape: ToolShape) {
        let Some(key) = shapes::examples_in(entry, shape) else { return };
        let (Some(fitted), Some(Value::Array(examples))) = (&self.fitted, entry.extra.inside.get(key)) else { return };
        let mut kept = Vec::with_capacity(examples.len());
        for (index, example) in examples.iter().enumerate() {
            let (action, effect, detail) = match fitted.encode(example.clone()) {
                Ok(value) => {
                    let same = value == *example;
                    kept.push(value);
                    if same {
                        continue;
                    }
                    (Action::Carried, Effect::Same, "an example travels as the arguments do".to_owned())
                }
                Err(error) => (Action::Dropped, Effect::Note, format!("an example does not fit the schema: {error}")),
            };
            let at = format!("{}/{key}/{index}", entry.holder);
            self.changes.push(Change { effect, ..note(EXAMPLE, at, key, action, detail) });
        }
        if kept.is_empty() {
            self.extra.inside.shift_remove(key);
        } else {
            self.extra.inside.insert(key.to_owned(), Value::Array(kept));
        }
    }

    fn record_lost_members(&mut self, entry: &ToolEntry, shape: ToolShape) {
        let foreign = entry.extra.shape != Some(shape);
        let extra = entry.extra.inside.keys().chain(entry.extra.outside.keys()).filter(|_| foreign);
        let mut lost: Vec<&str> = extra.map(String::as_str).collect();
        lost.extend(
            entry.output_schema.iter().filter(|_| shapes::output_of(entry, shape).is_none()).map(|_| "output schema"),
        );
        if !lost.is_empty() {
            let detail = format!("the target's tools have no room for: {}", lost.join(", "));
            self.changes.push(note(NO_PLACE_CODE, entry.holder.clone(), "", Action::Dropped, detail));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BudgetUse {
    Natural,
    /// Optional properties were made required and nullable to meet their budget.
    Traded,
}

/// Decides which tools stay strict: those that fit in list order, and none where the provider wants all or none. A caller who
/// requires strict takes no such ladder.
fn apply_strict_limits(
    fit: FitSchema<'_>,
    list: &ToolList,
    tools: &mut [FittedTool],
    dialect: &Dialect,
    options: &FitOptions,
) {
    if options.strict == StrictMode::Require {
        return;
    }
    let demands = [Demand::MaxStrictTools, Demand::RequestOptionals, Demand::RequestUnions];
    let mut spent = [0_u64; 3];
    // A tool that trades one budget for another leaves nothing to the others, so it comes last.
    for own in [BudgetUse::Natural, BudgetUse::Traded] {
        let strict = |tool: &FittedTool| tool.strict && tool.budget_use(dialect) == own;
        for (entry, tool) in list.tools.iter().zip(tools.iter_mut()).filter(|(_, tool)| strict(tool)) {
            let cost = count_schema(&tool.schema);
            let mut after = spent;
            for (sum, cost) in after.iter_mut().zip([1, cost.optionals, cost.unions]) {
                *sum = sum.saturating_add(cost);
            }
            let over = demands
                .iter()
                .zip(after)
                .find_map(|(demand, sum)| rows(dialect, *demand).find(|row| exceeds(row, sum)));
            match over {
                Some(row) => tool.drop_strict(fit, entry, options, row),
                None => spent = after,
            }
        }
    }
    let Some(row) = dialect.rule(Demand::UniformStrict).filter(|_| tools.iter().any(|tool| !tool.strict)) else {
        return;
    };
    for (entry, tool) in list.tools.iter().zip(tools).filter(|(_, tool)| tool.strict) {
        tool.drop_strict(fit, entry, options, row);
    }
}

/// Hosted tools stay with their vendor, and with the endpoint that runs them.
fn keep_hosted(list: &ToolList, shape: ToolShape) -> (Vec<HostedTool>, Vec<Change>) {
    if list.shape().is_none_or(|own| shapes::share_hosted(own, shape)) {
        return (list.hosted.clone(), Vec::new());
    }
    let detail = "the target does not know this tool, which its vendor runs";
    let left_out = |hosted: &HostedTool| note(NO_PLACE_CODE, hosted.at.clone(), "", Action::Dropped, detail.to_owned());
    (Vec::new(), list.hosted.iter().map(left_out).collect())
}

pub(super) fn rows(dialect: &Dialect, demand: Demand) -> impl Iterator<Item = &RuleRow> {
    dialect.rule_rows(Slot::Tool).iter().filter(move |row| row.demand == demand)
}

pub(super) fn exceeds(row: &RuleRow, count: u64) -> bool {
    row.limit.is_some_and(|limit| count > limit)
}

fn prefixed(changes: &[Change], at: &str) -> impl Iterator<Item = Change> {
    changes.iter().map(move |change| Change { at: format!("{at}{}", change.at), ..change.clone() })
}

fn note(code: &str, at: String, keyword: &str, action: Action, detail: String) -> Change {
    Change {
        kind: None,
        code: code.into(),
        at,
        keyword: keyword.to_owned().into(),
        action,
        effect: Effect::Note,
        detail: detail.into(),
    }
}
