"""Values that a JSON Schema accepts, written without the code under test: a few for each schema, from the smallest to the fullest."""
from itertools import islice

TEXTS = ["text", "", "a", "2026-01-02", "2026-01-02T03:04:05Z", "03:04:05Z", "P1D", "me@example.com", "https://example.com/a", "example.com",
         "127.0.0.1", "::1", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "/a/0", "0", "1", "12", "-1.5", "true", "a-b", "a_b", "A", "AB", "abc.def",
         "{}", "[]", "null", "{\"a\": 1}", "0" * 32, "x" * 20, "x" * 40, "x" * 100]
MAX_DEPTH = 12


class Values:
    def __init__(self, schema, accepts):
        self.root, self.accepts = schema, accepts

    def samples(self, limit):
        """Different values that the validator accepts, at most `limit`, and how many it refused."""
        found, refused = [], 0
        for fullness in (0, 1, 2, 3):
            for value in islice(self.of(self.root, fullness, 0), limit):
                if value in found:
                    continue
                if self.accepts(value):
                    found.append(value)
                else:
                    refused += 1
        return found[:limit], refused

    def resolve(self, schema):
        while isinstance(schema, dict) and "$ref" in schema:
            target = self.root
            for key in schema["$ref"].lstrip("#").split("/")[1:]:
                key = key.replace("~1", "/").replace("~0", "~")
                target = target[int(key)] if isinstance(target, list) else target[key]
            schema = target
        return schema

    def of(self, schema, fullness, depth):
        """Candidates; the fullness decides about optional members and the length of lists."""
        schema = self.resolve(schema)
        if schema is False or depth > MAX_DEPTH:
            return
        if schema is True or not isinstance(schema, dict):
            schema = {}
        if "const" in schema:
            yield schema["const"]
        elif "enum" in schema:
            yield from schema["enum"]
        elif "anyOf" in schema or "oneOf" in schema:
            branches = schema.get("anyOf") or schema.get("oneOf")
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "description", "title", "default", "$defs")}
            for turn in range(len(branches)):
                branch = self.resolve(branches[(turn + fullness) % len(branches)])
                joined = {**rest, **branch} if isinstance(branch, dict) else branch
                if isinstance(branch, dict) and "properties" in rest and "properties" in branch:
                    joined = {**joined, "properties": {**rest["properties"], **branch["properties"]},
                              "required": [*rest.get("required", []), *branch.get("required", [])]}
                yield from self.of(joined, fullness, depth + 1)
        elif "allOf" in schema:
            joined = {key: value for key, value in schema.items() if key != "allOf"}
            for part in map(self.resolve, schema["allOf"]):
                joined = {**joined, **part, "properties": {**joined.get("properties", {}), **part.get("properties", {})},
                          "required": [*joined.get("required", []), *part.get("required", [])]}
            yield from self.of(joined, fullness, depth + 1)
        else:
            types = schema.get("type", "object" if "properties" in schema else "array" if "items" in schema else "string")
            types = [types] if isinstance(types, str) else types
            for turn in range(len(types)):
                kind = types[(turn + fullness) % len(types)].lower()
                yield from getattr(self, kind)(schema, fullness, depth)
            if schema.get("nullable"):
                yield None

    def object(self, schema, fullness, depth):
        properties, required = schema.get("properties", {}), schema.get("required", [])
        chosen = [name for name in properties if name in required or (fullness and depth < 4 + fullness)]
        chosen += [name for name in required if name not in properties]
        lists = {}
        for name in chosen:
            values = list(islice(self.of(properties.get(name, {}), fullness, depth + 1), 8))
            if values:
                lists[name] = values
        extra = {}
        additional = schema.get("additionalProperties", not properties)
        if additional not in (False, None) and (fullness > 1 or len(lists) < schema.get("minProperties", 0)):
            extra = {"key 1": next(self.of(additional, fullness, depth + 1), "text")}
        for turn in range(max([len(values) for values in lists.values()], default=1)):
            yield {**{name: values[min(turn, len(values) - 1)] for name, values in lists.items()}, **extra}

    def array(self, schema, fullness, depth):
        prefix = schema.get("prefixItems", [])
        if prefix:
            yield [next(self.of(item, fullness, depth + 1), None) for item in prefix]
            return
        low, high = schema.get("minItems", 0), schema.get("maxItems", 1000)
        length = min(high, max(low, fullness if depth < 8 else 0))
        values = list(islice(self.of(schema.get("items", {}), fullness, depth + 1), 8))
        if not length:
            yield []
        elif values:
            for turn in range(len(values)):
                yield [values[(turn + place) % len(values)] for place in range(length)]

    def string(self, schema, fullness, depth):
        from jsonschema import Draft202012Validator as Validator
        checked = Validator({**{key: schema[key] for key in ("format", "pattern", "minLength", "maxLength") if key in schema}, "type": "string"},
                            format_checker=Validator.FORMAT_CHECKER)
        fitting = [text for text in TEXTS if checked.is_valid(text)]
        yield from fitting[fullness:] + fitting[:fullness]

    def integer(self, schema, fullness, depth):
        step = schema.get("multipleOf", 1)
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 1000) - 1)
        start = -(-low // step) * step
        yield from (int(value) for value in (start + fullness * step, start, high // step * step) if low <= value <= high)

    def number(self, schema, fullness, depth):
        yield from self.integer(schema, fullness, depth)
        if "multipleOf" not in schema:
            low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
            high = schema.get("maximum", schema.get("exclusiveMaximum", low + 2))
            yield low + (high - low) / 4

    def boolean(self, schema, fullness, depth):
        yield from (fullness % 2 == 0, fullness % 2 == 1)

    def null(self, schema, fullness, depth):
        yield None
