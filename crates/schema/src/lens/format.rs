//! What a text tells of its format: whether it has it for sure, for sure not, or in a way that only a validator could tell. A
//! format may also be no more than a remark, so that a text without it is unlikely and not refused.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::guard::Verdict;

/// A format that is known.
struct Format {
    name: &'static str,
    looks: fn(&str) -> Looks,
}

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    Right,
    Wrong,
    Odd,
}

impl Looks {
    fn of(right: bool) -> Self {
        if right { Self::Right } else { Self::Wrong }
    }
}

const FORMATS: [Format; 19] = [
    Format { name: "date", looks: |text| Looks::of(is_date(text)) },
    Format { name: "time", looks: time },
    Format { name: "date-time", looks: date_time },
    Format { name: "uuid", looks: |text| Looks::of(is_uuid(text)) },
    Format { name: "ipv4", looks: |text| Looks::of(text.parse::<Ipv4Addr>().is_ok()) },
    Format { name: "ipv6", looks: |text| Looks::of(text.parse::<Ipv6Addr>().is_ok()) },
    Format { name: "hostname", looks: hostname },
    Format { name: "email", looks: email },
    Format { name: "uri", looks: uri },
    Format { name: "uri-reference", looks: odd },
    Format { name: "uri-template", looks: odd },
    Format { name: "iri", looks: odd },
    Format { name: "iri-reference", looks: odd },
    Format { name: "idn-email", looks: odd },
    Format { name: "idn-hostname", looks: odd },
    Format { name: "duration", looks: odd },
    Format { name: "json-pointer", looks: odd },
    Format { name: "relative-json-pointer", looks: odd },
    Format { name: "regex", looks: odd },
];

/// Whether a text has a format. One that nobody knows asks nothing.
pub(super) fn verdict(format: &str, text: &str) -> Verdict {
    let Some(known) = FORMATS.iter().find(|own| own.name == format) else { return Verdict::Yes };
    match (known.looks)(text) {
        Looks::Right => Verdict::Yes,
        Looks::Wrong => Verdict::Unlikely,
        Looks::Odd => Verdict::Perhaps,
    }
}

/// Whether a format asks something.
pub(super) fn is_known(format: &str) -> bool {
    FORMATS.iter().any(|own| own.name == format)
}

/// Whether a text can be told to have a format, or not to have it; a leap second aside.
pub(super) fn is_decided(format: &str) -> bool {
    ["date", "time", "date-time", "uuid", "ipv4", "ipv6"].contains(&format)
}

fn odd(_: &str) -> Looks {
    Looks::Odd
}

/// A number of just so many digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut next = |count| digits(parts.next()?, count);
    let (Some(year), Some(month), Some(day)) = (next(4), next(2), next(2)) else { return false };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// A time of day with its offset; a leap second is odd.
fn time(text: &str) -> Looks {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => text.split_at(at),
        None => return Looks::Wrong,
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let minutes = |text: &str| {
        let (hours, minutes) = text.split_once(':')?;
        Some((digits(hours, 2).filter(|hours| *hours < 24)?, digits(minutes, 2).filter(|minutes| *minutes < 60)?))
    };
    let Some((hours, seconds)) = clock.rsplit_once(':') else { return Looks::Wrong };
    let (Some(_), Some(seconds)) = (minutes(hours), digits(seconds, 2)) else { return Looks::Wrong };
    let whole = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let known = offset == "Z" || offset.strip_prefix(['+', '-']).is_some_and(|offset| minutes(offset).is_some());
    match seconds {
        0..60 if whole && known => Looks::Right,
        0..=60 if whole && (known || offset == "z") => Looks::Odd,
        _ => Looks::Wrong,
    }
}

fn date_time(text: &str) -> Looks {
    match text.split_once(['T', 't', ' ']) {
        Some((date, clock)) if is_date(date) => match time(clock) {
            Looks::Right if !text.contains('T') => Looks::Odd,
            looks @ (Looks::Right | Looks::Wrong | Looks::Odd) => looks,
        },
        Some(_) | None => Looks::Wrong,
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn hostname(text: &str) -> Looks {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let label = |label: &str| {
        let inside = !label.starts_with('-') && !label.ends_with('-') && !label.contains("--");
        (1..64).contains(&label.len()) && inside && label.bytes().all(letter)
    };
    match text {
        _ if text.len() < 254 && text.split('.').all(label) => Looks::Right,
        _ if text.bytes().all(|byte| letter(byte) || byte == b'.') => Looks::Odd,
        _ => Looks::Wrong,
    }
}

fn email(text: &str) -> Looks {
    let Some((name, host)) = text.split_once('@') else { return Looks::Wrong };
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    let plain = name.len() < 65 && name.split('.').all(word) && host.contains('.');
    if plain && hostname(host) == Looks::Right { Looks::Right } else { Looks::Odd }
}

fn uri(text: &str) -> Looks {
    let Some((scheme, rest)) = text.split_once(':') else { return Looks::Wrong };
    let named = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    if !named {
        return Looks::Wrong;
    }
    let Some(rest) = rest.strip_prefix("//") else { return Looks::Odd };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._~-?=&".contains(&byte));
    if hostname(host) == Looks::Right && plain { Looks::Right } else { Looks::Odd }
}

#[cfg(test)]
mod tests {
    use super::{FORMATS, Verdict, verdict};

    /// A text that is said to have a format has it, and one that is said not to have it has it not.
    #[test]
    fn a_validator_agrees() {
        let texts = [
            "2024-02-29",
            "2023-02-29",
            "2024-13-01",
            "2024-1-01",
            "09:30:00Z",
            "09:30:00.25+01:00",
            "24:00:00Z",
            "09:30:00",
            "23:59:60Z",
            "2024-05-17T09:30:00Z",
            "2024-05-17t09:30:00z",
            "2024-05-17 09:30:00Z",
            "2024-05-17T",
            "123e4567-e89b-42d3-a456-426614174000",
            "123e4567e89b42d3a456426614174000",
            "192.0.2.7",
            "192.0.2.256",
            "192.00.2.7",
            "2001:db8::7",
            "::ffff:192.0.2.1",
            "fe80::1%eth0",
            "example.com",
            "-a.b",
            "a..b",
            "xn--a",
            "a_b",
            "ada@example.com",
            "ada.b+c@example.com",
            ".a@example.com",
            "a@b",
            "a b@c.de",
            "@",
            "https://example.com/a?b=c",
            "http:",
            "https://example.com:80/a",
            "://a",
            "mailto:a@b.de",
            "a b",
            "",
            "a",
            "1.2.3.4",
            "https://",
        ];
        let mut told = 0;
        for format in &FORMATS {
            let schema = serde_json::json!({"type": "string", "format": format.name});
            let judge =
                jsonschema::draft202012::options().should_validate_formats(true).build(&schema).expect("a schema");
            for text in texts {
                let valid = judge.is_valid(&text.into());
                let wrong = match verdict(format.name, text) {
                    Verdict::Yes => !valid,
                    Verdict::Unlikely | Verdict::No => valid,
                    Verdict::Perhaps => false,
                };
                assert!(!wrong, "{text:?} as {}: {valid}", format.name);
                told += usize::from(verdict(format.name, text) != Verdict::Perhaps);
            }
        }
        assert!(told > 300, "only {told} are told");
    }
}
