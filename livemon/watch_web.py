"""``--web``: the screens in a browser, through textual-serve; only when asked for."""

from __future__ import annotations

import shlex
import sys

from livemon.model.errors import EXIT_OK, UsageError


def serve(session_path: str, address: str) -> int:
    """Serve the screens on a session until Ctrl-C.

    Raises:
        UsageError: the address is wrong, or textual-serve is not installed.
    """
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit():
        raise UsageError(f"--web {address!r} is not HOST:PORT", "such as localhost:8000")
    try:
        from textual_serve.server import Server
    except ImportError:
        raise UsageError("--web needs textual-serve", "pip install 'livemon[web]'") from None
    command = shlex.join([sys.executable, "-P", "-m", "livemon", "attach", session_path])
    Server(command, host=host or "localhost", port=int(port), title="livemon").serve()
    return EXIT_OK
