"""Requests and responses in the form of OpenAI Chat Completions, as LiteLLM and Instructor have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._fit import Fitted, FittedTools
from ._core import Target, decode_output, decode_text, encode_text

__all__ = ["ChatContract"]


class ChatContract:
    """What was sent for one request: its tools and its output schema."""

    def __init__(self, target: Target, request: Mapping[str, Any]) -> None:
        self.tools: FittedTools | None = None
        self.output: Fitted[Any] | None = None
        self.changed: dict[str, Any] = {}
        tools = request.get("tools") or []
        functions = [tool["function"] for tool in tools if isinstance(tool, Mapping) and tool.get("type") == "function"]
        if functions:
            fitted = target.tools(
                (one["name"], one.get("description"), one.get("parameters") or {"type": "object"}) for one in functions
            )
            self.tools = fitted
            self.changed["tools"] = [self._tool(fitted, tool) for tool in tools]
            choice = request.get("tool_choice")
            if isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping):
                name = choice["function"]["name"]
                self.changed["tool_choice"] = {**choice, "function": {"name": fitted.names.get(name, name)}}
            self.changed["messages"] = [self._sent(fitted, message) for message in request.get("messages") or []]
        output: Any = request.get("response_format")
        if isinstance(output, Mapping) and isinstance(output.get("json_schema"), Mapping):
            named = output["json_schema"]
            self.output = target.output(named.get("schema") or {})
            sent = {**named, "schema": self.output.schema, "strict": self.output.strict}
            self.changed["response_format"] = {**output, "json_schema": sent}

    @staticmethod
    def _tool(fitted: FittedTools, tool: Any) -> Any:
        if not isinstance(tool, Mapping) or tool.get("type") != "function":
            return tool
        function: Any = tool["function"]
        found = fitted.schema(function["name"])
        if found is None:
            return tool
        schema, strict = found
        sent = {name: value for name, value in function.items() if name != "strict"}
        sent |= {"name": fitted.names[function["name"]], "parameters": schema}
        return {**tool, "function": {**sent, "strict": True} if strict else sent}

    @staticmethod
    def _sent(fitted: FittedTools, message: Any) -> Any:
        if not isinstance(message, Mapping) or not message.get("tool_calls"):
            return message
        calls: list[Any] = []
        for call in message["tool_calls"]:
            function = call["function"]
            name, arguments = encode_text(fitted, function["name"], function["arguments"])
            calls.append({**call, "function": {**function, "name": name, "arguments": arguments}})
        return {**message, "tool_calls": calls}

    def receive(self, response: Any) -> None:
        """Brings a response back, in place."""
        for choice in getattr(response, "choices", None) or []:
            message = getattr(choice, "message", None)
            if message is None:
                continue
            for call in getattr(message, "tool_calls", None) or []:
                function = getattr(call, "function", None)
                if self.tools is not None and function is not None:
                    function.name, function.arguments = decode_text(self.tools, function.name, function.arguments)
            content = getattr(message, "content", None)
            if self.output is not None and isinstance(content, str):
                message.content = decode_output(self.output, content)
