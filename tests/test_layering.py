"""The arrows between packages, statically and by importing; file lengths."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "livemon"
SIBLINGS = {"parse", "collect", "engine", "session", "export", "ui", "demo"}
ALLOWED = {
    "model": set(),
    "parse": {"model"},
    "collect": {"parse", "model"},
    "engine": {"model"},
    "session": {"model"},
    "export": {"model"},
    "ui": {"model"},
    "demo": {"model"},
}
FILES = sorted(ROOT.rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_package_imports_only_what_the_map_allows(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    names = imported(path)
    if package in ALLOWED:
        ours = {n.split(".")[1] for n in names if n.startswith("livemon.")} - {package, "__version__"}
        assert ours <= ALLOWED[package], f"{path}: {ours - ALLOWED[package]}"
    if package != "ui":
        assert not {n for n in names if n.split(".")[0] in {"textual", "rich"}}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_passes_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "banned"),
    [
        ("import livemon.cli", {"textual", "rich", "numpy", "psutil", "sqlite3"}),
        ("from livemon.model.criteria import load_criteria; load_criteria('')", {"tomllib"}),
        ("import livemon.commands.watch", {"textual", "rich", "numpy", "zoneinfo", "livemon.collect.tail"}),
        ("import livemon.commands.demo", {"textual", "rich", "numpy", "zoneinfo", "livemon.demo.kernels"}),
        ("import livemon.record", {"textual", "rich", "numpy"}),
        ("import livemon.commands.report, livemon.judge", {"textual", "rich"}),
        ("import livemon.commands.export", {"textual", "rich"}),
        ("import livemon.commands.parse", {"textual", "rich"}),
        ("import livemon.commands.doctor", {"textual", "rich", "numpy"}),
    ],
)
def test_importing_stays_light(statement: str, banned: set[str]) -> None:
    assert not modules_after(statement) & banned
