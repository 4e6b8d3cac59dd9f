//! Headers of an answer that callers need: ids of requests, rate limits, times to wait. Others belong to one hop, or say something
//! about a body that is written anew.

/// Headers that are carried, or their beginnings where they end in `-`. Names in lower case.
const CARRIED: [&str; 14] = [
    "anthropic-organization-id",
    "anthropic-ratelimit-",
    "apim-request-id",
    "openai-model",
    "openai-organization",
    "openai-processing-ms",
    "openai-version",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-amzn-requestid",
    "x-ratelimit-",
    "x-request-id",
    "x-should-retry",
];

/// The headers of an answer that the caller gets too, names in lower case.
pub fn carried_headers<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    let lower = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    lower.filter(|(name, _)| is_carried(name)).collect()
}

fn is_carried(name: &str) -> bool {
    CARRIED.iter().any(|known| if known.ends_with('-') { name.starts_with(known) } else { name == *known })
}

#[cfg(test)]
mod tests {
    use super::carried_headers;

    #[test]
    fn ids_and_limits_are_carried_and_nothing_of_the_hop() {
        let headers = [
            ("X-Request-Id", "r1"),
            ("anthropic-ratelimit-tokens-remaining", "7"),
            ("Retry-After", "3"),
            ("content-length", "99"),
            ("set-cookie", "secret"),
            ("content-encoding", "gzip"),
        ];
        let expected = [("x-request-id", "r1"), ("anthropic-ratelimit-tokens-remaining", "7"), ("retry-after", "3")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(carried_headers(headers), expected);
    }
}
