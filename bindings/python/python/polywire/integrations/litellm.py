"""LiteLLM: ``litellm.callbacks = [PolywireCallback("openai-strict")]``, or in the configuration of its proxy.

It works for ``litellm.acompletion`` and the router (before a deployment is called), and for the proxy. Synchronous calls of
``litellm.completion`` have no such hooks. Tool calls of streams come back in one piece, when they are complete.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from ._core import Target, decode_text
from ._openai import ChatContract

__all__ = ["PolywireCallback"]

_REMEMBERED = 10_000


class PolywireCallback(CustomLogger):
    """A callback that fits the tools and the output schema of every request, and brings answers back."""

    def __init__(self, to: str) -> None:
        super().__init__()
        self._target = Target(to)
        self._contracts: OrderedDict[str, ChatContract] = OrderedDict()

    def _send(self, request: dict[str, Any]) -> dict[str, Any]:
        key = str(request.get("litellm_call_id", ""))
        if not key or key in self._contracts:
            return request
        contract = ChatContract(self._target, request)
        self._contracts[key] = contract
        while len(self._contracts) > _REMEMBERED:
            self._contracts.popitem(last=False)
        return {**request, **contract.changed}

    def _contract(self, request: dict[str, Any]) -> ChatContract | None:
        return self._contracts.pop(str(request.get("litellm_call_id", "")), None)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Fits the request of a deployment."""
        return self._send(kwargs)

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """Brings the answer of a deployment back."""
        contract = self._contract(request_data)
        if contract is not None:
            contract.receive(response)
        return response

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any) -> Any:
        """Fits a request of the proxy."""
        return self._send(data)

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Brings an answer of the proxy back."""
        contract = self._contract(data)
        if contract is not None:
            contract.receive(response)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Brings the tool calls of a stream of the proxy back, each in one piece at the end of its choice."""
        contract = self._contract(request_data)
        open_calls: dict[tuple[int, int], Any] = {}
        async for chunk in response:
            if contract is not None and contract.tools is not None:
                _hold(contract, chunk, open_calls)
            yield chunk


def _hold(contract: ChatContract, chunk: Any, open_calls: dict[tuple[int, int], Any]) -> None:
    """Takes the parts of calls out of a chunk, and puts the whole calls into the chunk that ends the choice."""
    for choice in chunk.choices:
        for call in choice.delta.tool_calls or []:
            held = open_calls.setdefault((choice.index, call.index), call)
            if held is not call:
                held.function.arguments = (held.function.arguments or "") + (call.function.arguments or "")
        choice.delta.tool_calls = None
        if choice.finish_reason is None or contract.tools is None:
            continue
        whole: list[Any] = []
        for index, call in list(open_calls.items()):
            if index[0] == choice.index:
                function = open_calls.pop(index).function
                function.name, function.arguments = decode_text(contract.tools, function.name, function.arguments or "")
                whole.append(call)
        choice.delta.tool_calls = whole or None
