"""Descriptors are few on some machines: what a test opened is closed with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from livemon.collect.pressure import PressureSampler
from livemon.collect.procfs_sampler import ProcSampler
from livemon.collect.tail import Tail


@pytest.fixture(autouse=True)
def nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[ProcSampler | PressureSampler | Tail] = []
    for kind in (ProcSampler, PressureSampler, Tail):
        plain = kind.__init__

        def noted(self, *args: object, plain=plain, **options: object) -> None:  # type: ignore[no-untyped-def]
            plain(self, *args, **options)
            made.append(self)

        monkeypatch.setattr(kind, "__init__", noted)
    yield
    for one in made:
        if isinstance(one, Tail):
            one.finish()
        else:
            one.close()
