//! Builds the plain schema of each kind of Zod instance but strings.

use std::collections::BTreeSet;

use super::{ZodInstance, ZodKind, ZodVersion};
use crate::arena::Arena;
use crate::json::{Json, Member, Num};
use crate::keyword::Kw;
use crate::types::Types;

/// The integers that the number formats of Zod 4 take. `safeint` is left out: its ends are the limits of JavaScript and
/// not the author's.
fn integer_range(format: &str) -> Option<(Num, Num)> {
    match format {
        "int32" => Some((i64::from(i32::MIN).into(), i64::from(i32::MAX).into())),
        "uint32" => Some((Num::Whole(0), u64::from(u32::MAX).into())),
        "int64" => Some((i64::MIN.into(), i64::MAX.into())),
        "uint64" => Some((u64::MIN.into(), u64::MAX.into())),
        _ => None,
    }
}

/// The greatest integer that JavaScript counts exactly.
const MAX_SAFE: u64 = 9_007_199_254_740_991;

/// The schema of every value.
pub(super) const ANYTHING: Json<'static> = Json::EMPTY;

/// The schema of no value.
pub(super) const NOTHING: Json<'static> = Json::Obj(&[("not", ANYTHING)]);

pub(super) fn of_type(arena: &Arena, types: Types) -> Json<'_> {
    types.name().map_or(ANYTHING, |name| with(arena, ANYTHING, Kw::Type, Json::Str(name)))
}

/// The schema with that keyword set.
pub(super) fn with<'a>(arena: &'a Arena, schema: Json<'a>, kw: Kw, value: Json<'a>) -> Json<'a> {
    arena.with(schema, kw.name(), value)
}

/// Sets the keyword beside one of the same name that may be there already.
pub(super) fn add<'a>(arena: &'a Arena, schema: Json<'a>, kw: Kw, value: Json<'a>) -> Json<'a> {
    match schema.get(kw.name()) {
        None => with(arena, schema, kw, value),
        Some(old) if *old == value => schema,
        Some(_) => {
            let mut all = schema.get(Kw::AllOf.name()).and_then(Json::as_arr).unwrap_or_default().to_vec();
            all.push(with(arena, ANYTHING, kw, value));
            with(arena, schema, Kw::AllOf, arena.arr(&all))
        }
    }
}

/// Sets a limit unless a tighter one is there already.
fn limit<'a>(arena: &'a Arena, schema: Json<'a>, kw: Kw, value: Num) -> Json<'a> {
    let new = Some(value.as_f64());
    let old = schema.get(kw.name()).and_then(Json::as_f64);
    let upper = matches!(kw, Kw::Maximum | Kw::ExclusiveMaximum | Kw::MaxLength | Kw::MaxItems);
    if old.is_some() && (if upper { new >= old } else { new <= old }) {
        return schema;
    }
    with(arena, schema, kw, Json::Num(value))
}

pub(super) fn nullable<'a>(arena: &'a Arena, schema: Json<'a>) -> Json<'a> {
    let scalar = schema
        .get(Kw::Type.name())
        .and_then(Json::as_str)
        .and_then(Types::named)
        .is_some_and(|types| Types::STRING.or(Types::NUMBER).or(Types::BOOLEAN).has(types));
    let listed = schema.get(Kw::Enum.name()).or_else(|| schema.get(Kw::Const.name())).is_some();
    if schema == ANYTHING {
        schema
    } else if schema == NOTHING {
        of_type(arena, Types::NULL)
    } else if scalar && !listed {
        let name = schema.get(Kw::Type.name()).copied();
        let names: Vec<Json<'a>> = name.into_iter().chain(Types::NULL.name().map(Json::Str)).collect();
        with(arena, schema, Kw::Type, arena.arr(&names))
    } else {
        with(arena, ANYTHING, Kw::AnyOf, arena.arr(&[schema, of_type(arena, Types::NULL)]))
    }
}

/// A schema that takes these values and no others.
fn one_of_values<'a>(arena: &'a Arena, values: &[Json<'a>]) -> Json<'a> {
    let types = values.iter().map(Types::of).fold(Types::NONE, Types::or);
    let out = of_type(arena, types);
    match values {
        [] => NOTHING,
        [one] => with(arena, out, Kw::Const, *one),
        several => with(arena, out, Kw::Enum, arena.arr(several)),
    }
}

/// What a check is called: the kind of Zod 3, the check of Zod 4, or the string format that it is.
pub(super) fn check_name<'a>(check: &Json<'a>) -> &'a str {
    let name = check.get("kind").or_else(|| check.get("check")).and_then(Json::as_str).unwrap_or_default();
    if name == "string_format" { check.get(Kw::Format.name()).and_then(Json::as_str).unwrap_or_default() } else { name }
}

