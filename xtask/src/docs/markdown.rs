//! What the checks read of Markdown: fenced blocks, headings, links.

/// A fenced block of code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'p> {
    /// The first word behind the fence.
    pub(super) language: &'p str,
    /// What follows it, for instance `no-run` or `title="tools.json"`.
    pub(super) attributes: &'p str,
    pub(super) text: &'p str,
    /// The line of the opening fence, from 1.
    pub(super) line: usize,
    /// Where the text starts in the page.
    pub(super) start: usize,
}

impl<'p> Block<'p> {
    /// The value of `title="…"`.
    pub(super) fn title(&self) -> Option<&'p str> {
        self.attributes.split_once("title=\"")?.1.split('"').next()
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.attributes.split_whitespace().any(|own| own == word)
    }
}

/// The fenced blocks of a page, in order.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Block<'_>> = None;
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        match (line.trim_end().strip_prefix("```"), &mut open) {
            (Some(""), Some(block)) => {
                block.text = text.get(block.start..at).unwrap_or_default();
                found.extend(open.take());
            }
            (Some(info), None) => {
                let (language, attributes) = info.split_once(' ').unwrap_or((info, ""));
                open = Some(Block { language, attributes, text: "", line: index + 1, start: end });
            }
            _ => {}
        }
        at = end;
    }
    found
}

/// The page without its fenced blocks, line by line.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.starts_with("```") {
            is_code = !is_code;
            return None;
        }
        (!is_code).then_some((index + 1, line))
    })
}

/// The anchors of the headings of a page, as GitHub and the site make them.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let headings =
        prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| line.trim_start_matches('#').trim());
    headings.map(anchor).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// The targets of the links and pictures in a line.
pub(super) fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

#[cfg(test)]
mod tests {
    use super::{anchors, blocks, links};

    #[test]
    fn blocks_have_language_title_and_line() {
        let text = "# A\n```json title=\"a.json\"\n{}\n```\ntext\n```console no-run\n$ b\n```\n";
        let found = blocks(text);
        let [first, second] = found.as_slice() else { panic!("two blocks") };
        assert_eq!((first.language, first.title(), first.text, first.line), ("json", Some("a.json"), "{}\n", 2));
        assert_eq!((second.language, second.has("no-run"), second.text), ("console", true, "$ b\n"));
    }

    #[test]
    fn headings_become_anchors() {
        assert_eq!(anchors("## What `fit` does, and why\n```\n# no\n```\n"), ["what-fit-does-and-why"]);
    }

    #[test]
    fn links_and_pictures_are_found() {
        let line = "[a](b.md#c) and ![d](e.svg \"f\") but (not this)";
        assert_eq!(links(line).collect::<Vec<_>>(), ["b.md#c", "e.svg"]);
    }
}
