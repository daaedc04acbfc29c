"""What the README has a newcomer type works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


def test_livemon_is_called_by_its_name_only_where_the_shell_can_find_it() -> None:
    """After the install line ``livemon`` was not on the PATH."""
    assert len(BLOCKS) >= 2
    is_found = False
    for command in "\n".join(BLOCKS).splitlines():
        is_found = is_found or command.startswith(". .venv/bin/activate")
        if re.match(r"livemon\b", command):
            assert is_found, command


def test_every_subcommand_is_named() -> None:
    text = README.read_text(encoding="utf-8")
    commands = (Path(__file__).parents[1] / "livemon" / "commands").glob("[a-z]*.py")
    names = {path.stem.strip("_") for path in commands} - {"time_range"}
    assert len(names) >= 12
    assert not {name for name in names if f"livemon {name}" not in text}
