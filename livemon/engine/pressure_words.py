"""What pressed on the machine around an episode, in words beside the evidence of a cause: it decides nothing."""

from __future__ import annotations

from livemon.engine.machine_pressure import Rates

Sides = tuple[Rates | None, Rates | None]
"""Rates during the episode and before it."""


def speed_words(sides: Sides) -> str:
    """How fast the CPUs ran that the threads ran on, and heat: begins with ``; `` or is empty.

    A frequency is one reading a second. Where it fell nothing says who lowered it, but for heat, which is counted.
    """
    during, before = sides
    if during is None or before is None:
        return ""
    out = ""
    if during.mhz is not None and before.mhz is not None:
        out += f"; the CPUs they ran on were at {during.mhz:,.0f} MHz against {before.mhz:,.0f} (read once a second)"
    heat = during.get("thermal_throttle_count"), before.get("thermal_throttle_count")
    if heat[0] is not None and heat[1] is not None and heat[0] > heat[1]:
        out += f"; heat throttled this machine's CPUs {heat[0]:.1f} times per s against {heat[1]:.1f}"
    return out


def stall_words(sides: Sides) -> str:
    """How much of the time tasks waited for I/O and for memory (PSI), of the target's cgroup where that is recorded."""
    during, before = sides
    if during is None or before is None:
        return ""
    for whose, prefix in (("its cgroup", "cgroup_psi"), ("the machine", "psi")):
        shares = []
        for what, resource in (("I/O", "io"), ("memory", "memory")):
            name = f"{prefix}_{resource}_some_us"
            pair = during.get(name), before.get(name)
            if pair[0] is not None and pair[1] is not None:
                shares.append(f"for {what} {pair[0] / 1e6:.0%} of the time against {pair[1] / 1e6:.0%}")
        if shares:
            return f"; tasks of {whose} waited {', '.join(shares)} (PSI)"
    return ""