fn number(json: Option<&Json<'_>>) -> Option<Num> {
    if let Some(Json::Num(number)) = json { Some(*number) } else { None }
}

impl<'a> ZodInstance<'a> {
    /// A nested instance.
    pub(super) fn nested(&self, schema: Option<&'a Json<'a>>) -> Option<Self> {
        schema.and_then(|schema| Self::of(schema, self.arena))
    }

    /// The plain schema of a nested instance; `{}` where it is none.
    pub(super) fn child(&self, schema: Option<&'a Json<'a>>, depth: usize) -> Json<'a> {
        self.nested(schema).map_or(ANYTHING, |instance| instance.plain(depth))
    }

    /// Adds the least and the greatest length, wherever the version writes them.
    pub(super) fn sizes(&self, mut out: Json<'a>, least: Kw, most: Kw) -> Json<'a> {
        let arena = self.arena;
        for check in self.checks() {
            let names = ["value", Kw::Minimum.name(), Kw::Maximum.name(), "length", "size"];
            let Some(size) = names.into_iter().find_map(|name| number(check.get(name))) else { continue };
            match check_name(check) {
                "min" | "min_length" | "min_size" => out = limit(arena, out, least, size),
                "max" | "max_length" | "max_size" => out = limit(arena, out, most, size),
                "length" | "length_equals" | "size_equals" => {
                    out = limit(arena, limit(arena, out, least, size), most, size);
                }
                _ => {}
            }
        }
        // Zod 3 writes `{"value": 1}` into the definition of a list; Zod 4.0 to 4.5 a number beside that of a string.
        let found = |name: &str| {
            let own = self.get(name).and_then(|size| size.get("value"));
            number(own).or_else(|| number(self.whole.get(name)))
        };
        for (name, bounds) in [
            (Kw::MinLength.name(), &[least][..]),
            ("minSize", &[least]),
            (Kw::MaxLength.name(), &[most]),
            ("maxSize", &[most]),
            ("exactLength", &[least, most]),
        ] {
            if let Some(size) = found(name) {
                out = bounds.iter().fold(out, |out, kw| limit(arena, out, *kw, size));
            }
        }
        out
    }

    pub(super) fn number(&self) -> Json<'a> {
        let arena = self.arena;
        let mut out = ANYTHING;
        let mut whole = self.kind == ZodKind::BigInt || self.whole.get("isInt").and_then(Json::as_bool) == Some(true);
        for check in self.checks() {
            let value = number(check.get("value"));
            let inclusive = check.get("inclusive").and_then(Json::as_bool) != Some(false);
            match check_name(check) {
                "int" => whole = true,
                "min" | "greater_than" => {
                    out = bound(arena, out, if inclusive { Kw::Minimum } else { Kw::ExclusiveMinimum }, value);
                }
                "max" | "less_than" => {
                    out = bound(arena, out, if inclusive { Kw::Maximum } else { Kw::ExclusiveMaximum }, value);
                }
                "number_format" | "bigint_format" => {
                    let format = check.get(Kw::Format.name()).and_then(Json::as_str).unwrap_or_default();
                    whole |= format.contains("int");
                    if let Some((least, most)) = integer_range(format) {
                        out = limit(arena, limit(arena, out, Kw::Minimum, least), Kw::Maximum, most);
                    }
                }
                name if name == "multiple_of" || name == Kw::MultipleOf.name() => {
                    if let Some(step) = value.filter(|step| step.as_f64() > 0.0) {
                        out = add(arena, out, Kw::MultipleOf, Json::Num(step));
                    }
                }
                _ => {}
            }
        }
        // Zod 4.0 to 4.5 sums the checks up, but does not tell whether an end is included.
        out = bound(arena, out, Kw::Minimum, number(self.whole.get("minValue")));
        out = bound(arena, out, Kw::Maximum, number(self.whole.get("maxValue")));
        let typed = of_type(arena, if whole { Types::INTEGER } else { Types::NUMBER });
        let limits = out.as_obj().unwrap_or_default();
        Json::Obj(arena.extended(typed.as_obj().unwrap_or_default(), limits))
    }

    pub(super) fn literal(&self) -> Json<'a> {
        let arena = self.arena;
        match (self.get("values").and_then(Json::as_arr), self.get("value")) {
            (Some(values), _) => one_of_values(arena, values),
            (None, Some(value)) => one_of_values(arena, std::slice::from_ref(value)),
            (None, None) => ANYTHING,
        }
    }

    pub(super) fn enumeration(&self) -> Json<'a> {
        let Some(values) = self.get("entries").or_else(|| self.get("values")) else { return ANYTHING };
        let Some(entries) = values.as_obj() else {
            return one_of_values(self.arena, values.as_arr().unwrap_or_default());
        };
        // TypeScript compiles a numeric enum to a map in both directions; `{"A": 0, "0": "A"}` has the one value 0.
        let numbers = entries.iter().filter_map(|(_, value)| number(Some(value))).map(|number| number.to_string());
        let numbers: BTreeSet<String> = numbers.collect();
        let own = entries.iter().filter(|(key, _)| !numbers.contains(*key));
        let own: Vec<Json<'a>> = own.map(|(_, value)| *value).collect();
        one_of_values(self.arena, &own)
    }

    pub(super) fn object(&self, depth: usize) -> Json<'a> {
        let arena = self.arena;
        let places = [Some(self.definition), self.whole.get("_cached"), Some(self.whole)];
        let shape = places.into_iter().flatten().find_map(|place| place.get("shape")?.as_obj());
        let out = of_type(arena, Types::OBJECT);
        // Zod 3 keeps the shape in a function. What it says of other keys means nothing without it.
        let Some(shape) = shape else { return out };
        let mut required = Vec::new();
        let mut properties: Vec<Member<'a>> = Vec::with_capacity(shape.len());
        for (key, value) in shape {
            let omittable = self.nested(Some(value)).is_some_and(|instance| instance.omittable(depth));
            if !omittable {
                required.push(Json::Str(key));
            }
            properties.push((key, self.child(Some(value), depth)));
        }
        let mut out = with(arena, out, Kw::Properties, arena.obj(&properties));
        if !required.is_empty() {
            out = with(arena, out, Kw::Required, arena.arr(&required));
        }
        match self.other_keys(depth) {
            Some(others) => with(arena, out, Kw::AdditionalProperties, others),
            None => out,
        }
    }

    /// What an object says of the keys outside its shape. Those that it strips it takes.
    fn other_keys(&self, depth: usize) -> Option<Json<'a>> {
        let catchall = self.nested(self.get("catchall"));
        match (self.version, catchall.as_ref().map(|catchall| catchall.kind)) {
            (ZodVersion::V4, Some(ZodKind::Never)) => Some(Json::Bool(false)),
            (_, Some(ZodKind::Any)) => Some(Json::Bool(true)),
            (ZodVersion::V3, None | Some(ZodKind::Never)) => match self.get("unknownKeys").and_then(Json::as_str) {
                Some("strict") => Some(Json::Bool(false)),
                Some("passthrough") => Some(Json::Bool(true)),
                _ => None,
            },
            (ZodVersion::V3 | ZodVersion::V4, _) => catchall.map(|catchall| catchall.plain(depth)),
        }
    }

    pub(super) fn list(&self, depth: usize) -> Json<'a> {
        let arena = self.arena;
        let names = ["valueType", "element", Kw::Type.name()];
        let items = self.child(names.into_iter().find_map(|name| self.get(name)), depth);
        let out = with(arena, of_type(arena, Types::ARRAY), Kw::Items, items);
        let out = self.sizes(out, Kw::MinItems, Kw::MaxItems);
        if self.kind == ZodKind::Set { with(arena, out, Kw::UniqueItems, Json::Bool(true)) } else { out }
    }

    pub(super) fn tuple(&self, depth: usize) -> Json<'a> {
        let arena = self.arena;
        let items = self.get(Kw::Items.name()).and_then(Json::as_arr).unwrap_or_default();
        // Zod 3 wants every place filled; Zod 4 lets the optional ones at the end be missing.
        let needed = |item: &'a Json<'a>| {
            self.version == ZodVersion::V3 || !self.nested(Some(item)).is_some_and(|instance| instance.omittable(depth))
        };
        let least = items.iter().rposition(needed).map_or(0, |last| last + 1);
        let rest = match self.get("rest") {
            None | Some(Json::Null) => Json::Bool(false),
            rest => self.child(rest, depth),
        };
        let mut out = of_type(arena, Types::ARRAY);
        if !items.is_empty() {
            let prefix: Vec<Json<'a>> = items.iter().map(|item| self.child(Some(item), depth)).collect();
            out = with(arena, out, Kw::PrefixItems, arena.arr(&prefix));
        }
        out = with(arena, out, Kw::Items, rest);
        if least > 0 {
            out = with(arena, out, Kw::MinItems, Json::Num(least.into()));
        }
        self.sizes(out, Kw::MinItems, Kw::MaxItems)
    }

    pub(super) fn record(&self, depth: usize) -> Json<'a> {
        let arena = self.arena;
        let mut out = of_type(arena, Types::OBJECT);
        // A loose record keeps the keys that do not fit, whatever they hold.
        if self.get("mode").and_then(Json::as_str) == Some("loose") {
            return out;
        }
        let keys = self.child(self.get("keyType"), depth);
        let texts = keys.get(Kw::Type.name()).and_then(Json::as_str) == Types::STRING.name();
        if texts && keys.as_obj().is_some_and(|members| members.len() > 1) {
            // Zod 4 wants every key of an enum. From 4.1 to 4.5 a partial record looks the same, but is rare.
            let kind = self.nested(self.get("keyType")).map(|instance| instance.kind);
            let partial = self.get("partial").and_then(Json::as_bool) == Some(true);
            if self.version == ZodVersion::V4 && !partial && matches!(kind, Some(ZodKind::Enum | ZodKind::Literal)) {
                let listed = keys.get(Kw::Enum.name()).and_then(Json::as_arr);
                let names = listed.or_else(|| keys.get(Kw::Const.name()).map(std::slice::from_ref));
                out = with(arena, out, Kw::Required, Json::Arr(names.unwrap_or_default()));
            }
            out = with(arena, out, Kw::PropertyNames, keys);
        }
        with(arena, out, Kw::AdditionalProperties, self.child(self.get("valueType"), depth))
    }

    /// A map has no JSON of its own; here it is the list of its pairs, as `new Map` takes it.
    pub(super) fn map(&self, depth: usize) -> Json<'a> {
        let arena = self.arena;
        let pair = [self.child(self.get("keyType"), depth), self.child(self.get("valueType"), depth)];
        let pair = with(arena, of_type(arena, Types::ARRAY), Kw::PrefixItems, arena.arr(&pair));
        let pair = with(arena, with(arena, pair, Kw::Items, Json::Bool(false)), Kw::MinItems, Json::Num(Num::Whole(2)));
        self.sizes(with(arena, of_type(arena, Types::ARRAY), Kw::Items, pair), Kw::MinItems, Kw::MaxItems)
    }

    /// The members of a union, a list or (early in Zod 3) a map.
    pub(super) fn options(&self) -> impl Iterator<Item = &'a Json<'a>> + use<'a> {
        let options = self.get("options");
        let listed = options.and_then(Json::as_arr).unwrap_or_default();
        let mapped = options.and_then(Json::as_obj).unwrap_or_default();
        listed.iter().chain(mapped.iter().map(|(_, option)| option))
    }

    /// Always `anyOf`, also where just one may match: members that lost their checks may overlap.
    pub(super) fn union(&self, depth: usize) -> Json<'a> {
        let arena = self.arena;
        let all: Vec<Json<'a>> = self.options().map(|option| self.child(Some(option), depth)).collect();
        let lost = all.is_empty();
        let mut some: Vec<Json<'a>> = all.into_iter().filter(|option| *option != NOTHING).collect();
        match some.len() {
            0 if lost && self.get(Kw::Discriminator.name()).is_some() => of_type(arena, Types::OBJECT),
            0 if lost => ANYTHING,
            0 => NOTHING,
            1 => some.pop().unwrap_or(ANYTHING),
            _ => with(arena, ANYTHING, Kw::AnyOf, arena.arr(&some)),
        }
    }

    pub(super) fn intersection(&self, depth: usize) -> Json<'a> {
        let arena = self.arena;
        let sides = [self.child(self.get("left"), depth), self.child(self.get("right"), depth)];
        let mut some: Vec<Json<'a>> = sides.into_iter().filter(|side| *side != ANYTHING).collect();
        match some.len() {
            0 | 1 => some.pop().unwrap_or(ANYTHING),
            _ => with(arena, ANYTHING, Kw::AllOf, arena.arr(&some)),
        }
    }
}

/// Sets a limit of a number, unless it is only that of safe integers or of a float.
fn bound<'a>(arena: &'a Arena, schema: Json<'a>, kw: Kw, value: Option<Num>) -> Json<'a> {
    let Some(value) = value else { return schema };
    let safe = value.as_i64().is_some_and(|value| value.unsigned_abs() == MAX_SAFE);
    let float = value.as_f64().abs() >= f64::from(f32::MAX);
    if safe || float { schema } else { limit(arena, schema, kw, value) }
}
