"""Descriptors are few on some machines: what a test opened is closed with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from livemon.collect.pressure import PressureSampler
from livemon.collect.procfs_sampler import ProcSampler
from livemon.collect.procfs_table import READER_VARIABLE
from livemon.collect.tail import Tail
from tests.collect.thread_readers import MODULE, compiled_reader


@pytest.fixture(params=["compiled", "python"])
def thread_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Threads are read by one and then by the other reader; processes that a test starts take what is installed."""
    if request.param == "python":
        monkeypatch.setenv(READER_VARIABLE, "python")
    else:
        reader = compiled_reader()
        if isinstance(reader, str):
            pytest.skip(f"the compiled thread reader can't be built here: {reader}")
        monkeypatch.setitem(sys.modules, MODULE, reader)
    return str(request.param)


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
