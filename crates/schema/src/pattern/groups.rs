//! Follows the nesting of groups while a pattern is read: what may be repeated, how often it is, and how wide it gets.

use super::token::{Group, PatternFindings, Token};
use super::{Feature, LARGE_PRODUCT};

/// Follows the nesting of groups: what may be repeated, how often, and how wide it is.
pub(super) struct GroupTracker<'p> {
    frames: Vec<OpenGroup<'p>>,
    /// For each capturing group so far, whether it is closed: Python refers to no other.
    closed: Vec<bool>,
    outer_bars: usize,
}

/// An open group; the first one is the pattern itself.
struct OpenGroup<'p> {
    group: Group<'p>,
    number: Option<usize>,
    /// The widths of the branch so far, and of the branches before it.
    branch: Width,
    before: Option<Width>,
    /// How often the most repeated part is repeated.
    times: u64,
    last: Option<Atom>,
}

#[derive(Clone, Copy)]
struct Width {
    least: u64,
    most: u64,
}

/// The last thing read, while a repeat may still follow.
#[derive(Clone, Copy)]
struct Atom {
    width: Width,
    times: u64,
    repeatable: bool,
}

const NO_WIDTH: Width = Width { least: 0, most: 0 };
/// Deeper nesting is not trusted to other engines, whose parsers recurse.
const DEEPEST: usize = 100;

impl<'p> OpenGroup<'p> {
    fn new(group: Group<'p>, number: Option<usize>) -> Self {
        Self { group, number, branch: NO_WIDTH, before: None, times: 1, last: None }
    }

    fn settle(&mut self) {
        if let Some(atom) = self.last.take() {
            self.branch.least = self.branch.least.saturating_add(atom.width.least);
            self.branch.most = self.branch.most.saturating_add(atom.width.most);
            self.times = self.times.max(atom.times);
        }
    }

    fn place(&mut self, atom: Atom) {
        self.settle();
        self.last = Some(atom);
    }

    fn end_branch(&mut self) -> Width {
        self.settle();
        let branch = std::mem::replace(&mut self.branch, NO_WIDTH);
        let all = self.before.map_or(branch, |before| Width {
            least: before.least.min(branch.least),
            most: before.most.max(branch.most),
        });
        self.before = Some(all);
        all
    }
}

impl<'p> GroupTracker<'p> {
    pub(super) fn new() -> Self {
        Self { frames: vec![OpenGroup::new(Group::Plain, None)], closed: Vec::new(), outer_bars: 0 }
    }

    pub(super) fn add(&mut self, token: &Token<'p>, findings: &mut PatternFindings) {
        let depth = self.frames.len();
        let Some(frame) = self.frames.last_mut() else { return };
        match token {
            Token::One(_) | Token::Any | Token::Class { .. } => {
                frame.place(Atom { width: Width { least: 1, most: 1 }, times: 1, repeatable: true });
            }
            Token::Start | Token::End | Token::Boundary(_) => {
                frame.place(Atom { width: NO_WIDTH, times: 1, repeatable: false });
            }
            Token::Backreference(number) => {
                let known = number.checked_sub(1).is_none_or(|index| self.closed.get(index) == Some(&true));
                if !known {
                    findings.not_python();
                }
                frame.place(Atom { width: Width { least: 0, most: u64::MAX }, times: 1, repeatable: true });
            }
            Token::Flags(_) => {}
            Token::Bar => {
                frame.end_branch();
                self.outer_bars += usize::from(depth == 1);
            }
            Token::Open(group) => {
                if depth > DEEPEST {
                    findings.not_python();
                }
                let number = matches!(group, Group::Capture).then(|| {
                    self.closed.push(false);
                    self.closed.len() - 1
                });
                self.frames.push(OpenGroup::new(*group, number));
            }
            Token::Close if depth == 1 => findings.broken(),
            Token::Close => self.close(findings),
            Token::Repeat { min, max } => {
                let Some(atom) = frame.last.as_mut().filter(|atom| atom.repeatable) else {
                    findings.broken();
                    return;
                };
                atom.width.least = atom.width.least.saturating_mul(*min);
                atom.width.most = atom.width.most.saturating_mul(max.unwrap_or(u64::MAX));
                let times = max.unwrap_or(*min).max(1);
                if atom.times > 1 && times > 1 {
                    findings.note(Feature::NestedRepeat);
                }
                atom.times = atom.times.saturating_mul(times);
                atom.repeatable = false;
                if atom.times > LARGE_PRODUCT {
                    findings.note(Feature::LargeRepeat);
                }
            }
        }
    }

    fn close(&mut self, findings: &mut PatternFindings) {
        let Some(mut frame) = self.frames.pop() else { return };
        let mut width = frame.end_branch();
        if let Some(closed) = frame.number.and_then(|number| self.closed.get_mut(number)) {
            *closed = true;
        }
        if matches!(frame.group, Group::Behind) && width.least != width.most {
            findings.not_python();
        }
        if matches!(frame.group, Group::Ahead | Group::Behind) {
            width = NO_WIDTH;
        }
        if let Some(outer) = self.frames.last_mut() {
            outer.place(Atom { width, times: frame.times, repeatable: true });
        }
    }

    /// After the last token: whether the pattern is one branch.
    pub(super) fn finish(self, findings: &mut PatternFindings) -> bool {
        if self.frames.len() > 1 {
            findings.broken();
        }
        self.outer_bars == 0
    }
}
