//! Finds the line on which a JSON Pointer leads, so that findings stand where an editor can show them.

/// The line, counted from one, of the value to which a pointer leads; of the last place on the way that there is.
pub(crate) fn line_of(text: &str, pointer: &str) -> usize {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    scanner.skip_space();
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let start = scanner.at;
        if scanner.enter(&token).is_none() {
            scanner.at = start;
            break;
        }
    }
    1 + text.bytes().take(scanner.at).filter(|byte| *byte == b'\n').count()
}

/// Steps over JSON text. It trusts the text to be JSON: a wrong text gives a wrong line, nothing worse.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Moves from a container to the start of its member.
    fn enter(&mut self, token: &str) -> Option<()> {
        let is_object = match self.peek()? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        self.at += 1;
        let mut index = 0_usize;
        loop {
            self.skip_space();
            let start = self.at;
            let key = if is_object { self.key()? } else { index.to_string() };
            if key == token {
                // A finding about a member belongs to the line of its key.
                self.at = if is_object && self.peek().is_none_or(|byte| !matches!(byte, b'{' | b'[')) {
                    start
                } else {
                    self.at
                };
                return Some(());
            }
            self.skip_value()?;
            self.skip_space();
            if self.peek()? != b',' {
                return None;
            }
            self.at += 1;
            index += 1;
        }
    }

    /// Reads a key and the colon behind it.
    fn key(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_string()?;
        let raw = self.bytes.get(start..self.at)?;
        self.skip_space();
        if self.peek()? != b':' {
            return None;
        }
        self.at += 1;
        self.skip_space();
        serde_json::from_slice(raw).ok()
    }

    fn skip_string(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            if depth == 0 && self.peek().is_none_or(|byte| matches!(byte, b',' | b'}' | b']')) {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn a_pointer_leads_to_its_line() {
        let text = "{\n  \"a\": [1, {\"x\": \"}\\\"\"},\n    {\"b/c\":\n true}],\n  \"z\": 0\n}\n";
        let lines = ["", "/a", "/a/1/x", "/a/2", "/a/2/b~1c", "/z", "/nowhere", "/a/9", "/z/deeper"]
            .map(|at| line_of(text, at));
        assert_eq!(lines, [1, 2, 2, 3, 3, 5, 1, 2, 5]);
        assert_eq!(line_of("not json", "/a/b"), 1);
    }
}
