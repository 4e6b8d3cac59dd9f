//! Owns the JSON tree that the engine reads and writes: strings are borrowed from the input where they can be, and the
//! order of keys is kept. It knows nothing of schemas.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;

use foldhash::fast::FixedState;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::arena::Arena;

/// A JSON value whose parts lie in the text it was read from or in an arena, so that a copy costs nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Num(Num),
    Str(&'a str),
    Arr(&'a [Json<'a>]),
    Obj(&'a [Member<'a>]),
}

/// One member of an object.
pub(crate) type Member<'a> = (&'a str, Json<'a>);

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Num {
    Whole(u64),
    Negative(i64),
    Float(f64),
}

impl Num {
    pub(crate) fn as_u64(self) -> Option<u64> {
        if let Self::Whole(value) = self { Some(value) } else { None }
    }

    pub(crate) fn as_i64(self) -> Option<i64> {
        match self {
            Self::Whole(value) => i64::try_from(value).ok(),
            Self::Negative(value) => Some(value),
            Self::Float(_) => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers are compared as JSON readers do, by their floats")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Negative(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The same for `serde_json`.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Whole(value) => value.into(),
            Self::Negative(value) => value.into(),
            Self::Float(value) => value.into(),
        }
    }
}

impl From<u64> for Num {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<usize> for Num {
    fn from(value: usize) -> Self {
        Self::Whole(u64::try_from(value).unwrap_or(u64::MAX))
    }
}

impl From<i64> for Num {
    fn from(value: i64) -> Self {
        u64::try_from(value).map_or(Self::Negative(value), Self::Whole)
    }
}

impl fmt::Display for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Negative(value) => value.fmt(f),
            Self::Float(value) => Value::from(*value).fmt(f),
        }
    }
}

/// Why a document could not be read.
#[derive(Debug)]
pub(crate) struct JsonError {
    error: serde_json::Error,
    /// The bound that it is beyond, where that is why.
    pub(crate) exceeded: Option<ExceededBound>,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

/// Which of the bounds a document is beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExceededBound {
    Depth,
    Values,
}

/// Bounds on the size of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) depth: usize,
    pub(crate) values: usize,
}

