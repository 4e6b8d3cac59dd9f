//! Base64 of the standard alphabet, with padding, for payloads that travel inside of JSON.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The six bits of every character, or 64 for what is none.
static VALUES: [u8; 256] = {
    let mut values = [64; 256];
    let mut at = 0;
    while at < 64 {
        #[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "checked by the compiler")]
        {
            values[ALPHABET[at] as usize] = at as u8;
        }
        at += 1;
    }
    values
};

/// The text of some bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let six = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap_or(0);
            let character = if at > group.len() { b'=' } else { ALPHABET.get(six).copied().unwrap_or(b'=') };
            text.push(char::from(character));
        }
    }
    text
}

/// The bytes of some text, if it is base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    let text = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            let value = match group.get(at) {
                Some(&character) => VALUES.get(usize::from(character)).copied()?,
                None => 0,
            };
            if value > 63 {
                return None;
            }
            bits = bits << 6 | u32::from(value);
        }
        let [_, first, second, third] = bits.to_be_bytes();
        match group.len() {
            4 => bytes.extend_from_slice(&[first, second, third]),
            3 => bytes.extend_from_slice(&[first, second]),
            2 => bytes.push(first),
            _ => return None,
        }
    }
    Some(bytes)
}
