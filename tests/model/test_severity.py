"""Why a finding is critical or a warning is said with its limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livemon.model.findings import HostSlowTransient, OversizedFinalize
from livemon.model.severity import SeverityRules

FINALIZE = OversizedFinalize(
    "F1", "critical", "2/3", "validate", 26.6, 5.0, "device_wall", 3.2, 8.3, 0.38, "wall time of the steps",
    26.6, 21.6, 60, 0, None, 1,
)  # fmt: skip
EPISODE = HostSlowTransient("T1", "warning", 0, 3_000_000_000, 400_000_000, 2.5, 9.0, None)
RULES = SeverityRules(slowdown=3.0, recover_by_s=4.0)


@pytest.mark.parametrize(
    ("severity", "share", "words"),
    [
        ("critical", 0.38, "38.0 % of the wall time of the steps; critical from 10 % on"),
        ("critical", 0.10, "10.0 % of the wall time of the steps; critical from 10 % on"),
        ("warning", 0.0999, "9.99 % of the wall time of the steps; critical from 10 % on"),
        ("warning", 0.0999999, "just under 10 % of the wall time of the steps; critical from 10 % on"),
        ("warning", 0.003, "0.3 % of the wall time of the steps; critical from 10 % on"),
    ],
)
def test_a_finalize_finding_says_its_share_and_the_limit(severity: str, share: float, words: str) -> None:
    assert RULES.why(replace(FINALIZE, severity=severity, share_of_total=share)) == words  # type: ignore[arg-type]


def test_a_share_that_is_not_known_says_why() -> None:
    finding = replace(FINALIZE, severity="warning", share_of_total=None, share_denominator="unknown: one run only")
    assert RULES.why(finding) == "its share of the step is unknown: one run only; critical from 10 % on"


def test_an_episode_says_what_made_it_critical_and_the_limits_in_force() -> None:
    assert RULES.why(EPISODE) == "2.50× its usual time; critical from 3× on, or when it lasts longer than 4 s"
    slow = replace(EPISODE, severity="critical", slowdown=3.1)
    assert RULES.why(slow) == "3.10× its usual time; critical from 3× on"
    late = replace(EPISODE, severity="critical", not_recovered_by_5_s=True)
    assert RULES.why(late) == "not recovered 4 s after its start"
    assert RULES.why(replace(late, slowdown=9.0)).startswith("not recovered 4 s after its start, and 9.00×")
    unknown = replace(EPISODE, slowdown=None)
    assert RULES.why(unknown) == "critical from 3× on, or when it lasts longer than 4 s"


def test_a_severity_that_is_not_that_of_the_figure_says_why() -> None:
    few = replace(FINALIZE, severity="warning", share_of_total=0.19, units=7)
    assert RULES.why(few).endswith("; critical from 10 % on, once 12 runs or 2 s were seen")
    hovers = replace(FINALIZE, severity="critical", share_of_total=0.09)
    assert RULES.why(hovers).endswith("; critical from 10 % on, and was so: it stays critical down to 80 % of that")
    short = replace(EPISODE, severity="warning", slowdown=3.1)
    assert RULES.why(short) == "3.10× its usual time; critical from 3× on, once 8 slow units or 1 s were seen"
    assert RULES.why(replace(EPISODE, severity="critical", slowdown=2.5)).endswith(
        "stays critical down to 80 % of that"
    )
