"""OpenAI Agents SDK: ``Agent(model=PolywireModel(model, "openai-strict"), …)``.

Function tools need ``strict_mode=False``, so that the SDK does not refuse schemas that are only legal once they are fitted; an output
type needs ``AgentOutputSchema(…, strict_json_schema=False)``. In streams, the parts of arguments that are converted are held back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from agents import AgentOutputSchemaBase, FunctionTool, Model, ModelResponse
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from .._fit import Fitted, FittedTools
from ._core import Target, decode_output, decode_text, encode_text

__all__ = ["PolywireModel"]


class _Output(AgentOutputSchemaBase):
    """The agent's output type with a fitted schema. The text is converted before the agent validates it."""

    def __init__(self, own: AgentOutputSchemaBase, fitted: Fitted[Any]) -> None:
        self._own = own
        self._fitted = fitted

    def is_plain_text(self) -> bool:
        return self._own.is_plain_text()

    def name(self) -> str:
        return self._own.name()

    def json_schema(self) -> dict[str, Any]:
        return self._fitted.schema

    def is_strict_json_schema(self) -> bool:
        return self._fitted.strict

    def validate_json(self, json_str: str) -> Any:
        return self._own.validate_json(json_str)


class _Contract:
    """What was sent for one request."""

    def __init__(self, target: Target, tools: list[Any], output: AgentOutputSchemaBase | None) -> None:
        own = [tool for tool in tools if isinstance(tool, FunctionTool)]
        self.fitted: FittedTools = target.tools((tool.name, tool.description, tool.params_json_schema) for tool in own)
        self.tools = [self._tool(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]
        self.output_fitted: Fitted[Any] | None = None
        self.output = output
        if output is not None and not output.is_plain_text():
            self.output_fitted = target.output(output.json_schema())
            self.output = _Output(output, self.output_fitted)

    def _tool(self, tool: FunctionTool) -> FunctionTool:
        found = self.fitted.schema(tool.name)
        if found is None:
            return tool
        schema, strict = found
        name = self.fitted.names[tool.name]
        return dataclasses.replace(tool, name=name, params_json_schema=schema, strict_json_schema=strict)

    def sent(self, input: str | list[Any]) -> str | list[Any]:
        """The history as the model saw it."""
        if isinstance(input, str):
            return input
        items: list[Any] = []
        for item in input:
            if isinstance(item, dict) and item.get("type") == "function_call":
                name, arguments = encode_text(self.fitted, str(item["name"]), str(item["arguments"]))
                item = {**item, "name": name, "arguments": arguments}
            items.append(item)
        return items

    def received(self, item: Any) -> Any:
        """An item of the response in the caller's names and shapes."""
        if isinstance(item, ResponseFunctionToolCall):
            name, arguments = decode_text(self.fitted, item.name, item.arguments)
            return item.model_copy(update={"name": name, "arguments": arguments})
        if isinstance(item, ResponseOutputMessage) and self.output_fitted is not None:
            fitted = self.output_fitted
            content = [
                part.model_copy(update={"text": decode_output(fitted, part.text)})
                if isinstance(part, ResponseOutputText)
                else part
                for part in item.content
            ]
            return item.model_copy(update={"content": content})
        return item


class PolywireModel(Model):
    """A model whose schemas are fitted, and whose calls and outputs come back in the agent's own types."""

    def __init__(self, wrapped: Model, to: str) -> None:
        self._wrapped = wrapped
        self._target = Target(to)

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,
        model_settings: Any,
        tools: list[Any],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Any],
        tracing: Any,
        **more: Any,
    ) -> ModelResponse:
        """Sends a request with fitted schemas."""
        contract = _Contract(self._target, tools, output_schema)
        response = await self._wrapped.get_response(
            system_instructions,
            contract.sent(input),
            model_settings,
            contract.tools,
            contract.output,
            handoffs,
            tracing,
            **more,
        )
        response.output = [contract.received(item) for item in response.output]
        return response

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,
        model_settings: Any,
        tools: list[Any],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Any],
        tracing: Any,
        **more: Any,
    ) -> AsyncIterator[Any]:
        """Streams a response. Parts of arguments are held back; whole items come back in the caller's names and shapes."""
        contract = _Contract(self._target, tools, output_schema)
        events = self._wrapped.stream_response(
            system_instructions,
            contract.sent(input),
            model_settings,
            contract.tools,
            contract.output,
            handoffs,
            tracing,
            **more,
        )
        async for event in events:
            kind = getattr(event, "type", "")
            if kind in ("response.function_call_arguments.delta", "response.function_call_arguments.done"):
                continue
            if contract.output_fitted is not None and kind.startswith("response.output_text."):
                continue
            if kind in ("response.output_item.added", "response.output_item.done"):
                if kind.endswith("done"):
                    event.item = contract.received(event.item)
                yield event
                continue
            if kind in ("response.completed", "response.incomplete"):
                event.response.output = [contract.received(item) for item in event.response.output]
            yield event

    async def close(self) -> None:
        """Closes the wrapped model."""
        await self._wrapped.close()
