//! Base64 with the standard alphabet and padding, for binary payloads inside JSON.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Writes padding, and decodes without it too because some proxies omit it.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

pub(crate) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    ENGINE.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn bytes_come_back_with_and_without_padding() {
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"\xff\x00\xfe\x01"] {
            let text = encode(bytes);
            assert!(text.len().is_multiple_of(4), "{text}");
            assert_eq!(decode(&text).as_deref(), Some(bytes));
            assert_eq!(decode(text.trim_end_matches('=')).as_deref(), Some(bytes));
        }
        for bad in ["Zg=a", "Z", "Zm9v!", "Zm-_"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
