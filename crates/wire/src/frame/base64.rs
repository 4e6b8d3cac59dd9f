//! Base64 of the standard alphabet, with padding, for payloads that travel inside of JSON.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Writes padding and reads without it too, as some proxies leave it out.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The text of some bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// The bytes of some text, if it is base64.
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
