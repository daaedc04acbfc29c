"""Output appears whole or not at all, and --fail-on is read strictly."""

import os
from pathlib import Path

import pytest

from livemon.export.failing import failures, parse_fail_on
from livemon.export.files import check_output, whole_file, write_text
from livemon.model.errors import UsageError
from tests.export.judgements import oversized, transient


def test_a_file_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    write_text(str(path), "new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.json"]


def write_half(path: Path) -> None:
    with whole_file(str(path)) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def fill_disk(path: Path) -> None:
    with whole_file(str(path)):
        raise OSError(28, os.strerror(28))


def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"could not write .*No space left.*nothing was left behind"):
        fill_disk(tmp_path / "a.json")
    assert os.listdir(tmp_path) == []


def test_a_folder_or_a_missing_folder_is_named_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder; give a file in it"):
        check_output(str(tmp_path))
    with pytest.raises(UsageError, match=r"there is no folder .*create it first"):
        check_output(str(tmp_path / "missing" / "a.json"))


def test_fail_on_kinds_and_severities() -> None:
    findings = (oversized(), transient())
    assert failures(parse_fail_on(["host_slow_transient"]), findings) == [findings[1]]
    assert failures(parse_fail_on(["host-slow-transient:critical"]), findings) == []
    assert failures(parse_fail_on(["any:critical"]), findings) == [findings[0]]
    assert failures(parse_fail_on(["any", "oversized_finalize"]), findings) == list(findings)
    assert failures(parse_fail_on([]), findings) == []


@pytest.mark.parametrize("text", ["", "slow", "any:", "any:bad", "host_slow_transient:warning:x"])
def test_a_condition_that_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="are "):
        parse_fail_on([text])


def test_a_device_or_pipe_is_written_to_and_a_link_stays_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(str(tmp_path / "pipe"), "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    with pytest.raises(UsageError, match="No space left"):
        write_text("/dev/full", "x" * 100_000)
    assert Path("/dev/full").is_char_device()
