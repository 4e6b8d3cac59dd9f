//! A JSON text edited in place: what has to change is changed, every other byte stays the caller's.
//!
//! Three texts go in: the original, a baseline (the original as our encoder writes it when nothing changes) and what is wanted.
//! Where the baseline and the wanted text agree, the original stays as it is, however it was spelled.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Differences that lie deeper are not looked for: the whole value is replaced.
const MAX_DEPTH: usize = 96;

/// The original with the differences between the baseline and the wanted text applied.
pub(super) fn splice<'a>(original: &'a str, baseline: &str, wanted: &str) -> Cow<'a, str> {
    if baseline == wanted {
        return Cow::Borrowed(original);
    }
    let mut out = String::with_capacity(original.len().max(wanted.len()));
    write(original.trim(), baseline, wanted, MAX_DEPTH, &mut out);
    Cow::Owned(out)
}

fn write(original: &str, baseline: &str, wanted: &str, depth: usize, out: &mut String) {
    if baseline == wanted {
        out.push_str(original);
        return;
    }
    let written = match (depth.checked_sub(1), wanted.as_bytes().first()) {
        (Some(depth), Some(b'{')) => write_object(original, baseline, wanted, depth, out),
        (Some(depth), Some(b'[')) => write_array(original, baseline, wanted, depth, out),
        _ => None,
    };
    if written.is_none() {
        out.push_str(wanted);
    }
}

/// Writes an object; nothing is written if one of the three is none.
fn write_object(original: &str, baseline: &str, wanted: &str, depth: usize, out: &mut String) -> Option<()> {
    let (own, base, new) = (members(original)?, members(baseline)?, members(wanted)?);
    let (by_key, base_by_key, new_by_key) = (own.by_key(), base.by_key(), new.by_key());
    let base_of = |key: &str| base_by_key.get(key).copied();
    let new_of = |key: &str| new_by_key.get(key).copied();
    let value = |key: &str, wanted: &str, out: &mut String| match (by_key.get(key), base_of(key)) {
        (Some(own), Some(base)) => write(own, base, wanted, depth, out),
        (Some(_) | None, _) => out.push_str(wanted),
    };
    let is_foreign = |(key, value): &(String, &RawValue)| base_of(key).is_none() && !says_nothing(value.get());
    if by_key.len() < own.0.len() || own.0.iter().any(is_foreign) {
        // The caller spells something in another way than we do, so that its members cannot be matched one by one.
        out.push('{');
        for (index, (key, wanted)) in new.0.iter().enumerate() {
            separate(index, key, out);
            value(key, wanted.get(), out);
        }
        out.push('}');
        return Some(());
    }
    let start = original.as_ptr() as usize;
    let (mut copied, mut kept) = (1, 0);
    out.push('{');
    for (key, raw) in &own.0 {
        let from = (raw.get().as_ptr() as usize).checked_sub(start)?;
        let to = from + raw.get().len();
        let wanted = new_of(key).or_else(|| base_of(key).is_none().then(|| raw.get()));
        if let Some(wanted) = wanted {
            let before = original.get(copied..from)?;
            // Behind a member that went, its comma went with it.
            let is_first = kept == 0 && copied > 1;
            out.push_str(if is_first { before.trim_start_matches([',', ' ', '\n', '\r', '\t']) } else { before });
            value(key, wanted, out);
            kept += 1;
        }
        copied = to;
    }
    for (key, wanted) in new.0.iter().filter(|(key, _)| !by_key.contains_key(key.as_str())) {
        // What the baseline adds and the caller left out is left out here too.
        if base_of(key) != Some(wanted.get()) {
            separate(kept, key, out);
            out.push_str(wanted.get());
            kept += 1;
        }
    }
    out.push_str(original.get(copied..)?.trim_start_matches(|c| kept == 0 && c == ','));
    Some(())
}

/// Writes an array: entries at the beginning and at the end that did not change stay, those in the middle are matched if they are as
/// many.
fn write_array(original: &str, baseline: &str, wanted: &str, depth: usize, out: &mut String) -> Option<()> {
    let (own, base, new) = (entries(original)?, entries(baseline)?, entries(wanted)?);
    if own.len() != base.len() {
        return None;
    }
    if own.len() == new.len() {
        let start = original.as_ptr() as usize;
        let mut copied = 0;
        for ((raw, base), wanted) in own.iter().zip(&base).zip(&new) {
            let from = (raw.get().as_ptr() as usize).checked_sub(start)?;
            out.push_str(original.get(copied..from)?);
            write(raw.get(), base.get(), wanted.get(), depth, out);
            copied = from + raw.get().len();
        }
        out.push_str(original.get(copied..)?);
        return Some(());
    }
    let same = |(base, new): &(&&RawValue, &&RawValue)| base.get() == new.get();
    let before = base.iter().zip(&new).take_while(same).count();
    let rest = base.len().min(new.len()) - before;
    let after = base.iter().rev().zip(new.iter().rev()).take(rest).take_while(same).count();
    let middle = new.get(before..new.len() - after)?;
    let kept = (own.get(..before)?, own.get(own.len() - after..)?);
    out.push('[');
    for (index, entry) in kept.0.iter().chain(middle).chain(kept.1).enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(entry.get());
    }
    out.push(']');
    Some(())
}

