//! Schemas that are costly on purpose: each family is fitted by the laws, and what does not fit into the budget is on record.
//! Their cost itself is bounded by the fuzz target `cost`.

use polywire_schema::{Action, Effect, FitOptions, Slot, check_tools, dialect, fit_text, fit_tools, read_tools};
use serde_json::{Value, json};

use crate::families::{FAMILIES, largest};
use crate::judge::{assert_no_faults, fit_by_the_laws};

#[test]
fn every_costly_family_fits_by_the_laws() {
    let mut faults = Vec::new();
    for family in FAMILIES {
        let text = largest(family, 6_000).1.to_string();
        for id in ["anthropic-strict", "cca", "gemini", "gemini-openapi", "openai", "openai-strict", "portable"] {
            let held = fit_by_the_laws(&text, dialect(id).expect("a dialect"), &FitOptions::default());
            let fault = held.err().map(|fault| fault.to_string().chars().take(300).collect::<String>());
            faults.extend(fault.map(|fault| format!("{}, {id}: {fault}", family.name)));
        }
    }
    assert_no_faults(&faults);
}

#[test]
fn what_the_budget_does_not_cover_is_on_record() {
    let family = FAMILIES.iter().find(|family| family.name == "self-in-one-of").expect("a family");
    let text = largest(family, 50_000).1.to_string();
    let fitted = fit_text(&text, dialect("openai-strict").expect("a dialect"), &FitOptions::default()).expect("a fit");
    let wider = |action| fitted.changes.iter().any(|own| own.effect == Effect::Wider && own.action == action);
    assert!(wider(Action::Carried) || wider(Action::Dropped), "{:?}", fitted.changes);
    assert!(fitted.schema.len() < text.len(), "{}", fitted.schema.len());
}

/// Each of many tools of one name gets a number, and each finding its tool.
#[test]
fn tools_of_one_name_are_numbered_and_found() {
    let tool = json!({"name": "a", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}});
    let document: Value = json!({"tools": vec![tool; 3_000]});
    let (list, openai) = (read_tools(&document).expect("a list"), dialect("openai").expect("a dialect"));
    let fitted = fit_tools(&list, openai, &FitOptions::default().with_slot(Slot::Tool));
    assert_eq!(fitted.tools.last().map(|tool| tool.name.as_str()), Some("a_3000"));
    let places = list.by_place();
    let found = check_tools(&list, openai);
    assert!(found.iter().filter(|one| !one.at.is_empty()).all(|one| places.at(&one.at).is_some()), "{found:?}");
}
