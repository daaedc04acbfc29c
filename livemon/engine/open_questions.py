"""What the evidence of an episode leaves open, in words."""

from __future__ import annotations

from livemon.engine.scene import Scene
from livemon.engine.thread_figures import newly_busy
from livemon.model.findings import CAUSE_WORDS, Cause


def does_not_show(scene: Scene, causes: tuple[Cause, ...], primary: str | None) -> tuple[str, ...]:
    """What the evidence of an episode leaves open, in words."""
    out = []
    if primary == "placement":
        out.append("why the scheduler placed the threads there")
    elif primary in {"cycle_rate", "ipc"}:
        out.append("what lowered the rate: power limits, temperature, or other work on the machine")
    elif primary == "off_cpu":
        verdicts = {cause.cause: cause for cause in causes}
        if verdicts["blocked"].verdict != "ruled_out":
            out.append("what was waited for")
        if verdicts["blocked"].verdict != "applies":
            found = newly_busy(scene.witnesses, verdicts["off_cpu"].threads)
            out.append(f"who {'else ran' if found else 'ran instead'}: only watched processes are seen")
    elif primary is None:
        out.append("the cause: nothing that was measured explains it")
    if scene.is_estimated and scene.tells_placement:
        out.append("exact placement: the core class is estimated from the last CPU seen at each sample")
    unknown = [cause.cause for cause in causes if cause.verdict == "unknown"]
    if unknown:
        out.append("whether these played a part: " + ", ".join(CAUSE_WORDS.get(name, name) for name in unknown))
    return tuple(out)