impl<'a> Json<'a> {
    /// Reads JSON text.
    pub(crate) fn from_text(text: &'a str, bounds: Bounds, arena: &'a Arena) -> Result<Self, JsonError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.disable_recursion_limit();
        let mut state = ParseState::new(bounds, arena);
        let json = JsonSeed { depth: bounds.depth, state: &mut state }.deserialize(&mut deserializer);
        json.and_then(|json| deserializer.end().map(|()| json))
            .map_err(|error| JsonError { error, exceeded: state.exceeded })
    }

    /// An object without members.
    pub(crate) const EMPTY: Self = Self::Obj(&[]);

    /// Borrows a value that is already parsed.
    pub(crate) fn from_value(value: &'a Value, bounds: Bounds, arena: &'a Arena) -> Result<Self, JsonError> {
        let mut state = ParseState::new(bounds, arena);
        let json = JsonSeed { depth: bounds.depth, state: &mut state }.deserialize(value);
        json.map_err(|error| JsonError { error, exceeded: state.exceeded })
    }

    pub(crate) fn as_str(&self) -> Option<&'a str> {
        if let Self::Str(text) = *self { Some(text) } else { None }
    }

    pub(crate) fn as_arr(&self) -> Option<&'a [Json<'a>]> {
        if let Self::Arr(items) = *self { Some(items) } else { None }
    }

    pub(crate) fn as_obj(&self) -> Option<&'a [Member<'a>]> {
        if let Self::Obj(members) = *self { Some(members) } else { None }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        if let Self::Num(number) = self { Some(number.as_f64()) } else { None }
    }

    /// The value as a count: a non-negative integer, also when it is written `3.0`.
    pub(crate) fn as_count(&self) -> Option<u64> {
        let Self::Num(number) = self else { return None };
        number.as_u64().or_else(|| {
            let float = number.as_f64();
            let whole = float >= 0.0 && float.fract() == 0.0 && float < 9_007_199_254_740_992.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be a whole number in range"
            )]
            whole.then_some(float as u64)
        })
    }

    /// The member of that name, where this is an object.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Json<'a>> {
        self.as_obj()?.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Calls a function for every string under a key, at any depth.
    pub(crate) fn each_text(&self, key: &str, visit: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Obj(members) => {
                for (own, value) in *members {
                    match value.as_str().filter(|_| *own == key) {
                        Some(text) => visit(text),
                        None => value.each_text(key, visit),
                    }
                }
            }
            Self::Arr(items) => items.iter().for_each(|item| item.each_text(key, visit)),
            Self::Null | Self::Bool(_) | Self::Num(_) | Self::Str(_) => {}
        }
    }

    pub(crate) fn has_key_starting(&self, start: &str) -> bool {
        match self {
            Self::Obj(members) => {
                members.iter().any(|(key, value)| key.starts_with(start) || value.has_key_starting(start))
            }
            Self::Arr(items) => items.iter().any(|item| item.has_key_starting(start)),
            Self::Null | Self::Bool(_) | Self::Num(_) | Self::Str(_) => false,
        }
    }

    /// Equality of JSON Schema: `1` and `1.0` are one number, key order does not count.
    pub(crate) fn same(&self, other: &Json<'_>) -> bool {
        match (self, other) {
            (Self::Num(a), Json::Num(b)) => a == b || a.as_f64().partial_cmp(&b.as_f64()) == Some(Ordering::Equal),
            (Self::Arr(a), Json::Arr(b)) => a.len() == b.len() && a.iter().zip(*b).all(|(a, b)| a.same(b)),
            (Self::Obj(a), Json::Obj(b)) => a.len() == b.len() && same_members(a, b),
            (Self::Null, Json::Null) => true,
            (Self::Bool(a), Json::Bool(b)) => a == b,
            (Self::Str(a), Json::Str(b)) => a == b,
            (Self::Null | Self::Bool(_) | Self::Num(_) | Self::Str(_) | Self::Arr(_) | Self::Obj(_), _) => false,
        }
    }

    /// A number that values have in common if they are [`same`](Self::same).
    fn structural_hash(&self) -> u64 {
        let one = |value: &dyn Fn(&mut foldhash::fast::FoldHasher<'static>)| {
            let mut hasher = FixedState::default().build_hasher();
            value(&mut hasher);
            hasher.finish()
        };
        match self {
            Self::Null => 0,
            Self::Bool(value) => 1 + u64::from(*value),
            // Zero has one likeness, whatever its sign.
            Self::Num(number) => one(&|hasher| (number.as_f64() + 0.0).to_bits().hash(hasher)),
            Self::Str(text) => one(&|hasher| text.hash(hasher)),
            Self::Arr(items) => one(&|hasher| items.iter().for_each(|item| item.structural_hash().hash(hasher))),
            Self::Obj(members) => members
                .iter()
                .map(|(key, value)| one(&|hasher| (key, value.structural_hash()).hash(hasher)))
                .fold(3, u64::wrapping_add),
        }
    }

    /// Shallow equality: lists and objects are compared by address.
    pub(crate) fn is_identical(&self, other: &Json<'_>) -> bool {
        match (self, other) {
            (Self::Arr(a), Json::Arr(b)) => a.as_ptr() == b.as_ptr() && a.len() == b.len(),
            (Self::Obj(a), Json::Obj(b)) => a.as_ptr() == b.as_ptr() && a.len() == b.len(),
            _ => self == other,
        }
    }

    /// An owned `serde_json` value.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Num(number) => number.to_value(),
            Self::Str(text) => Value::String(text.to_owned()),
            Self::Arr(items) => Value::Array(items.iter().map(|item| item.to_value()).collect()),
            Self::Obj(members) => {
                let mut map = Map::with_capacity(members.len());
                for (key, value) in members {
                    map.insert((*key).to_owned(), value.to_value());
                }
                Value::Object(map)
            }
        }
    }

    /// Compact JSON text.
    pub(crate) fn write(&self, out: &mut String) {
        self.write_again("", out);
    }

    /// Compact JSON text of a value that was read from a text, or made of its parts.
    pub(crate) fn write_again(&self, text: &str, out: &mut String) {
        Printer { plain: text.as_bytes().as_ptr_range(), out }.value(self);
    }
}

