"""Slow stretches that are no episode: when they were, how slow, and how near; however the stream is cut."""

from __future__ import annotations

import pytest

from livemon.engine.engine import Engine
from livemon.model.facts import SessionFacts
from livemon.model.findings import Blip
from livemon.model.samples import Sample
from tests.engine.serving import Episode, Serving, seconds
from tests.engine.test_host_slow import CRITERIA


def blips(samples: list[Sample], batch: int) -> tuple[int, tuple[Blip, ...], int]:
    engine = Engine(CRITERIA, SessionFacts())
    for k in range(0, len(samples), batch):
        engine.feed(samples[k : k + batch])
    engine.finish()
    return engine.blips, engine.newest_blips(), len(engine.get())


def test_a_stretch_that_is_too_short_is_told_with_its_time_size_and_distance() -> None:
    samples = Serving(30, threads=False, episodes=[Episode(15.0, 15.045, factor=4.0)]).samples()
    count, told, findings = blips(samples, len(samples))
    assert (count, findings) == (len(told), 0)
    (near,) = [blip for blip in told if 14.9 < seconds(blip.start_ns) < 15.2]
    assert seconds(near.end_ns) == pytest.approx(15.06, abs=0.04)
    assert 1 <= near.slow_units <= 6
    assert near.slowest == pytest.approx(4.0, rel=0.3)
    assert near.evidence > 0.6
    assert blips(samples, 7) == blips(samples, 100) == (count, told, findings)


def test_what_becomes_an_episode_is_none() -> None:
    samples = Serving(30, threads=False, episodes=[Episode(15.0, 18.0)]).samples()
    count, told, findings = blips(samples, 50)
    assert findings == 1
    assert count == len(told)
    assert not [blip for blip in told if 15.0 <= seconds(blip.start_ns) < 18.0]
