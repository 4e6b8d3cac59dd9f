//! The lengths of the strings that a pattern matches, where it bounds them.

use std::iter::Peekable;
use std::str::Chars;

/// The least and the greatest length of a text.
pub(super) type Lengths = (u64, Option<u64>);

/// Groups within groups beyond this depth are not looked at.
const MAX_DEPTH: usize = 32;

/// How long a text is that matches a pattern from its first letter to its last.
pub(super) fn matched_lengths(pattern: &str) -> Option<Lengths> {
    let inside = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut reader = Reader { left: inside.chars().peekable() };
    // A bar outside of every group would part the anchors.
    let (whole, bars) = reader.alternatives(MAX_DEPTH)?;
    (bars == 0 && reader.left.peek().is_none()).then_some(whole)
}

struct Reader<'p> {
    left: Peekable<Chars<'p>>,
}

impl Reader<'_> {
    /// The lengths of what stands between bars, and how many bars there are.
    fn alternatives(&mut self, depth: usize) -> Option<(Lengths, usize)> {
        let depth = depth.checked_sub(1)?;
        let (mut least, mut most) = self.sequence(depth)?;
        let mut bars = 0;
        while self.left.next_if_eq(&'|').is_some() {
            bars += 1;
            let (own_least, own_most) = self.sequence(depth)?;
            least = least.min(own_least);
            most = most.zip(own_most).map(|(most, own)| most.max(own));
        }
        Some(((least, most), bars))
    }

    fn sequence(&mut self, depth: usize) -> Option<Lengths> {
        let (mut least, mut most) = (0_u64, Some(0_u64));
        while self.left.peek().is_some_and(|next| !['|', ')'].contains(next)) {
            let one = self.atom(depth)?;
            let times = self.times()?;
            least = least.checked_add(one.0.checked_mul(times.0)?)?;
            let own = match (one.1, times.1) {
                (Some(0), _) | (_, Some(0)) => Some(0),
                (Some(one), Some(times)) => Some(one.checked_mul(times)?),
                (None, _) | (_, None) => None,
            };
            most = most.zip(own).and_then(|(most, own)| most.checked_add(own));
        }
        Some((least, most))
    }

    fn atom(&mut self, depth: usize) -> Option<Lengths> {
        let letter = Some((1, Some(1)));
        match self.left.next()? {
            '(' => {
                if self.left.next_if_eq(&'?').is_some() && self.left.next() != Some(':') {
                    return None;
                }
                let (inside, _) = self.alternatives(depth)?;
                self.left.next_if_eq(&')').map(|_| inside)
            }
            '[' => {
                self.left.next_if_eq(&'^');
                self.left.peek().filter(|first| **first != ']')?;
                loop {
                    match self.left.next()? {
                        ']' => return letter,
                        '[' => return None,
                        '\\' => _ = self.left.next()?,
                        _ => {}
                    }
                }
            }
            '\\' => match self.left.next()? {
                'd' | 'D' | 'w' | 'W' | 's' | 'S' | 't' | 'n' | 'r' | 'f' | 'v' => letter,
                other if other.is_ascii_punctuation() => letter,
                _ => None,
            },
            '^' | '$' | '*' | '+' | '?' | '{' | '}' | ']' => None,
            _ => letter,
        }
    }

    fn times(&mut self) -> Option<Lengths> {
        let times = match self.left.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.counted(),
            _ => return Some((1, Some(1))),
        };
        self.left.next();
        // As few as possible, or as many: the same texts match.
        self.left.next_if_eq(&'?');
        Some(times)
    }

    fn counted(&mut self) -> Option<Lengths> {
        self.left.next();
        let mut bounds = String::new();
        loop {
            match self.left.next()? {
                '}' => break,
                part => bounds.push(part),
            }
        }
        self.left.next_if_eq(&'?');
        match bounds.split_once(',') {
            None => bounds.parse().ok().map(|only| (only, Some(only))),
            Some((least, "")) => least.parse().ok().map(|least| (least, None)),
            Some((least, most)) => Some((least.parse().ok()?, Some(most.parse().ok()?))),
        }
    }
}