/// Values of which no two are the same. Few are compared pair by pair, more are looked up.
#[derive(Default)]
pub(crate) struct DistinctValues<'a> {
    values: Vec<Json<'a>>,
    places: foldhash::HashMap<u64, Vec<usize>>,
}

impl<'a> DistinctValues<'a> {
    /// Returns true for a new value.
    pub(crate) fn add(&mut self, value: Json<'a>) -> bool {
        if self.values.len() < FEW {
            if self.values.iter().any(|own| own.same(&value)) {
                return false;
            }
        } else {
            if self.places.is_empty() {
                for (place, own) in self.values.iter().enumerate() {
                    self.places.entry(own.structural_hash()).or_default().push(place);
                }
            }
            let same_hash = self.places.entry(value.structural_hash()).or_default();
            if same_hash.iter().any(|place| self.values.get(*place).is_some_and(|own| own.same(&value))) {
                return false;
            }
            same_hash.push(self.values.len());
        }
        self.values.push(value);
        true
    }

    pub(crate) fn into_values(self) -> Vec<Json<'a>> {
        self.values
    }
}

/// Whether two objects of as many members have the same ones, in any order. No two values are compared twice: what they hold
/// would be compared four times, and so on.
fn same_members(a: &[Member<'_>], b: &[Member<'_>]) -> bool {
    if a.iter().zip(b).all(|((key, _), (other, _))| key == other) {
        return a.iter().zip(b).all(|((_, value), (_, new))| value.same(new));
    }
    if a.len() <= FEW {
        let found = |key: &str| b.iter().find(|(other, _)| *other == key);
        return a.iter().all(|(key, value)| found(key).is_some_and(|(_, new)| value.same(new)));
    }
    let b: foldhash::HashMap<&str, &Json<'_>> = b.iter().map(|(key, value)| (*key, value)).collect();
    a.iter().all(|(key, value)| b.get(key).is_some_and(|new| value.same(new)))
}

/// Members of objects with more are not searched for one by one.
pub(crate) const FEW: usize = 16;

/// Writes JSON text.
struct Printer<'o> {
    /// Where the text lies that was read. A string that was borrowed from it had no escape and needs none.
    plain: Range<*const u8>,
    out: &'o mut String,
}

impl Printer<'_> {
    fn value(&mut self, json: &Json<'_>) {
        match json {
            Json::Null => self.out.push_str("null"),
            Json::Bool(true) => self.out.push_str("true"),
            Json::Bool(false) => self.out.push_str("false"),
            // Writing to a `String` cannot fail.
            Json::Num(number) => _ = write!(self.out, "{number}"),
            Json::Str(text) => self.text(text),
            Json::Arr(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.value(item);
                }
                self.out.push(']');
            }
            Json::Obj(members) => {
                self.out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.text(key);
                    self.out.push(':');
                    self.value(value);
                }
                self.out.push('}');
            }
        }
    }

    fn text(&mut self, text: &str) {
        let out = &mut *self.out;
        out.reserve(text.len() + 2);
        out.push('"');
        if self.plain.contains(&text.as_ptr()) || !has_any(text.as_bytes(), escaped) {
            out.push_str(text);
        } else {
            push_escaped(text, out);
        }
        out.push('"');
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        f.write_str(&text)
    }
}

/// Writes the content of a string with escapes.
#[inline(never)]
fn push_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = first_of(rest.as_bytes(), escaped) {
        let (clean, from) = rest.split_at(at);
        out.push_str(clean);
        let mut letters = from.chars();
        match letters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\u{c}') => out.push_str("\\f"),
            // Writing to a `String` cannot fail.
            Some(other) => _ = write!(out, "\\u{:04x}", u32::from(other)),
            None => {}
        }
        rest = letters.as_str();
    }
    out.push_str(rest);
}

/// Marks the bytes that JSON text writes with a backslash.
fn escaped(word: u64) -> u64 {
    below(word, 32) | equal(word, b'"') | equal(word, b'\\')
}

