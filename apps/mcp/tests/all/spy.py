"""An MCP server for tests: it answers a call with what it received, and can misbehave."""
import json
import sys

ERA = sys.argv[1] if len(sys.argv) > 1 else "sessions"
PREFIX = sys.argv[2] if len(sys.argv) > 2 else ""

OPEN = {"type": "object", "properties": {
    "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
    "note": {"type": "string"},
    "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": False, "minItems": 2},
}, "required": ["labels"], "additionalProperties": False}

TOOLS = [
    {"name": PREFIX + "spy.call", "title": "Spy", "inputSchema": OPEN, "execution": {"taskSupport": "optional"}},
    {"name": PREFIX + "die", "inputSchema": {"type": "object", "properties": {}}},
    {"name": PREFIX + "wait", "inputSchema": {"type": "object", "properties": {}}},
    {"name": PREFIX + "large", "inputSchema": {"type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]}},
    {"name": PREFIX + "broken", "inputSchema": {"type": "object", "properties": 7}},
    {"name": PREFIX + "ask", "inputSchema": {"type": "object", "properties": {}}},
    {"name": PREFIX + "release", "inputSchema": {"type": "object", "properties": {}}},
]
# Calls of `wait`, which are answered by `release`.
WAITING = []


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(message):
    params = message["params"]
    name = params["name"].removeprefix(PREFIX)
    if name == "die":
        sys.exit(3)
    if name == "wait":
        WAITING.append(message["id"])
        return None
    if name == "release":
        send({"method": "notifications/message", "params": {"level": "info", "data": "released"}})
        while WAITING:
            send({"id": WAITING.pop(), "result": {"resultType": "complete", "content": []}})
        return {"resultType": "complete", "content": []}
    if name == "large":
        return {"content": [{"type": "text", "text": "x" * params["arguments"]["bytes"]}]}
    if name == "ask" and ERA == "stateless":
        if "inputResponses" in params:
            return {"resultType": "complete", "content": [{"type": "text", "text": json.dumps(params)}]}
        return {"resultType": "input_required", "inputRequests": {"roots": {"method": "roots/list"}}, "requestState": "asked"}
    if name == "ask":
        send({"id": 77, "method": "roots/list"})
        answer = json.loads(sys.stdin.readline())
        return {"content": [{"type": "text", "text": json.dumps(answer)}]}
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "odd": True}})
    return {"content": [{"type": "text", "text": json.dumps(params)}], "odd": {"kept": True}}


def answer(message):
    method = message.get("method")
    if method == "initialize" and ERA == "sessions":
        return {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {"listChanged": True}, "odd": {}},
                "serverInfo": {"name": "spy", "version": "1"}, "instructions": "Call spy."}
    if method == "server/discover" and ERA == "stateless":
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
                "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "spy", "version": "1"}}}
    if ERA == "stateless" and "io.modelcontextprotocol/protocolVersion" not in message.get("params", {}).get("_meta", {}):
        raise ValueError("the request does not say who asks")
    if method == "tools/list":
        if "cursor" not in message.get("params", {}):
            return {"tools": TOOLS[:1], "nextCursor": "2"}
        return {"tools": TOOLS[1:]}
    if method == "tools/call":
        return call(message)
    if method == "odd/method":
        return {"echo": message["params"]}
    raise ValueError(f"there is no method {method}")


print("starting up, this line is noise", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    try:
        result = answer(message)
        if result is not None:
            send({"id": message["id"], "result": result})
    except ValueError as error:
        send({"id": message["id"], "error": {"code": -32601, "message": str(error)}})
