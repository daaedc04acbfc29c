"""Units so long that one of them is an episode.

Evidence that is counted in units runs dry where it matters most: the slower a host, the fewer units end. A
unit stands for its whole duration. One that keeps the host side busy half a second longer than usual fills
a bin of the recovery rule by itself, and takes the place of all the units that were due in that time.

Such a unit must be out of all proportion: several times its usual host time, twice as far as anything that
its kind has shown in one stage, and not because it is a bigger unit (its device stages would have grown with it).
"""

from __future__ import annotations

import numpy as np

from livemon.engine.host_baseline import KindBaseline
from livemon.engine.logbins import PER_COARSE, Floats, Ints, value_of
from livemon.model.criteria import HostSlow

BEYOND = 12
"""Coarse bins above the longest that was learned: twice as long."""


def long_units(
    host_ms: Floats, device_ms: Floats, fine: Ints, baseline: KindBaseline, devices: int, criteria: HostSlow
) -> dict[int, tuple[float, float]]:
    """The long ones among units of one kind: row -> (its host time, the usual one), ms.

    Args:
        host_ms: Their host stages, (units, hosts).
        device_ms: Their device stages, (units, devices).
        fine: Fine bins of the watched columns: host stages first, then device stages.
        baseline: Healthy state of the kind.
        devices: How many device stages there are.
        criteria: From when a unit is long.
    """
    spent = host_ms.sum(axis=1)
    least_ms = criteria.long_unit_s * 1e3
    rows = np.flatnonzero(spent >= least_ms)
    if not len(rows):
        return {}
    hosts = baseline.hosts
    usual = np.array([value_of(float(middle)) for middle in baseline.median[: hosts + devices]])
    usual_ms, usual_device_ms = float(usual[:hosts].sum()), float(usual[hosts:].sum())
    out = {}
    for row in rows.tolist():
        if spent[row] - usual_ms < least_ms:
            continue
        bigger = max(float(device_ms[row].sum()) / usual_device_ms, 1.0) if devices else 1.0
        worst = int((host_ms[row] - usual[:hosts]).argmax())
        is_new = fine[row, worst] // PER_COARSE >= baseline.top[worst] + BEYOND
        if is_new and spent[row] >= criteria.long_unit_ratio * usual_ms * bigger:
            out[row] = float(spent[row]), usual_ms
    return out
