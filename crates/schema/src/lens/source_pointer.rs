//! Maps pointers into a fitted schema back to the caller's schema, as far as shapes tell.

use std::borrow::Cow;

use super::{Absent, DEEPEST_LINKS, Field, Lens, Shape};
use crate::json::{push_token, unescaped};
use crate::keyword::Kw;

impl Lens {
    /// The pointer in the caller's schema, or the nearest known one around it; `true` where it is exact.
    pub(crate) fn caller_place(&self, pointer: &str) -> (String, bool) {
        let (mut id, mut rest, mut at) = (self.root, pointer, String::new());
        let mut links = 0;
        while !self.is_identity_shape(id) && !rest.is_empty() {
            let Some((key, below)) = property(rest) else { return (at, false) };
            match self.shape(id) {
                Shape::Link(inner) if links < DEEPEST_LINKS => (id, links) = (*inner, links + 1),
                Shape::Wrapped(own, inner) if *own == key => (id, rest) = (*inner, below),
                Shape::Object(shape) => {
                    let Some(field) = shape.fields.iter().find(|field| field.wire() == key) else { return (at, false) };
                    push_token(&mut at, Kw::Properties.name());
                    push_token(&mut at, &field.name);
                    if !stays_in_place(field, below) {
                        return (at, false);
                    }
                    (id, rest) = (field.lens, below);
                }
                Shape::Same
                | Shape::Link(_)
                | Shape::Nullable(_)
                | Shape::NullIsAbsent(_)
                | Shape::Array { .. }
                | Shape::Tuple { .. }
                | Shape::Entries(_)
                | Shape::Wrapped(..)
                | Shape::AtMostOne(_)
                | Shape::Text
                | Shape::Labels(_)
                | Shape::Union(_)
                | Shape::Choice { .. } => return (at, false),
            }
        }
        at.push_str(rest);
        (at, true)
    }
}

/// Splits the first property off a pointer.
fn property(pointer: &str) -> Option<(Cow<'_, str>, &str)> {
    let inside = pointer.strip_prefix('/')?.strip_prefix(Kw::Properties.name())?.strip_prefix('/')?;
    let (token, below) = inside.split_at(inside.find('/').unwrap_or(inside.len()));
    Some((unescaped(token), below))
}

/// Other encodings of absence put a union or a list around the property's schema.
fn stays_in_place(field: &Field, below: &str) -> bool {
    below.is_empty() || field.absent == Absent::Kept
}

#[cfg(test)]
mod tests {
    use super::super::{ObjectShape, Rest};
    use super::{Absent, Field, Lens, Shape};
    use crate::lens::LensId;

    #[test]
    fn a_place_is_followed_as_far_as_shapes_tell() {
        let mut lens = Lens::identity();
        let field = |name: &str, renamed: Option<&str>, absent| Field {
            name: name.into(),
            renamed: renamed.map(Into::into),
            lens: LensId::SAME,
            absent,
            constant: None,
        };
        let fields = vec![field("a/b", Some("a_b"), Absent::Kept), field("c", None, Absent::Null)];
        let rest = Some(Rest { wire: "rest".to_owned(), lens: LensId::SAME, always: true });
        let shape = ObjectShape { fields, rest, matching: Vec::new(), others: LensId::SAME };
        let object = lens.add(Shape::Object(Box::new(shape)));
        let wrapped = lens.add(Shape::Wrapped("value".to_owned(), object));
        let lens = lens.with_root(wrapped);
        for (at, place, all) in [
            ("", "", true),
            ("/properties/value/properties/a_b/items", "/properties/a~1b/items", true),
            ("/properties/value/properties/c", "/properties/c", true),
            ("/properties/value/properties/c/anyOf/0", "/properties/c", false),
            ("/properties/value/properties/rest/items", "", false),
            ("/$defs/deep/properties/x", "", false),
        ] {
            assert_eq!(lens.caller_place(at), (place.to_owned(), all), "{at}");
        }
        assert_eq!(Lens::identity().caller_place("/$defs/a"), ("/$defs/a".to_owned(), true));
    }
}
