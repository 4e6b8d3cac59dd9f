//! What each liberty costs. Only the proportions matter: an edit that models make often is cheap, and two rare ones are never
//! cheaper than one.

pub(super) const COMMENT: u32 = 2;
pub(super) const ELLIPSIS: u32 = 2;
pub(super) const EXTRA_COMMA: u32 = 4;
/// A comma in front of everything.
pub(super) const FIRST_COMMA: u32 = 11;
pub(super) const MISSING_COMMA: u32 = 8;
/// The line break between two values separates them.
pub(super) const COMMA_BY_LINE: u32 = 5;
pub(super) const OTHER_COMMA: u32 = 4;
pub(super) const MISSING_COLON: u32 = 10;
pub(super) const OTHER_COLON: u32 = 3;
pub(super) const OTHER_QUOTE: u32 = 1;
pub(super) const REPEATED_QUOTE: u32 = 3;
pub(super) const ESCAPED_QUOTE: u32 = 2;
/// A quote too many beside one that closes.
pub(super) const STRAY_QUOTE: u32 = 7;
/// The quote that closes a block of lines stands alone on its last line.
pub(super) const STRAY_QUOTE_OF_BLOCK: u32 = 16;
/// A quote that stands as quotes in prose do.
pub(super) const INNER_QUOTE: u32 = 4;
pub(super) const INNER_QUOTE_BEFORE_COMMA: u32 = 8;
/// A quote inside a string that could as well be one of the value's own.
pub(super) const STRUCTURAL_INNER_QUOTE: u32 = 8;
/// Quotes in prose come in pairs.
pub(super) const ODD_QUOTES: u32 = 7;
pub(super) const MISSING_QUOTE: u32 = 12;
/// The string ends with a quote, but of another kind.
pub(super) const OTHER_CLOSING_QUOTE: u32 = 4;
/// No quote follows in the whole text: a comma ends the item.
pub(super) const LAST_QUOTE: u32 = 6;
/// A bracket that is open at the end of a string.
pub(super) const OPEN_INSIDE: u32 = 8;
pub(super) const BARE_KEY: u32 = 3;
pub(super) const BARE_WORDS_KEY: u32 = 9;
pub(super) const BARE_WORD: u32 = 5;
pub(super) const BARE_WORDS: u32 = 9;
/// Words that begin as a number or literal does.
pub(super) const BARE_SCALAR_WORDS: u32 = 4;
/// A bracket inside words.
pub(super) const BARE_BRACKET: u32 = 8;
pub(super) const BARE_COMMA: u32 = 7;
/// A comma, line break or quote inside words that no key follows.
pub(super) const BARE_PROSE: u32 = 2;
pub(super) const BARE_LINE: u32 = 6;
pub(super) const OTHER_LITERAL: u32 = 1;
pub(super) const OTHER_NUMBER: u32 = 2;
pub(super) const MISSING_CLOSER: u32 = 12;
pub(super) const MISSING_CLOSER_OF_EMPTY: u32 = 10;
/// The closer behind it closes something further out.
pub(super) const MISSING_CLOSER_BEFORE_CLOSER: u32 = 9;
pub(super) const EXTRA_CLOSER: u32 = 10;
pub(super) const WRONG_CLOSER: u32 = 10;
/// A list in braces.
pub(super) const SET: u32 = 11;
pub(super) const PARENTHESES: u32 = 3;
pub(super) const CALL: u32 = 4;
pub(super) const END_OF_TEXT: u32 = 6;
pub(super) const JUNK: u32 = 11;
pub(super) const LONE_KEY: u32 = 14;
pub(super) const MISSING_VALUE: u32 = 10;
pub(super) const REPEATED_KEY: u32 = 10;
pub(super) const STRANGE_KEY: u32 = 6;
pub(super) const JOINED: u32 = 2;
pub(super) const REOPENED: u32 = 10;
pub(super) const MISSING_OPENER: u32 = 13;
/// What follows the value belongs to it: the more of it, the likelier.
pub(super) const VALUE_GOES_ON: u32 = 18;
pub(super) const BYTES_GOING_ON: usize = 6;
pub(super) const MAX_GOING_ON: u32 = 100;
/// A liberty that was taken before: who writes one key without quotes writes all keys so.
pub(super) const REPEATED: u32 = 4;

pub(super) const KEY_SPELLING: u32 = 1;
/// A key that the schema declares further out, and not here.
pub(super) const FOREIGN_KEY: u32 = 7;
pub(super) const SWALLOWED_KEY: u32 = 5;
/// A place inside a string at which its closing quote may be missing.
pub(super) const PASSED_END: u32 = 4;
pub(super) const REFUSED_KEY: u32 = 16;
pub(super) const WRONG_TYPE: u32 = 12;
pub(super) const CONVERTED: u32 = 3;
/// A value where a list is expected, or the reverse.
pub(super) const ONE_OF_LIST: u32 = 5;
pub(super) const OTHER_CHOICE: u32 = 6;
pub(super) const MISSING_KEY: u32 = 6;

/// A reading that costs more is none.
pub(super) const MAX: usize = 320;
/// Readings that cost at most so much more than the cheapest are alternatives to it.
pub(super) const SLACK: u32 = 10;