/// Whether a byte of a kind stands among some. Eight bytes are looked at in one step: `may_be` sets the high bit of every byte
/// of the kind, and perhaps of one after such a byte, which is never the first.
fn has_any(bytes: &[u8], may_be: impl Fn(u64) -> u64) -> bool {
    let marks = |word: [u8; 8]| may_be(u64::from_le_bytes(word)) & HIGH != 0;
    // The last words of a text may overlap.
    if let Some(last) = bytes.last_chunk() {
        return marks(*last) || bytes.as_chunks().0.iter().any(|word| marks(*word));
    }
    if let (Some([a, b, c, d]), Some([e, f, g, h])) = (bytes.first_chunk(), bytes.last_chunk()) {
        return marks([*a, *b, *c, *d, *e, *f, *g, *h]);
    }
    bytes.iter().any(|byte| marks([*byte; 8]))
}

/// The position of the first byte of a kind.
fn first_of(bytes: &[u8], may_be: impl Fn(u64) -> u64) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = may_be(u64::from_le_bytes(*word)) & HIGH;
        if marks != 0 {
            return Some(index * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|byte| may_be(ONES * u64::from(*byte)) & HIGH != 0);
    found.map(|found| words.len() * 8 + found)
}

/// A one in each byte.
const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The high bit of each byte.
const HIGH: u64 = ONES << 7;

/// Marks the bytes that are less than a limit.
fn below(word: u64, limit: u64) -> u64 {
    word.wrapping_sub(ONES * limit) & !word
}

/// Marks the bytes that are that one.
fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

pub(crate) fn are_distinct_texts(texts: &[Json<'_>]) -> bool {
    if texts.len() < SCANNED_FOR_DUPLICATES {
        return texts.iter().enumerate().all(|(index, text)| !texts.iter().skip(index + 1).any(|other| other == text));
    }
    let mut sorted: Vec<&str> = texts.iter().filter_map(Json::as_str).collect();
    sorted.sort_unstable();
    sorted.array_windows().all(|[a, b]| a != b)
}

/// A text of at most so many letters, with a mark where it was cut.
pub(crate) fn cut(text: String, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Appends one reference token to a JSON Pointer.
pub(crate) fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    if has_any(token.as_bytes(), |word| equal(word, b'~') | equal(word, b'/')) {
        pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(token);
    }
}

/// The reference tokens of a JSON Pointer fragment, percent signs and tildes undone.
pub fn pointer_tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|token| {
        if !token.contains('%') {
            return unescaped(token);
        }
        Cow::Owned(unescaped(&percent_decoded(token)).into_owned())
    })
}

