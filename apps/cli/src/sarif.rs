//! Findings as SARIF 2.1.0, the format that code scanning reads.

use std::collections::BTreeMap;

use polywire::schema::Severity;
use serde_json::{Value, json};

use crate::check::Finding;

pub(crate) fn document(file: &str, findings: &[Finding]) -> Value {
    let mut rules = BTreeMap::new();
    for Finding { violation, .. } in findings {
        rules.entry(violation.code.as_str()).or_insert_with(|| rule(&violation.code, &violation.source));
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "polywire",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_values().collect::<Vec<_>>(),
            }},
            "results": findings.iter().map(|finding| result(file, finding)).collect::<Vec<_>>(),
        }],
    })
}

/// A path as a relative reference.
fn address(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let spelled = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.bytes().map(spelled).collect()
}

fn rule(code: &str, source: &str) -> Value {
    let mut rule = json!({ "id": code, "help": { "text": format!("polywire explain {code}\n{source}") } });
    let is_address = source.starts_with("https://") && !source.contains(char::is_whitespace);
    if let Some(members) = rule.as_object_mut().filter(|_| is_address) {
        members.insert("helpUri".to_owned(), source.into());
    }
    rule
}

fn result(file: &str, finding: &Finding) -> Value {
    let violation = &finding.violation;
    let level = if violation.severity == Severity::Rejected {
        "error"
    } else if violation.severity == Severity::Ignored {
        "warning"
    } else {
        "note"
    };
    let tool = finding.tool.as_ref().map(|name| format!("tool `{name}`: ")).unwrap_or_default();
    json!({
        "ruleId": violation.code,
        "level": level,
        "message": { "text": format!("{}: {tool}{}", finding.dialect, violation.says) },
        "locations": [{
            "physicalLocation": { "artifactLocation": { "uri": address(file) }, "region": { "startLine": finding.line } },
            "logicalLocations": [{ "fullyQualifiedName": violation.at }],
        }],
    })
}
