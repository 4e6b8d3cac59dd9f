//! Decides whether a string has a format: surely, surely not, or undecided without a validator. A format may be an annotation
//! only, so a string without it is unlikely, not refused.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::guard::GuardVerdict;

struct Format {
    name: &'static str,
    looks: fn(&str) -> Plausibility,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plausibility {
    Right,
    Wrong,
    Odd,
}

impl Plausibility {
    fn of(right: bool) -> Self {
        if right { Self::Right } else { Self::Wrong }
    }
}

const FORMATS: [Format; 19] = [
    Format { name: "date", looks: |text| Plausibility::of(is_date(text)) },
    Format { name: "time", looks: time },
    Format { name: "date-time", looks: date_time },
    Format { name: "uuid", looks: |text| Plausibility::of(is_uuid(text)) },
    Format { name: "ipv4", looks: |text| Plausibility::of(text.parse::<Ipv4Addr>().is_ok()) },
    Format { name: "ipv6", looks: |text| Plausibility::of(text.parse::<Ipv6Addr>().is_ok()) },
    Format { name: "hostname", looks: hostname },
    Format { name: "email", looks: email },
    Format { name: "uri", looks: uri },
    Format { name: "uri-reference", looks: unusual },
    Format { name: "uri-template", looks: unusual },
    Format { name: "iri", looks: unusual },
    Format { name: "iri-reference", looks: unusual },
    Format { name: "idn-email", looks: unusual },
    Format { name: "idn-hostname", looks: unusual },
    Format { name: "duration", looks: unusual },
    Format { name: "json-pointer", looks: unusual },
    Format { name: "relative-json-pointer", looks: unusual },
    Format { name: "regex", looks: unusual },
];

/// Unknown formats accept every string.
pub(super) fn verdict(format: &str, text: &str) -> GuardVerdict {
    let Some(known) = FORMATS.iter().find(|own| own.name == format) else { return GuardVerdict::Yes };
    match (known.looks)(text) {
        Plausibility::Right => GuardVerdict::Yes,
        Plausibility::Wrong => GuardVerdict::Unlikely,
        Plausibility::Odd => GuardVerdict::Perhaps,
    }
}

pub(super) fn is_known(format: &str) -> bool {
    FORMATS.iter().any(|own| own.name == format)
}

/// True of formats that are decided for every string but leap seconds.
pub(super) fn is_decided(format: &str) -> bool {
    ["date", "time", "date-time", "uuid", "ipv4", "ipv6"].contains(&format)
}

fn unusual(_: &str) -> Plausibility {
    Plausibility::Odd
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

/// A time of day with its offset; leap seconds are unusual.
fn time(text: &str) -> Plausibility {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => text.split_at(at),
        None => return Plausibility::Wrong,
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let minutes = |text: &str| {
        let (hours, minutes) = text.split_once(':')?;
        Some((digits(hours, 2).filter(|hours| *hours < 24)?, digits(minutes, 2).filter(|minutes| *minutes < 60)?))
    };
    let Some((hours, seconds)) = clock.rsplit_once(':') else { return Plausibility::Wrong };
    let (Some(_), Some(seconds)) = (minutes(hours), digits(seconds, 2)) else { return Plausibility::Wrong };
    let whole = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let known = offset == "Z" || offset.strip_prefix(['+', '-']).is_some_and(|offset| minutes(offset).is_some());
    match seconds {
        0..60 if whole && known => Plausibility::Right,
        0..=60 if whole && (known || offset == "z") => Plausibility::Odd,
        _ => Plausibility::Wrong,
    }
}

fn date_time(text: &str) -> Plausibility {
    match text.split_once(['T', 't', ' ']) {
        Some((date, clock)) if is_date(date) => match time(clock) {
            Plausibility::Right if !text.contains('T') => Plausibility::Odd,
            looks @ (Plausibility::Right | Plausibility::Wrong | Plausibility::Odd) => looks,
        },
        Some(_) | None => Plausibility::Wrong,
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn hostname(text: &str) -> Plausibility {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let label = |label: &str| {
        let inside = !label.starts_with('-') && !label.ends_with('-') && !label.contains("--");
        (1..64).contains(&label.len()) && inside && label.bytes().all(letter)
    };
    match text {
        _ if text.len() < 254 && text.split('.').all(label) => Plausibility::Right,
        _ if text.bytes().all(|byte| letter(byte) || byte == b'.') => Plausibility::Odd,
        _ => Plausibility::Wrong,
    }
}

fn email(text: &str) -> Plausibility {
    let Some((name, host)) = text.split_once('@') else { return Plausibility::Wrong };
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    let plain = name.len() < 65 && name.split('.').all(word) && host.contains('.');
    if plain && hostname(host) == Plausibility::Right { Plausibility::Right } else { Plausibility::Odd }
}

fn uri(text: &str) -> Plausibility {
    let Some((scheme, rest)) = text.split_once(':') else { return Plausibility::Wrong };
    let named = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    if !named {
        return Plausibility::Wrong;
    }
    let Some(rest) = rest.strip_prefix("//") else { return Plausibility::Odd };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._~-?=&".contains(&byte));
    if hostname(host) == Plausibility::Right && plain { Plausibility::Right } else { Plausibility::Odd }
}

#[cfg(test)]
mod tests {
    use super::{FORMATS, GuardVerdict, verdict};

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
                    GuardVerdict::Yes => !valid,
                    GuardVerdict::Unlikely | GuardVerdict::No => valid,
                    GuardVerdict::Perhaps => false,
                };
                assert!(!wrong, "{text:?} as {}: {valid}", format.name);
                told += usize::from(verdict(format.name, text) != GuardVerdict::Perhaps);
            }
        }
        assert!(told > 300, "only {told} are told");
    }
}
