"""A watch starts its recorder and imports its own screens at the same time."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from livemon.model.errors import UsageError
from livemon.recording_config import RecordingConfig
from livemon.watch_processes import RecorderProcess


def test_the_caller_works_while_the_recorder_starts(tmp_path: Path) -> None:
    recorder = RecorderProcess()
    places: list[str] = []
    try:
        config = RecordingConfig(str(tmp_path / "s"), metrics_urls=("http://127.0.0.1:9/metrics",))
        recorder.configure(config, meanwhile=lambda: places.append(recorder.session_path))
        assert places == [""]  # called once, and before the answer was taken
        assert recorder.session_path.startswith(str(tmp_path / "s"))
    finally:
        recorder.stop()
        recorder.dispose()


def test_what_was_done_meanwhile_does_not_hide_that_the_recorder_could_not_start(tmp_path: Path) -> None:
    recorder = RecorderProcess()
    (tmp_path / "s").write_text("not a session")
    calls: list[int] = []
    with pytest.raises(UsageError):
        recorder.configure(RecordingConfig(str(tmp_path / "s"), pids=(1,)), meanwhile=lambda: calls.append(1))
    assert calls == [1]
    assert not recorder.is_running


@pytest.mark.parametrize(("is_headless", "wanted"), [(False, "livemon.ui.navigation"), (True, "livemon.headless")])
def test_what_a_watch_imports_meanwhile_is_what_shows_it(
    monkeypatch: pytest.MonkeyPatch, is_headless: bool, wanted: str
) -> None:
    from livemon.parse.options import ParseOptions
    from livemon.watch import Watched, _Watching
    from livemon.watch_options import WatchOptions

    watching = _Watching(Watched("x"), WatchOptions(ParseOptions(), headless=is_headless))
    try:
        imported: list[str] = []
        monkeypatch.setattr("livemon.watch.importlib.import_module", imported.append)
        watching._import_viewer()
        assert imported == [wanted]
        assert importlib.util.find_spec(wanted) is not None
    finally:
        watching._recorder.abandon()
