//! Maps JSON Pointers to line numbers, so that editors can show findings.

use std::borrow::Cow;
use std::collections::HashMap;

/// The line numbers of some pointers.
pub(crate) struct Lines<'p>(HashMap<&'p str, Option<usize>>);

impl<'p> Lines<'p> {
    /// Finds the lines of pointers in one pass over the text.
    pub(crate) fn find(text: &str, pointers: impl Iterator<Item = &'p str>) -> Self {
        let mut lines = HashMap::from([("", None)]);
        for pointer in pointers {
            // What leads to a place that is known already is known too.
            let mut way = Some(pointer);
            while let Some(at) = way.filter(|at| lines.insert(at, None).is_none()) {
                way = at.rsplit_once('/').map(|(parent, _)| parent);
            }
        }
        let mut scanner = Scanner { text, at: 0, counted: 0, line: 1, pointer: String::new(), lines: &mut lines };
        // Where the text ends too early, what was found until then counts.
        _ = scanner.document();
        Self(lines)
    }

    /// The line, counted from one, of a pointer, or of its longest prefix that exists.
    pub(crate) fn of(&self, pointer: &str) -> usize {
        let mut at = pointer;
        loop {
            match (self.0.get(at), at.rsplit_once('/')) {
                (Some(Some(line)), _) => return *line,
                (_, Some((parent, _))) => at = parent,
                (_, None) => return 1,
            }
        }
    }
}

/// A key as it stands in a pointer.
pub(crate) fn token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key that a token of a pointer names.
pub(crate) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// Steps over JSON text. It trusts the text to be JSON: a wrong text gives a wrong line, nothing worse.
struct Scanner<'a, 'p> {
    text: &'a str,
    at: usize,
    /// Lines are counted up to here.
    counted: usize,
    line: usize,
    /// Where the value stands that comes next.
    pointer: String,
    lines: &'a mut HashMap<&'p str, Option<usize>>,
}

/// An object or array that is open.
struct Open {
    /// How many members came before; only arrays count them.
    index: Option<usize>,
    /// The length of its pointer.
    length: usize,
}

impl Scanner<'_, '_> {
    fn document(&mut self) -> Option<()> {
        self.skip_space();
        let mut around = Vec::new();
        self.value(self.at, &mut around)?;
        while let Some(open) = around.last_mut() {
            self.skip_space();
            match self.peek()? {
                b'}' | b']' => {
                    self.at += 1;
                    around.pop();
                }
                b',' => self.at += 1,
                _ => {
                    self.pointer.truncate(open.length);
                    self.pointer.push('/');
                    let key = self.at;
                    match &mut open.index {
                        Some(index) => {
                            self.pointer.push_str(&index.to_string());
                            *index += 1;
                        }
                        None => self.key()?,
                    }
                    self.value(key, &mut around)?;
                }
            }
        }
        Some(())
    }

    /// Enters or steps over a value whose key, if it has one, stands at a place.
    fn value(&mut self, key: usize, around: &mut Vec<Open>) -> Option<()> {
        let first = self.peek()?;
        let wanted = self.lines.contains_key(self.pointer.as_str());
        let opens = matches!(first, b'{' | b'[');
        if wanted {
            // A finding about a member belongs to the line of its key.
            self.note(if opens { self.at } else { key });
        }
        if opens && wanted {
            self.at += 1;
            around.push(Open { index: (first == b'[').then_some(0), length: self.pointer.len() });
            return Some(());
        }
        self.skip_value()
    }

    fn note(&mut self, at: usize) {
        let passed = self.text.get(self.counted..at).unwrap_or_default();
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.counted = self.counted.max(at);
        if let Some(line) = self.lines.get_mut(self.pointer.as_str()) {
            line.get_or_insert(self.line);
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Adds a key to the pointer, and steps over it and the colon behind it.
    fn key(&mut self) -> Option<()> {
        let start = self.at;
        self.skip_string()?;
        let raw = self.text.get(start..self.at)?;
        let plain = raw.trim_matches('"');
        let key = if raw.contains('\\') { Cow::Owned(serde_json::from_str(raw).ok()?) } else { Cow::Borrowed(plain) };
        self.pointer.push_str(&token(&key));
        self.skip_space();
        if self.peek()? != b':' {
            return None;
        }
        self.at += 1;
        self.skip_space();
        Some(())
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
    use super::Lines;

    #[test]
    fn a_pointer_leads_to_its_line() {
        let text = "{\n  \"a\": [1, {\"x\": \"}\\\"\"},\n    {\"b/c\":\n true, \"\\u0064\\\"\": []}],\n  \"z\": 0\n}\n";
        let pointers =
            ["", "/a", "/a/1/x", "/a/2", "/a/2/b~1c", "/a/2/d\"", "/z", "/nowhere", "/a/9", "/z/deeper", "/a/0/x"];
        let lines = Lines::find(text, pointers.into_iter());
        assert_eq!(pointers.map(|at| lines.of(at)), [1, 2, 2, 3, 3, 4, 5, 1, 2, 5, 2]);
        assert_eq!(Lines::find("not json", ["/a/b"].into_iter()).of("/a/b"), 1);
        assert_eq!(Lines::find("{\n\"a\": {\n\"b\": [", ["/a/b/0"].into_iter()).of("/a/b/0"), 3);
    }
}
