"""A document as Markdown for an issue: GitHub tables, no HTML, nothing from a log can break out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from livemon.export.document import (
    LEVEL_WORDS,
    Block,
    Blocks,
    Bullets,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Verdict,
)

_SPECIAL = re.compile(r"([\\*_\[\]<>#|~@])")
_CODE = re.compile(r"`[^`]+`")


def render_markdown(blocks: Blocks) -> str:
    """The document as Markdown."""
    lines: list[str] = []
    for block in blocks:
        lines.extend(_lines(block))
        lines.append("")
    return "\n".join(lines).strip("\n") + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {escaped(text)}"
        case Paragraph(text):
            yield escaped(text)
        case Bullets(items):
            yield from (f"- {escaped(item)}" for item in items)
        case Verdict(level, text):
            yield f"- **{LEVEL_WORDS[level]}** {escaped(text)}"
        case Facts(rows):
            yield from (f"- **{escaped(name)}** {escaped(value)}" for name, value in rows)
        case Table():
            if block.caption:
                yield escaped(block.caption)
                yield ""
            yield "| " + " | ".join(escaped(c.title) for c in block.columns) + " |"
            yield "| " + " | ".join("---:" if c.is_number else "---" for c in block.columns) + " |"
            for row in block.rows:
                yield "| " + " | ".join(escaped(cell) for cell in row) + " |"
        case Figure():
            return


def escaped(text: str) -> str:
    """Text with Markdown's signs escaped outside `code`; one line."""
    text = "".join(c if c.isprintable() else "�" for c in " ".join(text.split()))
    parts: list[str] = []
    end = 0
    for match in _CODE.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[end : match.start()]), match.group().replace("|", "\\|")]
        end = match.end()
    parts.append(_SPECIAL.sub(r"\\\1", text[end:].replace("`", "'")))
    return "".join(parts)
