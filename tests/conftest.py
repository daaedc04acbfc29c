"""What every test has in common: nothing of the machine's own environment, and the same examples in every run."""

from __future__ import annotations

import os
import time

import hypothesis
import pytest

# Before any test is read: some work out local times when they are.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

# The gate runs the same examples everywhere: it never fails for luck, nor for a slow machine.
# New ones are looked for with ``pytest --hypothesis-profile=search``.
hypothesis.settings.register_profile(
    "same",
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "search", hypothesis.settings.get_profile("same"), derandomize=False, max_examples=300
)
hypothesis.settings.load_profile("same")

OUTSIDE = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "COLUMNS", "LINES", "NO_COLOR", "PYTHONIOENCODING")
"""Variables that would change what livemon does or prints."""


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper() in OUTSIDE or name.startswith(("LIVEMON_", "OTEL_", "SCRIPTED_")):
            monkeypatch.delenv(name)
