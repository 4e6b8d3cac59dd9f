"""One LLM request in, any provider out; the answer back in the shape you asked for, and a report of every change and loss.

Fit a schema to a provider, and bring values back:

>>> import polywire as pw
>>> fitted = pw.fit({"type": "object", "properties": {"city": {"type": "string"}}}, "openai-strict")
>>> fitted.strict, fitted.decode({"city": None})
(True, {})

Ask a model for a value; the emulator needs no key:

>>> asked = pw.Client().ask("A number", {"type": "integer"}, model="emulator/openai")
>>> isinstance(asked.value, int)
True
"""

from __future__ import annotations

import atexit

from . import _polywire as _native
from ._answer import Answer, ParseOptions, PartialParser, parse
from ._catalog import dialects, misbehaviours, models
from ._client import (
    AskOptions,
    AskStream,
    Asked,
    AsyncAskStream,
    AsyncClient,
    Client,
    ClientOptions,
    Partial,
    Ran,
    RunOptions,
)
from ._emulator import Emulator
from ._errors import (
    AnswerError,
    CancelledError,
    ConversionError,
    DecodeError,
    InputError,
    LossError,
    PolywireError,
    ProviderError,
    RefusedError,
    SchemaError,
    SendError,
    UnknownNameError,
)
from ._fit import Call, FitOptions, Fitted, FittedTools, check, check_tools, fit, fit_tools
from ._polywire import Change, Fault, Repair, Violation
from ._tool import Tool
from ._translation import (
    PlanOptions,
    RefusedResponse,
    StreamEnd,
    TranslatedRequest,
    TranslatedResponse,
    Translation,
    TranslationOptions,
    TranslationStream,
    plan,
)

__all__ = [
    "Answer",
    "AnswerError",
    "AskOptions",
    "AskStream",
    "Asked",
    "AsyncAskStream",
    "AsyncClient",
    "Call",
    "CancelledError",
    "Change",
    "Client",
    "ClientOptions",
    "ConversionError",
    "DecodeError",
    "Emulator",
    "Fault",
    "FitOptions",
    "Fitted",
    "FittedTools",
    "InputError",
    "LossError",
    "ParseOptions",
    "Partial",
    "PartialParser",
    "PlanOptions",
    "PolywireError",
    "ProviderError",
    "Ran",
    "RefusedError",
    "RefusedResponse",
    "Repair",
    "RunOptions",
    "SchemaError",
    "SendError",
    "StreamEnd",
    "Tool",
    "TranslatedRequest",
    "TranslatedResponse",
    "Translation",
    "TranslationOptions",
    "TranslationStream",
    "UnknownNameError",
    "Violation",
    "check",
    "check_tools",
    "dialects",
    "fit",
    "fit_tools",
    "misbehaviours",
    "models",
    "parse",
    "plan",
]

__version__: str = _native.VERSION
"""The version of the package."""

# Threads of the runtime must not meet an interpreter that ends.
atexit.register(_native.shutdown)
