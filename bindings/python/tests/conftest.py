"""Nothing of the caller's configuration and keys plays a part in the tests."""

from __future__ import annotations

import os

for name in list(os.environ):
    if name.startswith("POLYWIRE_C") and name != "POLYWIRE_CASES":
        del os.environ[name]
