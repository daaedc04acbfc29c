"""``livemon parse`` as the contract has it."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROW = (
    "[mono_ns=1016280542266041][T0x7f21][TIMING] f: "
    "[c_api_timing dev=0] run= 7  kernel=lm_head  prepare_ctx=0.55  total=47.31\n"
)


def run(*argv: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "TZ": "UTC"}
    return subprocess.run(
        [sys.executable, "-m", "livemon", "parse", *argv], input=data, capture_output=True, env=env, check=False
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "timing.log"
    path.write_text(ROW + "no timing\n[c_api_timing] run=8  prepare_ctx=nan  total=4.5\n[c_api_timing] run=9 total=1")
    return path


def test_one_json_object_a_record_and_the_summary_last_on_stderr(log: Path) -> None:
    done = run(str(log))
    first, second = [json.loads(line) for line in done.stdout.splitlines()]
    assert first == {
        "line": 1,
        "t": 1016280.542266041,
        "clock": "monotonic",
        "source": "c_api_timing",
        "unit": "7",
        "class": "lm_head",
        "pid": None,
        "tid": None,
        "stages_ms": {"prepare_ctx": 0.55, "total": 47.31},
    }
    assert list(first) == ["line", "t", "clock", "source", "unit", "class", "pid", "tid", "stages_ms"]
    assert (second["line"], second["t"], second["clock"], second["stages_ms"]) == (3, None, None, {"total": 4.5})
    assert json.loads(done.stderr.splitlines()[-1]) == {
        "lines": 3,
        "records": 2,
        "ignored": 1,
        "malformed": 1,
        "unterminated": 1,
        "formats": {"c_api_timing": 2},
    }
    assert done.returncode == 0


def test_the_unterminated_line_is_read_when_asked_for(log: Path) -> None:
    done = run("--accept-unterminated", str(log))
    assert json.loads(done.stdout.splitlines()[-1])["unit"] == "9"
    assert json.loads(done.stderr.splitlines()[-1])["unterminated"] == 0


def test_a_dash_and_no_file_read_standard_input() -> None:
    for argv in (("-",), ()):
        done = run(*argv, data=ROW.encode())
        assert len(done.stdout.splitlines()) == 1


def test_a_large_log_gives_every_record_in_order(tmp_path: Path) -> None:
    """Shapes interleave and lines without timing come between: the bulk way keeps the order of the log."""
    lines = []
    for n in range(20_000):
        lines.append(
            f"[mono_ns={10**15 + n}][T0x{n % 3:x}][TIMING] f: [{'ab'[n % 2]}_timing] run={n}  x={n / 8:.2f}ms  y=4.5ms"
        )
        if n % 5000 == 7:
            lines.append("chatter took=3ms")
    path = tmp_path / "big.log"
    path.write_text("\n".join(lines) + "\n")
    done = run(str(path))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["line"] for row in rows] == list(range(1, len(lines) + 1))
    assert [row["stages_ms"]["x"] for row in rows if row["unit"]] == [float(f"{n / 8:.2f}") for n in range(20_000)]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.log", None, "can't read"),
        ("x.log.gz", gzip.compress(ROW.encode()), "zcat"),
        ("prog", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 8, "binary"),
        ("noise", bytes(range(256)) * 8, "binary"),
        ("s.livemon", b"SQLite format 3\0" + b"\0" * 100, "session"),
    ],
)
def test_what_is_no_log_is_one_clear_line_and_exit_2(
    tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    done = run(str(path))
    message = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert says in message
    assert len(message.splitlines()) == 1
    assert "Traceback" not in message


def test_a_directory_and_bad_options_are_exit_2(tmp_path: Path) -> None:
    for argv in ((str(tmp_path),), ("--pattern", "(", "x"), ("--unit", "a=b", "x"), ("--format", "nosuch", "x")):
        done = run(*argv)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_a_hole_of_nul_bytes_and_other_encodings_are_no_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "hole.log"
    path.write_bytes(b"\0" * 4096 + "größer \xff".encode("latin-1") + b"\n\x1b[31m" + ROW.encode())
    assert len(run(str(path)).stdout.splitlines()) == 1


def test_an_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "empty.log"
    path.write_bytes(b"")
    done = run(str(path))
    assert (done.returncode, done.stdout) == (0, b"")
    assert json.loads(done.stderr)["lines"] == 0


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_text(ROW * 50_000)
    command = f"{sys.executable} -m livemon parse {path} | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert len(done.stdout.splitlines()) == 1
    assert b"Traceback" not in done.stderr


def test_explain_says_which_rule_read_a_line_or_what_would(tmp_path: Path) -> None:
    path = tmp_path / "mixed.log"
    path.write_text(
        ROW
        + "model compiled in 334.5 ms\n"
        + "status=200 duration=58.25\n"
        + "GET /x 200 lifetime of 3.5 ms was seen\n"
        + "n=4 avg=3ms max=5ms\n"
        + "[c_api_timing] run=1 total=nan\n"
        + 'a b c "GET /x HTTP/1.1" 200 12 "-" "curl" 9582\n'
    )
    done = run("--explain", str(path))
    text = done.stdout.decode()
    assert "read by c_api_timing: prepare_ctx 0.55 ms, total 47.31 ms; unit 7; class lm_head" in text
    assert "try: --labels (would read model compiled 334.5 ms)" in text
    assert "try: --unit duration=ms" in text
    assert "try: --pattern 'lifetime of (?P<lifetime_of__ms>" in text
    assert "a summary over several units" in text
    assert "malformed: total: nan is no duration" in text
    assert "try: --format gunicorn" in text
    assert json.loads(done.stderr.splitlines()[-1])["records"] == 1


def test_the_pattern_that_explain_suggests_works(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("worker 3: lifetime of 3.5 ms was seen\n")
    hint = next(line for line in run("--explain", str(path)).stdout.decode().splitlines() if "--pattern" in line)
    pattern = hint.split("'")[1]
    done = run("--pattern", pattern, str(path))
    assert list(json.loads(done.stdout)["stages_ms"].values()) == [3.5]


def test_list_formats_has_an_example_for_each() -> None:
    text = run("--list-formats").stdout.decode()
    for name in ("strace", "*_timing", "llama_timing", "haproxy", "postgres", "otlp", "labels"):
        assert any(line.startswith(name) for line in text.splitlines())
    assert "[only with --format]" in text
