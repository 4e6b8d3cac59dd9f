"""An MCP server with many tools, for measurements: it lists them, answers calls with what it received, and sends results of any size.

Usage: python many.py TOOLS
"""
import json
import sys

PROPERTIES = {
    "path": {"type": "string", "description": "The path of the file, relative to the root of the repository."},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Labels by name."},
    "mode": {"enum": ["read", "write", "append"], "description": "What is done with the file."},
    "range": {"type": "object", "properties": {"start": {"type": "integer", "minimum": 0}, "end": {"type": "integer"}}, "required": ["start"]},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["path"], "additionalProperties": False}
LARGE = {"type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]}
TOOLS = [{"name": f"tool.{number}", "description": f"Does the {number}th thing with a file, and tells what it did.", "inputSchema": SCHEMA}
         for number in range(int(sys.argv[1]))] + [{"name": "large", "inputSchema": LARGE}]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "many", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "large":
        return {"content": [{"type": "text", "text": "x" * params["arguments"]["bytes"]}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(params["arguments"])}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params", {}))
        outcome = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)
