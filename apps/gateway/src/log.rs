//! The log on standard error: one JSON object per line, without content and keys.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::report::Report;

/// Logs a finished request.
pub(crate) fn request(report: &Report) {
    let (changes, wider, narrower) = report.counts();
    let last = report.attempts.last();
    write(&json!({
        "time": report.received_at, "event": "request", "id": report.id, "key": report.key, "protocol": report.protocol,
        "model": report.model, "provider": last.map(|attempt| &attempt.provider), "served": last.map(|attempt| &attempt.model),
        "status": report.status, "outcome": report.outcome, "stream": report.stream, "attempts": report.attempts.len(),
        "input_tokens": report.usage.map(|usage| usage.input), "output_tokens": report.usage.map(|usage| usage.output),
        "cost_usd": report.cost_usd, "changes": changes, "wider": wider, "narrower": narrower,
        "total_ms": report.timings.total_ms, "overhead_ms": report.timings.overhead_ms, "error": report.error,
    }));
}

/// Logs an event of the gateway itself.
pub(crate) fn event(name: &str, detail: &str) {
    write(&json!({"time": crate::clock::unix_ms(), "event": name, "detail": detail}));
}

fn write(line: &Value) {
    // There is nowhere left to say that this failed.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
