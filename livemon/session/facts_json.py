"""Session facts as JSON and back; fields that a file lacks keep their defaults."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from livemon.model.facts import Capability, Cpu, SessionFacts, Target, Topology


def facts_to_object(facts: SessionFacts) -> dict[str, Any]:
    """The facts as plain JSON values."""
    return asdict(facts)


def facts_to_json(facts: SessionFacts) -> str:
    """The facts as one line of JSON."""
    return json.dumps(facts_to_object(facts), separators=(",", ":"))


def facts_from_json(text: str) -> SessionFacts:
    """The facts of a session.

    Raises:
        ValueError: The text is not what ``facts_to_json`` writes.
    """
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("facts are not an object")
    return facts_from_object(value)


def facts_from_object(value: dict[str, Any]) -> SessionFacts:
    """The facts of plain JSON values.

    Raises:
        ValueError: A value has the wrong shape.
    """
    try:
        known = _known(SessionFacts, value)
        for name, kind in (("targets", Target), ("capabilities", Capability)):
            if name in known:
                known[name] = tuple(kind(**_known(kind, entry)) for entry in known[name])
        if "topology" in known:
            topology = _known(Topology, known["topology"])
            topology["cpus"] = tuple(Cpu(**_known(Cpu, entry)) for entry in topology.get("cpus", ()))
            for name in ("classes", "efficiency_classes"):
                topology[name] = tuple(topology.get(name, ()))
            known["topology"] = Topology(**topology)
        if "environment" in known:
            known["environment"] = tuple((key, text) for key, text in known["environment"])
        return SessionFacts(**known)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"facts have the wrong shape: {error}") from error


def _known(kind: type, value: dict[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {key: entry for key, entry in value.items() if key in names}