fn separate(index: usize, key: &str, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
    out.push_str(&serde_json::Value::from(key).to_string());
    out.push(':');
}

/// Whether a value is what a member that is left out means.
fn says_nothing(value: &str) -> bool {
    matches!(value, "null" | "false" | "[]" | "{}" | "\"\"")
}

/// The members of an object in their order, keys twice if they are there twice.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl Members<'_> {
    /// The values by their keys: an object of a hostile body may have very many.
    fn by_key(&self) -> BTreeMap<&str, &str> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.get())).collect()
    }
}

fn members(text: &str) -> Option<Members<'_>> {
    serde_json::from_str(text).ok()
}

fn entries(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text).ok()
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or_default());
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::splice;

    #[track_caller]
    fn check(original: &str, baseline: &str, wanted: &str, expected: &str) {
        assert_eq!(splice(original, baseline, wanted), expected);
    }

    #[test]
    fn nothing_to_change_leaves_every_byte() {
        let odd = " {\"a\" : 1.0 ,\n \"b\":\"\\u00e9\" } ";
        check(odd, r#"{"a":1.0,"b":"é"}"#, r#"{"a":1.0,"b":"é"}"#, odd);
    }

    #[test]
    fn only_the_changed_member_changes() {
        let original = "{ \"model\": \"route\",\n  \"n\": 1.0, \"list\": [ {\"x\": 1e0}, {\"y\":2} ] }";
        let baseline = r#"{"model":"route","n":1.0,"list":[{"x":1.0},{"y":2}]}"#;
        let wanted = r#"{"model":"m","n":1.0,"list":[{"x":1.0},{"y":3,"z":4}]}"#;
        let expected = "{ \"model\": \"m\",\n  \"n\": 1.0, \"list\": [ {\"x\": 1e0}, {\"y\":3,\"z\":4} ] }";
        check(original, baseline, wanted, expected);
    }

    #[test]
    fn members_go_with_their_commas() {
        let base = r#"{"a":1,"b":2,"c":3}"#;
        check(r#"{"a": 1, "b": 2, "c": 3}"#, base, r#"{"b":2,"c":3}"#, r#"{"b": 2, "c": 3}"#);
        check(r#"{"a": 1, "b": 2, "c": 3}"#, base, r#"{"a":1,"c":3}"#, r#"{"a": 1, "c": 3}"#);
        check(r#"{"a": 1, "b": 2, "c": 3}"#, base, r#"{"a":1,"b":2}"#, r#"{"a": 1, "b": 2}"#);
        check(r#"{"a": 1}"#, r#"{"a":1}"#, "{}", "{}");
        check("{ }", "{}", r#"{"a":1}"#, "{\"a\":1 }");
    }

    #[test]
    fn what_the_caller_left_out_and_the_baseline_adds_stays_out() {
        check(r#"{"a":1}"#, r#"{"a":1,"max":9}"#, r#"{"a":2,"max":9}"#, r#"{"a":2}"#);
        check(r#"{"a":1}"#, r#"{"a":1,"max":9}"#, r#"{"a":1,"max":8}"#, r#"{"a":1,"max":8}"#);
        check(r#"{"a":1,"tools":[]}"#, r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":2,"tools":[]}"#);
        check(r#"{"a":1,"tools":null}"#, r#"{"a":1}"#, r#"{"a":1,"tools":[1]}"#, r#"{"a":1,"tools":[1]}"#);
    }

    #[test]
    fn another_spelling_is_replaced_and_what_lies_within_stays() {
        let original = r#"{"max_tokens": 9, "messages": [ {"x": 1.0} ]}"#;
        let baseline = r#"{"messages":[{"x":1.0}],"max_completion_tokens":9}"#;
        let wanted = r#"{"messages":[{"x":1.0}],"max_completion_tokens":8}"#;
        check(original, baseline, wanted, r#"{"messages":[ {"x": 1.0} ],"max_completion_tokens":8}"#);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, r#"{"a":3}"#, r#"{"a":3}"#);
    }

    #[test]
    fn entries_at_both_ends_stay() {
        check("[ 1.0, 2 , 3.0]", "[1.0,2,3.0]", "[1.0,3.0]", "[1.0,3.0]");
        check("[1e0, 3e0]", "[1.0,3.0]", "[1.0,2.0,3.0]", "[1e0,2.0,3e0]");
        check("[1e0]", "[1.0]", "[]", "[]");
        check("\"text\"", "[1]", "[2]", "[2]");
    }
}
