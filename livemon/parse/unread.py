"""What looks like timing in a line and was not taken: each with the reason, and the option that would read it.

A number looks like timing if a unit of time stands with it, or if a word beside it is one that stages are
called by. For ``livemon parse --explain`` only: it looks at every number, which reading a log never does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from livemon.parse import keys, labels, units
from livemon.parse.jsonlines import MESSAGE_KEYS, split_objects
from livemon.parse.keyvalue import PAIR
from livemon.parse.reading import Reading

Trial = Callable[[str, str], bool]
"""Whether ``--unit NAME=UNIT`` reads a value under that name in this line."""
_MOST: Final = 12
"""Fields that are told of one line; the rest is counted."""
_DEEPEST: Final = 12
_STAGE_WORDS: Final = frozenset(
    ("duration", "latency", "elapsed", "took", "time", "wait", "wall", "rt", "dur", "delay", "runtime", "cost",
     "queue", "queued", "total", "prefill", "decode", "forward", "backward", "fwd", "bwd", "infer", "inference",
     "preprocess", "postprocess", "tokenize", "detokenize", "sample", "sampling", "prompt", "eval", "ttft", "tpot",
     "itl", "e2e", "gpu", "cpu", "kernel", "launch", "sync", "copy", "h2d", "d2h", "load", "compile", "init",
     "warmup", "setup", "render", "view", "db", "sql", "query", "parse", "connect", "dns", "tls", "ttfb",
     "response", "request", "fetch", "read", "write", "flush", "commit", "lock", "gc", "pause", "validate",
     "finalize", "execute", "exec", "run", "step", "iter", "schedule", "encode", "encoder", "decoder", "embed",
     "attention", "upload", "download", "io", "stage", "phase")
)  # fmt: skip
_FORMATS_WITHOUT_UNITS: Final = ("keyvalue", "json", "labels", "declared", "")
"""Rules that need a unit; any other knows what the numbers of its lines are."""
_STAMP = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?"
)
_NUMBER = re.compile(
    r"(?P<name>[A-Za-z_][\w.\-/]{0,80})?(?P<between>[ \t]{0,8}[:=([\"']{0,2}[ \t]{0,8})"
    rf"(?<![\w.,:#/@%])(?P<number>\d[\d.,]{{0,30}}(?:[eE][+\-]?\d{{1,3}})?)(?P<gap>[ \t]?)"
    rf"(?P<unit>{units.UNIT}(?![\w%²]))?"
)


def unread(text: str, reading: Reading, try_unit: Trial, try_labels: Callable[[], Reading]) -> list[str]:
    """One line of text for each field that looks like timing and was not taken.

    Args:
        text: The line, without wrappers.
        reading: What was read in it.
        try_unit: Tries ``--unit``.
        try_labels: Reads the line with ``--labels``.
    """
    start = text.find('{"') if '{"' in text else text.find('{ "')
    found = split_objects(text, start) if start >= 0 else None
    if found is not None and found[0]:
        out = [said for value in found[0] for said in _of_object(value, reading, try_unit, try_labels)]
    elif reading.remark and not reading.drafts:
        return []
    else:
        out = list(_of_text(text, reading, try_unit, try_labels))
    out = list(dict.fromkeys(out))
    if len(out) > _MOST:
        out[_MOST:] = [f"and {len(out) - _MOST} more fields like these"]
    return out


def looks_like_stage(name: str) -> bool:
    """Whether a word of a name is one that stages are called by, and its number no id and no count."""
    return not _STAGE_WORDS.isdisjoint(keys.words(name)) and keys.may_be_bare(name) and name.lower() not in keys.ID_KEYS


def why_not(name: str) -> str:
    """What the name says against its being the measured duration of one unit; empty if nothing."""
    if keys.is_statistic(name):
        return "a figure over several units, not a sample of one"
    if not keys.is_measured(name) or labels.PLANNED.search(name):
        return "by its name a plan, a limit, a clock or a length, nothing that was measured"
    return ""


def _remedy(name: str, unit: str | None, try_unit: Trial) -> str:
    """The option that reads it, tried; empty if none does."""
    if not try_unit(name, unit or "ms"):
        return ""
    return f"--unit {name}={unit} reads it all the same" if unit else f"--unit {name}=ms (or s, us, ns) reads it"


def _of_message(
    key: str, text: str, reading: Reading, try_unit: Trial, try_labels: Callable[[], Reading]
) -> Iterator[str]:
    """The text of an object: read by the other rules, unless the object itself gave a duration."""
    if not any(draft.source == "json" for draft in reading.drafts):
        yield from _of_text(text, reading, try_unit, try_labels)
        return
    measures = [match for match, _, unit in _numbers(text) if unit is not None]
    if measures:
        shown = measures[0][0].strip()
        yield f"{key}: {shown!r}: the text is not searched where the object itself gives a duration"


def _of_object(
    value: dict[str, Any], reading: Reading, try_unit: Trial, try_labels: Callable[[], Reading]
) -> Iterator[str]:
    taken = {name for draft in reading.drafts for name, _ in draft.stages}
    for path, key, item, is_in_array in _leaves(value, "", 0, is_in_array=False):
        suffix = keys.unit_suffix(key)
        unit = suffix[1] if suffix else keys.UNIT_WORDS.get(key)
        parent = path.rstrip(".").rpartition(".")[2]
        is_text = isinstance(item, str)
        if isinstance(item, str) and not _is_duration(item):
            if not path and key in MESSAGE_KEYS:
                yield from _of_message(key, item, reading, try_unit, try_labels)
            continue
        looks = is_text or unit is not None or looks_like_stage(key) or (key == "value" and looks_like_stage(parent))
        if not looks or _is_taken(path, key, item, taken) or (key.lower() in keys.TIME_KEYS and not is_text):
            continue
        shown = f"{path}{key}={item}"
        if is_in_array:
            yield f"{shown}: inside an array; 'jq -c' can give each element a line of its own"
            continue
        name = path + key if path else key
        against = why_not(parent if key in keys.UNIT_WORDS and parent else key)
        if unit is None and not is_text:
            against = against or "no unit in the line"
        elif not against:
            against = "a unit without a name" if key in keys.UNIT_WORDS and not path else "not taken where it stands"
        remedy = _remedy(name, unit if not is_text else "ms", try_unit)
        yield f"{shown}: {against}{'; ' + remedy if remedy else ''}"


def _leaves(
    value: dict[str, Any], path: str, depth: int, *, is_in_array: bool
) -> Iterator[tuple[str, str, float | str, bool]]:
    """(path, key, value, is it in an array) of every number and text."""
    for key, item in value.items():
        if isinstance(item, dict) and depth < _DEEPEST:
            yield from _leaves(item, f"{path}{key}.", depth + 1, is_in_array=is_in_array)
        elif isinstance(item, list) and depth < _DEEPEST:
            for n, element in enumerate(item[:_MOST]):
                if isinstance(element, dict):
                    yield from _leaves(element, f"{path}{key}[{n}].", depth + 1, is_in_array=True)
        elif isinstance(item, int | float | str) and not isinstance(item, bool):
            yield path, key, item, is_in_array


def _is_duration(text: str) -> bool:
    try:
        return len(text) <= 40 and text[:1].isdigit() and units.duration(text) is not None
    except units.MalformedError:
        return False


def _is_taken(path: str, key: str, item: float | str, taken: set[str]) -> bool:
    suffix = keys.unit_suffix(key)
    stem = suffix[0] if suffix else key
    if path + key in taken or path + stem in taken:
        return True
    if key in keys.UNIT_WORDS or isinstance(item, str):
        return path.rstrip(".") in taken
    return bool(path) and any(name == key or name.endswith(f".{key}") for name in taken)


def _of_text(text: str, reading: Reading, try_unit: Trial, try_labels: Callable[[], Reading]) -> Iterator[str]:
    text = _STAMP.sub(lambda match: " " * len(match[0]), text[: labels.SEARCHED_CHARS])
    left = [(frozenset(keys.words(name)), ms) for draft in reading.drafts for name, ms in draft.stages]
    needs_units = reading.rule in _FORMATS_WITHOUT_UNITS
    with_labels: list[tuple[str, float]] | None = None
    pairs = [match.span() for match in PAIR.finditer(text)]
    for match, name, unit in _numbers(text):
        ms = _ms(match["number"], unit)
        if _take_from(left, name, ms, is_sure=unit is not None):
            continue
        if unit is None:
            if not needs_units or not looks_like_stage(name) or not match["between"].strip(" \t") or ms is None:
                continue
            remedy = _remedy(name, None, try_unit) or _pattern(text, match, name, "ms")
            yield f"{name}={match['number']}: {why_not(name) or 'no unit in the line'}{'; ' + remedy if remedy else ''}"
            continue
        if ms is None:
            continue  # malformed: told as a problem
        shown = f"{name} {match['number']}{match['gap']}{unit}".strip()
        against = why_not(name) if name else ""
        is_pair = any(a <= match.start("number") < b for a, b in pairs)
        if labels.RATE_AFTER.match(text, match.end()) or text[match.end() : match.end() + 1] == "/":
            against = "a rate, a range, or a part of a sentence, by what follows it"
        remedy = _remedy(name, unit, try_unit) if name and is_pair else ""
        if not remedy and not against:
            if with_labels is None:
                with_labels = [stage for draft in try_labels().drafts for stage in draft.stages]
            hit = next((label for label, value in with_labels if value == ms), None)
            remedy = f"--labels reads it as {hit!r}" if hit else _pattern(text, match, name, unit)
            against = "only prose names it" if hit else "no name stands clearly before it"
        yield f"{shown}: {against or 'not taken where it stands'}{'; ' + remedy if remedy else ''}"


def _numbers(text: str) -> Iterator[tuple[re.Match[str], str, str | None]]:
    """Each number with the word right before it and the unit behind it, or in its key."""
    for match in _NUMBER.finditer(text):
        name = (match["name"] or "").strip("-./")
        name = "" if name.lower() in labels.NO_ENDS else name
        suffix = keys.unit_suffix(name)
        yield match, name, match["unit"] or (suffix[1] if suffix else None)


def _ms(number: str, unit: str | None) -> float | None:
    try:
        return units.milliseconds(number.rstrip(".,"), unit or "ms")
    except units.MalformedError:
        return None


def _take_from(left: list[tuple[frozenset[str], float]], name: str, ms: float | None, *, is_sure: bool) -> bool:
    """Whether the number is one of the values that were read; each of them is for one number."""
    words = frozenset(keys.words(name))
    for n, (have, value) in enumerate(left):
        same = ms is not None and abs(value - ms) <= 1e-9 * max(value, 1.0)
        if (words & have) and (same or not is_sure):
            del left[n]
            return True
    for n, (_, value) in enumerate(left):
        if is_sure and ms is not None and abs(value - ms) <= 1e-9 * max(value, 1.0):
            del left[n]
            return True
    return False


def _pattern(text: str, match: re.Match[str], name: str, unit: str) -> str:
    """A pattern for this number, tried on the line; empty if it would read another."""
    short = {1.0: "ms", 1000.0: "s", 1e-3: "us", 1e-6: "ns"}[units.UNIT_MS[unit]]
    group = re.sub(r"\W+", "_", name).strip("_").lower() or "value"
    if not name:
        return ""
    lead = re.escape(text[match.start() : match.start("number")]).replace("\\ ", " ")
    pattern = rf"{lead}(?P<{group}__{short}>[\d.]+){match['gap']}{match['unit'] or ''}"
    try:
        hit = re.search(pattern, text)
    except re.error:
        return ""
    if hit is None or hit.start(1) != match.start("number") or "'" in pattern:
        return ""
    return f"--pattern '{pattern}' reads it, if that number is a duration in {short}"
