"""What is to be followed; light, because the caller of a recorder only hands it on."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogRequest:
    """What the user asked to be followed."""

    path: str
    """A path or a glob; what to call it when ``fd`` is given."""
    fd: int | None = None
    """An open pipe or file to read instead of opening ``path``."""
    from_start: bool = False
    is_child: bool = False
    """The output of the command that livemon started."""


def is_glob(path: str) -> bool:
    """Whether a path is a pattern; a file whose very name has such signs is not one."""
    return glob.has_magic(path) and not os.path.lexists(path)
