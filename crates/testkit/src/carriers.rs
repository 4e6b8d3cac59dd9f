//! Which carriers a lens uses: values that travel in another shape than the caller's.

use std::collections::BTreeSet;

use polywire_schema::Lens;
use polywire_schema::internals::{Absent, LensId, LensView, Shape};

/// A shape in which values travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// JSON text in a string.
    Text,
    /// A map as a list of entries.
    Entries,
    /// A union as an object with one key.
    Choice,
    /// An optional or nullable value as a list of at most one item.
    ListOfOne,
}

/// The carriers that values may pass through.
pub fn carriers(lens: &Lens) -> BTreeSet<Carrier> {
    let mut found = BTreeSet::new();
    let mut next = Some(lens.view());
    while let Some(view) = next {
        collect(view, &mut found);
        next = view.after();
    }
    found
}

fn collect(view: LensView<'_>, found: &mut BTreeSet<Carrier>) {
    let mut open: Vec<LensId> = vec![view.root()];
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) || view.is_identity(id) {
            continue;
        }
        let shape = view.shape(id);
        found.extend(carrier(shape));
        shape.each_inner(&mut |inner| open.push(inner));
    }
}

fn carrier(shape: &Shape) -> Option<Carrier> {
    match shape {
        Shape::Text => Some(Carrier::Text),
        Shape::Entries(_) => Some(Carrier::Entries),
        Shape::Choice { .. } => Some(Carrier::Choice),
        Shape::AtMostOne(_) => Some(Carrier::ListOfOne),
        Shape::Object(object) if object.rest.is_some() => Some(Carrier::Entries),
        Shape::Object(object) => {
            let is_list = |absent| {
                matches!(absent, Absent::EmptyList | Absent::EmptyEither | Absent::NullMark | Absent::NullList)
            };
            object.fields.iter().any(|field| is_list(field.absent)).then_some(Carrier::ListOfOne)
        }
        Shape::Same
        | Shape::Link(_)
        | Shape::Nullable(_)
        | Shape::NullIsAbsent(_)
        | Shape::Array { .. }
        | Shape::Tuple { .. }
        | Shape::Wrapped(..)
        | Shape::Labels(_)
        | Shape::Union(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use polywire_schema::{FitOptions, dialect, fit};
    use serde_json::json;

    use super::{Carrier, carriers};

    #[test]
    fn carriers_are_found_where_values_pass() {
        let schema = json!({"type": "object", "properties": {
            "map": {"type": "object", "additionalProperties": {"type": "string"}}, "any": {}}});
        let rows = [("mcp", vec![]), ("openai-strict", vec![Carrier::Text, Carrier::Entries])];
        for (id, expected) in rows {
            let fitted = fit(&schema, dialect(id).expect("a dialect"), &FitOptions::default()).expect("a fit");
            assert_eq!(carriers(fitted.lens()).into_iter().collect::<Vec<_>>(), expected, "{id}");
        }
    }
}
