"""Whether a refusal of the proxy is one that a change on record announces: the fitted schema accepts more (`wider`) at that place."""
import re

MAX_DEPTH = 12
ANY = object()


def tokens(pointer):
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def places(root):
    """For each schema in a document, by its pointer: the places in values for which it holds. `ANY` stands for any key or index."""
    found = {}

    def visit(schema, pointer, place, depth):
        if depth > MAX_DEPTH or not isinstance(schema, (dict, bool)) or place in found.setdefault(pointer, []):
            return
        found[pointer].append(place)
        if not isinstance(schema, dict):
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            target = root
            try:
                for part in tokens(reference[1:]):
                    target = target[int(part)] if isinstance(target, list) else target[part]
                visit(target, reference[1:], place, depth + 1)
            except (KeyError, IndexError, ValueError, TypeError):
                pass
        for name, part in schema.get("properties", {}).items() if isinstance(schema.get("properties"), dict) else ():
            visit(part, f"{pointer}/properties/{name.replace('~', '~0').replace('/', '~1')}", (*place, name), depth + 1)
        for key in ("patternProperties",):
            for name, part in (schema.get(key) or {}).items():
                visit(part, f"{pointer}/{key}/{name}", (*place, ANY), depth + 1)
        for key in ("additionalProperties", "items", "contains", "unevaluatedItems", "unevaluatedProperties"):
            if isinstance(schema.get(key), dict):
                visit(schema[key], f"{pointer}/{key}", (*place, ANY), depth + 1)
        for index, part in enumerate(schema.get("prefixItems", [])):
            visit(part, f"{pointer}/prefixItems/{index}", (*place, str(index)), depth + 1)
        for key in ("anyOf", "oneOf", "allOf"):
            for index, part in enumerate(schema.get(key, [])):
                visit(part, f"{pointer}/{key}/{index}", place, depth + 1)
        for key in ("if", "then", "else", "not", "propertyNames"):
            if isinstance(schema.get(key), dict):
                visit(schema[key], f"{pointer}/{key}", place, depth + 1)

    visit(root, "", (), 0)
    return found


def is_within(place, fault):
    return len(place) <= len(fault) and all(ANY in (own, key) or own == key for own, key in zip(place, fault))


def wider_places(schema, changes):
    """The places of values that the fitted schema may accept though the server does not."""
    known = places(schema)
    for change in changes:
        if change["effect"] != "wider" or not change["at"].startswith("/inputSchema"):
            continue
        pointer = change["at"].removeprefix("/inputSchema")
        while pointer not in known and pointer:
            pointer = pointer.rsplit("/", 1)[0]
        yield from known.get(pointer, [])


def uncovered(text, schema, changes):
    """The faults in the text of a refusal that no change covers."""
    wider = list(wider_places(schema, changes))
    faults = re.findall(r"^- at (\S+?): (.*)$", text, re.MULTILINE)
    if not faults:
        return [text]
    missing = []
    for at, detail in faults:
        fault = tuple(tokens(at)) if at != "/" else ()
        # A member that is missing is a fault of its object, and a change at the member.
        near = [fault, *((*fault, name) for name in re.findall(r"`([^`]*)`", detail))]
        # A union is at fault as a whole where each of its branches is, somewhere within.
        is_union = detail.startswith("matches none of the schemas")
        if not any(is_within(place, own) or is_union and is_within(fault, place) for place in wider for own in near):
            missing.append(f"at {at}: {detail}")
    return missing
