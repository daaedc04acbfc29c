"""Making many samples: a plain class with the same slots is filled in and then becomes the frozen one.

A frozen class's constructor looks each field up by its name; between ticks, when caches hold other
programs' data, that takes twice to three times as long.
"""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from typing import Any


def unfrozen(kind: type[Any]) -> type[Any]:
    """A class with the fields of a frozen one, without defaults; set ``__class__`` of what it made to ``kind``.

    >>> from livemon.model.samples import ThreadGone
    >>> made = unfrozen(ThreadGone)(1, 7, "exited")
    >>> made.__class__ = ThreadGone
    >>> made == ThreadGone(1, 7)
    True
    """
    return make_dataclass(f"Unfrozen{kind.__name__}", [field.name for field in fields(kind)], slots=True, eq=False)
