"""What a stage is by its name: ``device``, ``finalize``, ``wait``, ``total``, ``cpu`` or ``host``.

The criteria's own lists win, by exact name (case and a unit suffix ignored). Then the lexicon: the
whole name, the last part of a dotted or slashed path (``chip.run.validate`` -> ``validate``), and last
the words of that part, in the order of ``_WORDS``: ``gpu_queue_wait`` waits, it does not compute.
A name that nothing knows is host work: that is the honest reading of "time in the serving
process that no device accounts for".
"""

from __future__ import annotations

import re
from functools import lru_cache

from livemon.model.criteria import Criteria, Roles

DEVICE, FINALIZE, HOST, WAIT, TOTAL, CPU, UNACCOUNTED = (
    "device",
    "finalize",
    "host",
    "wait",
    "total",
    "cpu",
    "unaccounted",
)

_NAMES: dict[str, str] = {
    TOTAL: """
        total total_time e2e end_to_end elapsed elapsed_time latency duration wall walltime run run_prepared request
        request_time response_time step iter iteration took time_taken real host_latency roundtrip round_trip
    """,
    CPU: "cpu thread_cpu process_cpu cputime user sys cpu_user cpu_system oncpu on_cpu",
    FINALIZE: """
        validate finalize finalise finalization post postprocess post_process postprocessing d2h copy_back copyback
        copy_from_device device_free detokenize detokenise detokenization decode_output compute_output output_copy
        readback read_back teardown cleanup epilogue gather_outputs response_build completion callback
    """,
    WAIT: """
        queue queued queueing queuing wait waiting idle blocked lock lock_time pending backlog time_in_queue
        batch_wait enqueue_wait
    """,
    HOST: "compute_input enqueue launch launch_aicore gpu_submit host_wall prefetch",
    DEVICE: """
        runner_run device_wall device forward backward kernel kernels native infer inference compute compute_infer
        gpu npu tpu ane aicore aicpu sync_aicpu sync_aicore prefill eval prompt_eval generate model_execute
        execute_model stream_sync device_sync gpu_latency
    """,
}
"""Whole names by role."""

_WORDS: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (role, frozenset(words.split()))
    for role, words in (
        (TOTAL, "total e2e overall walltime"),
        (CPU, "cpu cputime"),
        (WAIT, "queue queued queueing queuing wait waiting idle blocked lock stall"),
        (
            FINALIZE,
            """
            validate finalize finalise finalization postprocess postprocessing d2h detokenize detokenization readback
            copyback teardown epilogue
            """,
        ),
        (HOST, "launch submit enqueue dispatch prepare input h2d load init compile"),
        (
            DEVICE,
            """
            forward backward kernel infer inference gpu npu tpu ane device cuda prefill aicore aicpu native eval
            """,
        ),
    )
)
"""Single words by role; the first that matches counts."""

_LEXICON: dict[str, str] = {name: role for role, names in _NAMES.items() for name in names.split()}
_UNIT = re.compile(r"_(ms|msec|msecs|millis|milliseconds|us|usec|ns|nsec|s|sec|secs|seconds|time|duration|dur|cost)$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PATH = re.compile(r"[./:]+")
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def _plain(name: str) -> str:
    """Lower case words joined with ``_``."""
    return _SEPARATORS.sub("_", _CAMEL.sub("_", name).lower()).strip("_")


def _by_lexicon(stage: str) -> str:
    whole = _plain(stage)
    last = _plain(next((part for part in reversed(_PATH.split(stage)) if part), stage))
    for name in (whole, last):
        while True:
            if name in _LEXICON:
                return _LEXICON[name]
            shorter = _UNIT.sub("", name)
            if shorter == name:
                break
            name = shorter
    words = set(last.split("_"))
    for role, known in _WORDS:
        if words & known:
            return role
    return HOST


class RoleTable:
    """Roles of stage names under one set of criteria, remembered by name."""

    def __init__(self, roles: Roles) -> None:
        self._given: dict[str, str] = {}
        for role in (HOST, WAIT, DEVICE, FINALIZE, TOTAL, CPU):
            self._given |= dict.fromkeys(getattr(roles, role), role)
        self._plain_given = {_plain(name): role for name, role in self._given.items()}
        self._known: dict[str, str] = {}

    def role(self, stage: str) -> str:
        """The stage's role; the same name always has the same one."""
        known = self._known.get(stage)
        if known is not None:
            return known
        role = self._given.get(stage)
        if role is None:
            plain = _plain(stage)
            role = self._plain_given.get(plain) or self._plain_given.get(_UNIT.sub("", plain)) or _by_lexicon(stage)
        if len(self._known) < 10_000:  # names with variable parts must not grow it for ever
            self._known[stage] = role
        return role

    def is_given(self, stage: str) -> bool:
        """Whether the criteria name this stage themselves."""
        return stage in self._given or _plain(stage) in self._plain_given


@lru_cache(maxsize=16)
def _table(roles: Roles) -> RoleTable:
    return RoleTable(roles)


def role_of(stage: str, criteria: Criteria) -> str:
    """Role of a stage: ``device``, ``finalize``, ``host``, ``wait``, ``total`` or ``cpu``."""
    return _table(criteria.roles).role(stage)