/// Undoes the escapes of a JSON Pointer token.
pub fn unescaped(token: &str) -> Cow<'_, str> {
    if token.contains('~') { Cow::Owned(token.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(token) }
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = (byte == b'%').then(|| {
            let high = char::from(ahead.next()?).to_digit(16)?;
            let low = char::from(ahead.next()?).to_digit(16)?;
            u8::try_from(high * 16 + low).ok()
        });
        if let Some(Some(decoded)) = digits {
            bytes.push(decoded);
            rest = ahead;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Where containers wait until they are whole, so that each is allocated once and at its size.
struct ParseState<'de> {
    /// How many values may still come.
    left: usize,
    /// The bound that was passed.
    exceeded: Option<ExceededBound>,
    items: Vec<Json<'de>>,
    members: Vec<Member<'de>>,
    arena: &'de Arena,
}

impl<'de> ParseState<'de> {
    fn new(bounds: Bounds, arena: &'de Arena) -> Self {
        Self {
            left: bounds.values,
            exceeded: None,
            items: Vec::with_capacity(32),
            members: Vec::with_capacity(24),
            arena,
        }
    }
}

struct JsonSeed<'s, 'de> {
    depth: usize,
    state: &'s mut ParseState<'de>,
}

impl<'s, 'de> JsonSeed<'s, 'de> {
    /// How deep the next level may still be.
    fn deeper<E: de::Error>(self) -> Result<(usize, &'s mut ParseState<'de>), E> {
        let Some(depth) = self.depth.checked_sub(1) else {
            self.state.exceeded = Some(ExceededBound::Depth);
            return Err(E::custom("the document is nested too deeply"));
        };
        Ok((depth, self.state))
    }
}

impl<'de> DeserializeSeed<'de> for JsonSeed<'_, 'de> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        let Some(left) = self.state.left.checked_sub(1) else {
            self.state.exceeded = Some(ExceededBound::Values);
            return Err(de::Error::custom("the document has too many values"));
        };
        self.state.left = left;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonSeed<'_, 'de> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Num(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Num(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(if value.is_finite() { Json::Num(Num::Float(value)) } else { Json::Null })
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Str(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(self.state.arena.str(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json<'de>, A::Error> {
        let (depth, state) = self.deeper()?;
        let start = state.items.len();
        while let Some(item) = seq.next_element_seed(JsonSeed { depth, state: &mut *state })? {
            state.items.push(item);
        }
        let items = state.arena.arr(state.items.get(start..).unwrap_or_default());
        state.items.truncate(start);
        Ok(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let (depth, state) = self.deeper()?;
        let start = state.members.len();
        while let Some(key) = map.next_key_seed(KeySeed(state.arena))? {
            let before = state.members.get(start..).unwrap_or_default();
            if before.len() < SCANNED_FOR_DUPLICATES && before.iter().any(|(other, _)| *other == key) {
                return Err(de::Error::custom(format_args!("the key `{key}` appears twice in one object")));
            }
            let value = map.next_value_seed(JsonSeed { depth, state: &mut *state })?;
            state.members.push((key, value));
        }
        let members = state.members.get(start..).unwrap_or_default();
        if members.len() >= SCANNED_FOR_DUPLICATES {
            let mut keys: Vec<&str> = members.iter().map(|(key, _)| *key).collect();
            keys.sort_unstable();
            if let Some([key, _]) = keys.array_windows().find(|[a, b]| a == b) {
                return Err(de::Error::custom(format_args!("the key `{key}` appears twice in one object")));
            }
        }
        let object = state.arena.obj(members);
        state.members.truncate(start);
        Ok(object)
    }
}

/// More than so many keys or texts are sorted once instead of compared pair by pair.
const SCANNED_FOR_DUPLICATES: usize = 24;

struct KeySeed<'de>(&'de Arena);

impl<'de> DeserializeSeed<'de> for KeySeed<'de> {
    type Value = &'de str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'de str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed<'de> {
    type Value = &'de str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<&'de str, E> {
        Ok(text)
    }

    fn visit_str<E>(self, text: &str) -> Result<&'de str, E> {
        Ok(self.0.text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{DistinctValues, Json, push_token};
    use crate::arena::Arena;
    use crate::read::Limits;

    #[test]
    fn what_was_read_is_written_again_as_it_was() {
        let text =
            r#"{"plain":"é ~ /","with \"quotes\"":["\\","\u0001","long enough, then \n a line"],"n":[1,-2,0.5]}"#;
        let arena = Arena::default();
        let json = Json::from_text(text, Limits::default().bounds(), &arena).unwrap();
        let (mut again, mut anew) = (String::new(), String::new());
        json.write_again(text, &mut again);
        json.write(&mut anew);
        assert_eq!((again.as_str(), anew.as_str()), (text, text));
    }

    #[test]
    fn values_that_are_the_same_are_found_among_few_and_many() {
        let one = |index: usize| format!(r#"{{"a":{index},"b":[true,null],"c":"x"}}"#);
        let other = |index: usize| format!(r#"{{"c":"x","b":[true,null],"a":{index}.0}}"#);
        let texts: Vec<String> = (0..40).flat_map(|index| [one(index), other(index), one(index / 2)]).collect();
        let arena = Arena::default();
        let mut distinct = DistinctValues::default();
        for text in &texts {
            distinct.add(Json::from_text(text, Limits::default().bounds(), &arena).unwrap());
        }
        let kept: Vec<String> = distinct.into_values().iter().map(ToString::to_string).collect();
        assert_eq!(kept, (0..40).map(one).collect::<Vec<_>>());
    }

    #[test]
    fn a_token_is_escaped_wherever_it_needs_it() {
        for (token, pointer) in
            [("a", "/a"), ("a/b", "/a~1b"), ("seven letters ~", "/seven letters ~0"), ("~/", "/~0~1")]
        {
            let mut out = String::new();
            push_token(&mut out, token);
            assert_eq!(out, pointer);
        }
    }
}
