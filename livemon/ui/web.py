"""``--web``: the screens in a browser, through textual-serve; only when asked for."""

from __future__ import annotations

import importlib.util
import shlex
import sys

from livemon.model.errors import EXIT_OK, UsageError


def check_web(address: str) -> tuple[str, int]:
    """Host and port, before anything is started.

    Raises:
        UsageError: the address is wrong, or textual-serve is not installed.
    """
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit():
        raise UsageError(f"--web {address!r} is not HOST:PORT", "such as localhost:8000")
    if importlib.util.find_spec("textual_serve") is None:
        raise UsageError("--web needs textual-serve", "pip install 'livemon[web]'")
    return host or "localhost", int(port)


def serve(session_path: str, address: str) -> int:
    """Serve the screens on a session until Ctrl-C.

    Raises:
        UsageError: see ``check_web``.
    """
    host, port = check_web(address)
    from textual_serve.server import Server

    command = shlex.join([sys.executable, "-P", "-m", "livemon", "attach", session_path])
    Server(command, host=host, port=port, title="livemon").serve()
    return EXIT_OK
