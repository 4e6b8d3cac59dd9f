//! Arguments that travel as HTTP headers too: `x-mcp-header` in the schema of a tool (revision 2026-07-28).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::json::get;

const MARK: &str = "x-mcp-header";

/// Names and values of headers.
pub(crate) type ParamHeaders = Vec<(String, String)>;

/// The headers of a call by the schema of its tool.
pub(crate) fn param_headers(schema: &Value, arguments: &Value) -> ParamHeaders {
    let mut headers = ParamHeaders::new();
    collect(schema, arguments, &mut headers);
    headers
}

fn collect(schema: &Value, value: &Value, headers: &mut ParamHeaders) {
    let Some(properties) = get(schema, "/properties").as_object() else { return };
    for (key, own) in properties {
        let Some(value) = value.get(key) else { continue };
        if let Some(name) = get(own, &format!("/{MARK}")).as_str().filter(|name| is_token(name)) {
            headers.extend(header_value(value).map(|value| (format!("Mcp-Param-{name}"), value)));
        }
        collect(own, value, headers);
    }
}

/// Why the headers that a schema asks for cannot be sent; `None` if they can.
pub(crate) fn illegal_header(schema: &Value) -> Option<String> {
    let mut names = Vec::new();
    find_illegal(schema, &mut names)
}

fn find_illegal(schema: &Value, names: &mut Vec<String>) -> Option<String> {
    let properties = get(schema, "/properties").as_object()?;
    properties.iter().find_map(|(key, own)| {
        let Some(mark) = own.get(MARK) else { return find_illegal(own, names) };
        let Some(name) = mark.as_str().filter(|name| is_token(name)) else {
            return Some(format!("`{MARK}` of `{key}` is no name of a header"));
        };
        let is_simple = matches!(get(own, "/type").as_str(), Some("string" | "integer" | "boolean"));
        if !is_simple {
            return Some(format!("`{key}` cannot be a header: it is no text, integer or truth value"));
        }
        let lower = name.to_ascii_lowercase();
        let is_taken = names.contains(&lower);
        names.push(lower);
        is_taken.then(|| format!("two parameters are the header `{name}`"))
    })
}

/// Why the headers of a call do not say what its arguments say; `None` if they do.
pub(crate) fn header_fault(expected: &ParamHeaders, given: &ParamHeaders) -> Option<String> {
    expected.iter().find_map(|(name, value)| {
        let Some((_, own)) = given.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)) else {
            return Some(format!("the header {name} is missing"));
        };
        let (Some(own), wanted) = (decoded(own), decoded(value)) else {
            return Some(format!("the header {name} is no valid base64"));
        };
        (Some(own) != wanted).then(|| format!("the header {name} differs from the argument"))
    })
}

/// A value as a header; `None` for what has no header.
pub(crate) fn header_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(encoded(text)),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Text that no header can hold as it stands is written in base64.
pub(crate) fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t')
        && text.trim() == text
        && !(text.starts_with(PREFIX) && text.ends_with(SUFFIX));
    if is_plain { text.to_owned() } else { format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)) }
}

/// The text of a header; `None` where its base64 is not valid.
pub(crate) fn decoded(header: &str) -> Option<String> {
    let header = header.trim();
    let Some(inner) = header.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Some(header.to_owned());
    };
    String::from_utf8(STANDARD.decode(inner).ok()?).ok()
}

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// A name that may stand in a header.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{decoded, encoded, header_fault, param_headers};

    #[test]
    fn texts_that_no_header_holds_are_base64() {
        let rows = [
            ("plain text", "plain text"),
            (" padded", "=?base64?IHBhZGRlZA==?="),
            ("é", "=?base64?w6k=?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            ("", ""),
        ];
        for (text, header) in rows {
            assert_eq!(encoded(text), header);
            assert_eq!(decoded(header).as_deref(), Some(text));
        }
        assert_eq!(decoded("=?base64?SGVsbG8?="), None);
        assert_eq!(decoded("=?base64?SGVs!!!bG8=?="), None);
        assert_eq!(decoded("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
    }

    #[test]
    fn arguments_that_are_marked_become_headers() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
            "gone": {"x-mcp-header": "Gone"}, "bad": {"x-mcp-header": "a b"}}});
        let headers = param_headers(&schema, &json!({"region": "eu", "deep": {"count": 3}, "gone": null, "bad": "x"}));
        assert_eq!(headers, [("Mcp-Param-Region".into(), "eu".into()), ("Mcp-Param-Count".into(), "3".into())]);
        let given = |value: &str| {
            vec![("mcp-param-region".to_owned(), value.to_owned()), ("mcp-param-count".to_owned(), "3".to_owned())]
        };
        assert_eq!(header_fault(&headers, &given("eu")), None);
        assert_eq!(header_fault(&headers, &given("=?base64?ZXU=?=")), None);
        assert!(header_fault(&headers, &given("us")).is_some());
        assert!(header_fault(&headers, &Vec::new()).is_some());
    }
}
