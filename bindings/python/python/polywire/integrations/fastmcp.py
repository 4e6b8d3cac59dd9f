"""FastMCP: ``server.add_transform(PolywireTransform("openai-strict"))``.

Clients see fitted names and schemas; the functions of the server get arguments in their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastmcp.server.transforms import GetToolNext, Transform
from fastmcp.tools.base import Tool, ToolResult
from fastmcp.utilities.versions import VersionSpec
from pydantic import PrivateAttr

from .._fit import FittedTools
from ._core import Target, decode_call

__all__ = ["PolywireTransform"]


class FittedTool(Tool):
    """A tool with a fitted name and schema."""

    _own: Any = PrivateAttr()
    _fitted: Any = PrivateAttr()

    @classmethod
    def of(cls, tool: Tool, fitted: FittedTools) -> Tool:
        """The tool as clients see it."""
        found = fitted.schema(tool.name)
        if found is None:
            return tool
        fields = {name: getattr(tool, name) for name in Tool.model_fields}
        made = cls(**{**fields, "name": fitted.names[tool.name], "parameters": found[0]})
        made._own = tool
        made._fitted = fitted
        return made

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Calls the tool with arguments in its own schema."""
        _, own = decode_call(self._fitted, self.name, arguments)
        return await self._own.run(own)


class PolywireTransform(Transform):
    """A transform that fits every tool of a server."""

    def __init__(self, to: str) -> None:
        super().__init__()
        self._target = Target(to)
        self._names: dict[str, str] = {}

    def _fit(self, tool: Tool) -> Tool:
        fitted = self._target.tools([(tool.name, tool.description, tool.parameters)])
        self._names[fitted.names[tool.name]] = tool.name
        return FittedTool.of(tool, fitted)

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as clients see them."""
        return [self._fit(tool) for tool in tools]

    async def get_tool(self, name: str, call_next: GetToolNext, *, version: VersionSpec | None = None) -> Tool | None:
        """The tool of a name that clients use."""
        tool = await call_next(self._names.get(name, name), version=version)
        return None if tool is None else self._fit(tool)
