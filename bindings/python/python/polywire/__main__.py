"""The ``polywire`` command: ``polywire`` or ``python -m polywire``."""

from __future__ import annotations

import signal
import sys

from ._polywire import run_command

__all__ = ["main"]


def main() -> None:
    """Runs the command with the arguments of the process, and ends the process with its exit code."""
    # Python's handler only sets a flag, which nobody reads while the command runs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    raise SystemExit(run_command(["polywire", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
