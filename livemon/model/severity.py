"""From when a finding is critical, and why one is or is not, in words."""

from __future__ import annotations

from dataclasses import dataclass

from livemon.model.findings import Finding, HostSlowTransient, OversizedFinalize

CRITICAL_SHARE = 0.10
"""A class's finalize stage that takes this share of the step is critical."""


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
        return f"{share} of the {finding.share_denominator or 'total'}; {limit}"

    def _why_slow(self, finding: HostSlowTransient) -> str:
        reasons = []
        if finding.stopped_s > 0:
            reasons.append(f"a process was stopped for {finding.stopped_s:.1f} s, which is always critical")
        if finding.not_recovered_by_5_s:
            reasons.append(f"not recovered {self.recover_by_s:g} s after its start")
        if finding.slowdown is not None and finding.slowdown >= self.slowdown:
            reasons.append(f"{finding.slowdown:.2f}× its usual time; critical from {self.slowdown:g}× on")
        if reasons:
            return ", and ".join(reasons)
        limits = f"critical from {self.slowdown:g}× on, or when it lasts longer than {self.recover_by_s:g} s"
        return limits if finding.slowdown is None else f"{finding.slowdown:.2f}× its usual time; {limits}"
