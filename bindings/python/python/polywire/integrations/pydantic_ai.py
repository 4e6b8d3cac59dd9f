"""pydantic-ai: ``Agent(PolywireModel(model, "openai-strict"))``.

:class:`PolywireModel` wraps a model: tools and output schemas are fitted, calls and outputs come back in your types. Streams are
held back until they are complete. :func:`transformer` is the forward half alone, for a profile whose answers you convert yourself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import JsonSchemaTransformer
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from .._fit import Fitted, FittedTools, fit
from ._core import Target, decode_call, decode_output, encode_call

__all__ = ["PolywireModel", "transformer"]


def transformer(to: str) -> type[JsonSchemaTransformer]:
    """A schema transformer for ``ModelProfile(json_schema_transformer=…)``. Values must be converted back with ``Fitted.decode``."""

    class Transformer(JsonSchemaTransformer):
        def walk(self) -> dict[str, Any]:
            fitted = fit(self.schema, to)
            self.is_strict_compatible = fitted.strict
            return fitted.schema

        def transform(self, schema: dict[str, Any]) -> dict[str, Any]:
            return schema

    return Transformer


class _Contract:
    """What was sent for one request."""

    def __init__(self, target: Target, parameters: ModelRequestParameters) -> None:
        definitions = [*parameters.function_tools, *parameters.output_tools]
        self.tools: FittedTools = target.tools(
            (tool.name, tool.description, tool.parameters_json_schema) for tool in definitions
        )
        self.output: Fitted[Any] | None = None
        changed: dict[str, Any] = {
            "function_tools": [self._tool(tool) for tool in parameters.function_tools],
            "output_tools": [self._tool(tool) for tool in parameters.output_tools],
        }
        if parameters.output_object is not None and parameters.output_mode == "native":
            self.output = target.output(parameters.output_object.json_schema)
            changed["output_object"] = dataclasses.replace(
                parameters.output_object, json_schema=self.output.schema, strict=self.output.strict
            )
        self.parameters = dataclasses.replace(parameters, **changed)

    def _tool(self, tool: ToolDefinition) -> ToolDefinition:
        found = self.tools.schema(tool.name)
        if found is None:
            return tool
        schema, strict = found
        name = self.tools.names[tool.name]
        return dataclasses.replace(tool, name=name, parameters_json_schema=schema, strict=strict)

    def sent(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """The history as the model saw it."""
        return [self._sent(message) if isinstance(message, ModelResponse) else message for message in messages]

    def _sent(self, message: ModelResponse) -> ModelResponse:
        parts: list[Any] = []
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                name, arguments = encode_call(self.tools, part.tool_name, part.args)
                part = dataclasses.replace(part, tool_name=name, args=arguments)
            parts.append(part)
        return dataclasses.replace(message, parts=parts)

    def received(self, response: ModelResponse) -> ModelResponse:
        """The response in the caller's names and shapes."""
        parts: list[Any] = []
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                name, arguments = decode_call(self.tools, part.tool_name, part.args)
                part = dataclasses.replace(part, tool_name=name, args=arguments)
            elif isinstance(part, TextPart) and self.output is not None:
                part = dataclasses.replace(part, content=decode_output(self.output, part.content))
            parts.append(part)
        return dataclasses.replace(response, parts=parts)


class PolywireModel(WrapperModel):
    """A model whose schemas are fitted, and whose calls and outputs come back in the agent's own types."""

    def __init__(self, wrapped: Model, to: str) -> None:
        super().__init__(wrapped)
        self._target = Target(to)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Sends a request with fitted schemas."""
        contract = _Contract(self._target, self._resolved(model_request_parameters))
        response = await self.wrapped.request(contract.sent(messages), model_settings, contract.parameters)
        return contract.received(response)

    def _resolved(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        mode: Any = self.wrapped.profile.get("default_structured_output_mode", "tool")
        return parameters.with_default_output_mode(mode)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Streams a response. Its parts are held back until it is complete, because a part of a value cannot be converted."""
        contract = _Contract(self._target, self._resolved(model_request_parameters))
        stream = self.wrapped.request_stream(
            contract.sent(messages), model_settings, contract.parameters, run_context
        )
        async with stream as streamed:
            async for _event in streamed:
                pass
            response = contract.received(streamed.get())
        yield CompletedStreamedResponse(
            response, model_request_parameters=model_request_parameters, replay_events=True
        )
