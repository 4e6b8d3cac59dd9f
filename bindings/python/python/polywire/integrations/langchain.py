"""LangChain: ``create_agent(model, tools, middleware=[PolywireMiddleware("openai-strict")])``.

The model gets fitted tools; the agent gets calls in the tools' own names and schemas. A ``response_format`` is not touched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from .._fit import FittedTools
from ._core import Target, decode_call, encode_call

__all__ = ["PolywireMiddleware"]


class _Contract:
    """What was sent for one request."""

    def __init__(self, target: Target, request: ModelRequest[Any]) -> None:
        own = [tool for tool in request.tools if isinstance(tool, BaseTool)]
        functions = [convert_to_openai_tool(tool)["function"] for tool in own]
        self.tools: FittedTools = target.tools(
            (function["name"], function.get("description"), function.get("parameters") or {"type": "object"})
            for function in functions
        )
        tools: list[Any] = [tool for tool in request.tools if not isinstance(tool, BaseTool)]
        for function in functions:
            found = self.tools.schema(function["name"])
            schema, strict = found if found is not None else (function["parameters"], False)
            name = self.tools.names[function["name"]]
            sent = {"name": name, "description": function.get("description", ""), "parameters": schema}
            tools.append({"type": "function", "function": {**sent, "strict": True} if strict else sent})
        messages = [self._map(message, encode_call) for message in request.messages]
        self.request = request.override(tools=tools, messages=messages)

    def received(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The response in the tools' own names and schemas."""
        result = [self._map(message, decode_call) for message in response.result]
        return ModelResponse(result=result, structured_response=response.structured_response)

    def _map(self, message: Any, convert: Callable[[FittedTools, str, Any], tuple[str, Any]]) -> Any:
        if not isinstance(message, AIMessage) or not message.tool_calls:
            return message
        calls: list[Any] = []
        for call in message.tool_calls:
            name, arguments = convert(self.tools, call["name"], call["args"])
            calls.append({**call, "name": name, "args": arguments})
        # The raw calls would be sent again instead of these.
        kwargs = {name: value for name, value in message.additional_kwargs.items() if name != "tool_calls"}
        return message.model_copy(update={"tool_calls": calls, "additional_kwargs": kwargs})


class PolywireMiddleware(AgentMiddleware[Any, Any, Any]):
    """A middleware that fits the tools of every request, and converts calls back."""

    def __init__(self, to: str) -> None:
        super().__init__()
        self._target = Target(to)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Sends a request with fitted tools."""
        contract = _Contract(self._target, request)
        return contract.received(handler(contract.request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Sends a request with fitted tools."""
        contract = _Contract(self._target, request)
        return contract.received(await handler(contract.request))
