"""Session facts as JSON and back; fields that a file lacks keep their defaults."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from livemon.model.facts import SessionFacts
from livemon.session.typed import build


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
        facts: SessionFacts = build(SessionFacts, value)
    except ValueError as error:
        raise ValueError(f"facts have the wrong shape: {error}") from None
    return facts
