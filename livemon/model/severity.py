"""From when a finding is critical, and why one is or is not, in words."""

from __future__ import annotations

from dataclasses import dataclass

from livemon.model.findings import Finding, HostSlowTransient, OversizedFinalize

CRITICAL_SHARE = 0.10
"""A class's finalize stage that takes this share of the step is critical."""
STAYS = 0.8
"""What is critical stays so down to this part of its limit: a figure that hovers at it does not flicker."""
FIRM_RUNS = 12
FIRM_S = 2.0
"""A share over fewer runs and a shorter time is not told to be critical: it says little yet."""
FIRM_SLOW_UNITS = 8
FIRM_SLOW_S = 1.0
"""The same for the slowdown of an episode; a unit that lasted long enough to open one by itself is enough."""


def is_critical(value: float | None, limit: float, *, was: bool, is_firm: bool) -> bool:
    """Whether a figure is critical.

    Args:
        value: The figure; ``None``: unknown.
        limit: Critical from here on.
        was: It was critical when it was last told.
        is_firm: Enough was seen.

    >>> is_critical(0.12, 0.1, was=False, is_firm=True), is_critical(0.09, 0.1, was=True, is_firm=True)
    (True, True)
    >>> is_critical(0.09, 0.1, was=False, is_firm=True), is_critical(0.5, 0.1, was=False, is_firm=False)
    (False, False)
    """
    return value is not None and is_firm and value >= limit * (STAYS if was else 1.0)


@dataclass(frozen=True, slots=True)
class SeverityRules:
    """The limits that a session is judged with; a finding that reaches none of them is a warning."""

    finalize_share: float = CRITICAL_SHARE
    """Of the step, for an oversized finalize."""
    slowdown: float = 4.0
    """Ratio of host stages against the healthy state, for an episode."""
    recover_by_s: float = 5.0
    """An episode that lasts longer is critical."""

    def why(self, finding: Finding) -> str:
        """Why a finding has the severity that it has, with the limit.

        >>> from livemon.model.findings import OversizedFinalize
        >>> SeverityRules().why(OversizedFinalize("F1", "warning", None, "validate", 7.0, 5.0, None, None, None,
        ...     0.042, "wall time of the steps", None, None, 9, 0, None, 0))
        '4.2 % of the wall time of the steps; critical from 10 % on'
        """
        if isinstance(finding, OversizedFinalize):
            return self._why_finalize(finding)
        return self._why_slow(finding)

    def _why_finalize(self, finding: OversizedFinalize) -> str:
        limit = f"critical from {self.finalize_share * 100:g} % on"
        if finding.share_of_total is None:
            return f"its share of the step is {finding.share_denominator or 'unknown'}; {limit}"
        percent, most = finding.share_of_total * 100, self.finalize_share * 100
        share = f"{percent:.1f} %" if percent >= most or round(percent, 1) < most else f"{percent:.2f} %"
        if percent < most <= round(percent, 2):
            share = f"just under {most:g} %"
        return f"{share} of the {finding.share_denominator or 'total'}; {limit}{_unlike(finding, percent >= most)}"

    def _why_slow(self, finding: HostSlowTransient) -> str:
        reasons = []
        if finding.stopped_s > 0:
            reasons.append(f"a process was stopped for {finding.stopped_s:.1f} s, which is always critical")
        if finding.not_recovered_by_5_s:
            reasons.append(f"not recovered {self.recover_by_s:g} s after its start")
        if finding.slowdown is not None and finding.slowdown >= self.slowdown:
            few = f", once {FIRM_SLOW_UNITS} slow units or {FIRM_SLOW_S:g} s were seen"
            limit = f"critical from {self.slowdown:g}× on{few if finding.severity == 'warning' else ''}"
            reasons.append(f"{finding.slowdown:.2f}× its usual time; {limit}")
        if reasons:
            return ", and ".join(reasons)
        limits = f"critical from {self.slowdown:g}× on, or when it lasts longer than {self.recover_by_s:g} s"
        limits += _unlike(finding, is_over=False)
        return limits if finding.slowdown is None else f"{finding.slowdown:.2f}× its usual time; {limits}"


def _unlike(finding: Finding, is_over: bool) -> str:
    """Why a finding has not the severity that its figure alone would give it; empty if it has."""
    if is_over and finding.severity == "warning":
        return f", once {FIRM_RUNS} runs or {FIRM_S:g} s were seen"
    if not is_over and finding.severity == "critical":
        return f", and was so: it stays critical down to {STAYS * 100:g} % of that"
    return ""
