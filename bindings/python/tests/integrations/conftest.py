"""The emulated provider that the adapters are tested against: it refuses what the real one refuses."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import polywire as pw
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from shapes import OWN, Registration  # noqa: E402

# Nothing is sent to the makers of the frameworks.
os.environ.update(OPENAI_AGENTS_DISABLE_TRACING="1", LANGSMITH_TRACING="false", LITELLM_LOCAL_MODEL_COST_MAP="True")

DIALECT = "openai-strict"
MODEL = "gpt-4.1"
WIRE = json.dumps(pw.fit(Registration, DIALECT).encode(OWN))
PROMPT = f"emulate: call register {WIRE}\nemulate: repeat"
"""Makes the model call the tool in the fitted shape, and then repeat its result."""


@pytest.fixture(params=["on", "off"])
def adapted(request: pytest.FixtureRequest) -> bool:
    """Whether the adapter is used: without it the same test must fail."""
    return request.param == "on"


@pytest.fixture
def base_url(polywire_emulator: pw.Emulator) -> str:
    return polywire_emulator.base_url("openai")
