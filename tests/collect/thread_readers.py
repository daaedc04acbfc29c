"""Builds the compiled thread reader from the source beside this test, whatever was installed."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

SOURCE = Path(__file__).parent.parent.parent / "livemon/collect/_threadreads.c"
MODULE = "livemon.collect._threadreads"
STRICT = ("-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Werror")


@cache
def compiled_reader() -> ModuleType | str:
    """The module, or why there is none here; ``CFLAGS`` are heeded, so that it can be built with sanitizers."""
    include = sysconfig.get_paths()["include"]
    if not (Path(include) / "Python.h").exists():
        return f"no C headers of Python ({include}/Python.h)"
    with TemporaryDirectory() as folder:
        library = f"{folder}/_threadreads.abi3.so"
        flags = [*STRICT, "-O2", "-shared", "-fPIC", f"-I{include}", *shlex.split(os.environ.get("CFLAGS", ""))]
        if sys.platform == "darwin":
            flags += ["-undefined", "dynamic_lookup"]
        try:
            done = subprocess.run(["cc", *flags, "-o", library, str(SOURCE)], capture_output=True, text=True)
        except FileNotFoundError:
            return "no C compiler (cc)"
        assert done.returncode == 0, done.stderr
        spec = importlib.util.spec_from_file_location(MODULE, library)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
