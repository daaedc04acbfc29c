"""The other screens: what they show, their own keys, and how they handle what isn't there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from livemon.model.errors import SessionError
from livemon.model.snapshot import SessionEntry, ViewSource
from livemon.ui.navigation import LivemonApp
from livemon.ui.settings import Cancelled, Progress, Settings
from tests.ui.driving import SIZES, lines, name, opened, press, settle, text, until
from tests.ui.scripted import START_NS, S, ScriptedSource
from tests.ui.test_app_keys import at_s


async def open_finding(app: LivemonApp, pilot: object, which: int = 0) -> None:
    await press(app, pilot, *("j",) * which, "enter")  # type: ignore[arg-type]
    assert name(app) == "finding"


@pytest.mark.parametrize("size", SIZES)
async def test_finding_shows_causes_ledger_threads_and_its_limits(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await open_finding(app, pilot)
        seen = text(app)
        for _ in range(6):
            await press(app, pilot, "pagedown")
            seen += text(app)
        assert "0.97 / 0.00" in seen
        assert "ruled out" in seen
        assert "no cgroup cpu.stat is readable here" in seen
        assert "residual 1.03" in seen or size[0] == 80
        assert "why the scheduler chose these cores" in seen


@pytest.mark.parametrize("size", SIZES)
async def test_a_finding_says_why_it_is_critical_and_from_when(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await open_finding(app, pilot, 2)
        shown = " ".join(text(app).split())
        assert "severity critical: " in shown
        assert "critical from 10 % on" in shown
        await press(app, pilot, "y")
        assert "- severity: critical: " in app.clipboard
        await press(app, pilot, "N", "N")
        assert "severity critical: not recovered 5 s after its start" in " ".join(text(app).split())


async def test_finding_is_copied_as_markdown() -> None:
    async with opened(size=(200, 50)) as (app, pilot):
        await open_finding(app, pilot, 2)
        await press(app, pilot, "y")
        assert app.clipboard.startswith("### F")
        path = next(Path(word) for word in lines(app)[-1].split() if word.endswith(".md"))
        assert path.read_text() == app.clipboard
        await press(app, pilot, "N", "N")
        await press(app, pilot, "y")
        assert "| placement | applies | 0.97 | 0.00 |" in app.clipboard


async def test_next_finding_and_jump_to_its_log() -> None:
    async with opened() as (app, pilot):
        await open_finding(app, pilot)
        first = lines(app)[0].split()[1]
        await press(app, pilot, "n")
        assert lines(app)[0].split()[1] != first
        await press(app, pilot, "N")
        assert lines(app)[0].split()[1] == first == "T3"
        await press(app, pilot, "w")
        assert name(app) == "log"
        assert at_s(app) == 170.0
        await press(app, pilot, "escape", "escape")
        assert name(app) == "overview"


async def test_a_finding_not_yet_known_at_the_cursor_is_still_shown() -> None:
    async with opened() as (app, pilot):
        await open_finding(app, pilot)
        await press(app, pilot, "0")
        assert "The host side is slow" in text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_stage_shows_what_if_bands_and_histogram(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await press(app, pilot, "/", *"stage:validate", "enter", "tab", "enter")
        assert name(app) == "stage"
        shown = text(app)
        assert "STAGE validate  class" in shown
        assert "ms less per step" in shown
        assert "5 median, 9 P90" in shown
        assert "DISTRIBUTION" in shown
        await press(app, pilot, "tab")
        assert "class" in lines(app)[0]
        await press(app, pilot, "shift+tab", "0", "escape")
        assert name(app) == "overview"


@pytest.mark.parametrize("size", SIZES)
async def test_thread_shows_lane_series_and_qualities(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await press(app, pilot, "shift+tab", "enter")
        assert name(app) == "thread"
        seen = text(app)
        for _ in range(5):
            await press(app, pilot, "pagedown")
            seen += text(app)
        assert "PPPP" in seen
        assert "scaled: counter active 62 % of the time" in seen
        assert "active share under 5 %" in seen
        await press(app, pilot, "tab")
        assert "client-short#4721" in lines(app)[0]


async def test_unknown_counters_say_why() -> None:
    async with opened(ScriptedSource(counters=False)) as (app, pilot):
        assert "–" in text(app)
        await press(app, pilot, "shift+tab", "i")
        assert name(app) == "explain"
        assert "perf_event_open says ENOENT; remedy:" in " ".join(text(app).split())
        await press(app, pilot, "escape", "d")
        assert "NO  hardware counters" in text(app)
        assert "remedy: run outside the guest" in text(app)


@pytest.mark.parametrize("panel", [0, 1, 2])
async def test_explain_works_in_each_panel(panel: int) -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, *("tab",) * panel, "i")
        assert name(app) in ("finding", "explain")


@pytest.mark.parametrize("size", SIZES)
async def test_log_follows_the_time_and_the_time_follows_the_log(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await press(app, pilot, "b", *"+100", "enter", "w")
        assert name(app) == "log"
        assert any(line.startswith("▌00:01:40.000") for line in lines(app))
        await press(app, pilot, "L")
        assert any(line.startswith("▌00:01:41.000") for line in lines(app))
        await press(app, pilot, "k", "k", "enter")
        assert at_s(app) == pytest.approx(100.8)
        await press(app, pilot, "n")
        await press(app, pilot, "N")


async def test_log_filter_and_escape_sequences_in_it() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "w", "/", *"scheduler", "enter")
        rows = [line for line in lines(app)[1:-8] if line]
        assert rows
        assert all("INFO scheduler" in row for row in rows)
        assert "\x1b" not in text(app)
        await press(app, pilot, "escape")
        assert "c_api_timing" in text(app)


async def test_log_reads_on_at_its_edges() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "b", *"+100", "enter", "w", "home", "k")
        assert at_s(app) == pytest.approx(70.0)
        await press(app, pilot, "k")
        assert at_s(app) == pytest.approx(70.0)


async def test_a_log_whose_text_is_gone_says_so() -> None:
    source = ScriptedSource()
    source.has_text = False
    async with opened(source) as (app, pilot):
        await press(app, pilot, "w")
        assert "serve.log is gone" in text(app)


ENTRIES = (
    SessionEntry("/tmp/scripted.livemon", "a", 1_767_225_600 * S, 172.0, 430_080, "recording (pid 4711)", "serve", 5),
    SessionEntry("/tmp/b.livemon", "b", None, 8.0, 100, "damaged", "", None),
)


async def test_sessions_are_listed_and_opened() -> None:
    def opener(path: str, progress: Progress) -> ViewSource:
        progress(0.5, f"reading {path}")
        return ScriptedSource(end_s=60.0, threads=3)

    settings = Settings(theme="dark", sessions=lambda: ENTRIES, open_session=opener)
    first = ScriptedSource()
    async with opened(first, settings=settings) as (app, pilot):
        await press(app, pilot, "o")
        assert name(app) == "sessions"
        assert "* 2026-01-01 00:00" in text(app)
        assert "damaged" in text(app)
        await press(app, pilot, "j", "enter")
        await until(pilot, lambda: app.snapshot is not None and len(app.snapshot.threads) == 3)
        await settle(app, pilot)
        assert name(app) == "overview"
        assert first.is_closed
        assert "THREADS 3" in text(app)


async def test_sessions_without_a_list_say_so() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, "o", "enter")
        assert "started without a list" in text(app)


async def test_opening_shows_progress_and_can_be_cancelled() -> None:
    seen: list[bool] = []

    def load(progress: Progress) -> ViewSource:
        try:
            for _ in range(10_000):
                progress(0.42, "reading 42 of 100 MB")
                import time

                time.sleep(0.002)
        except Cancelled:
            seen.append(True)
            raise
        return ScriptedSource()

    app = LivemonApp(load, Settings(theme="dark", title="big.livemon"))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "42%" in text(app))
        assert "big.livemon" in text(app)
        assert "reading 42 of 100 MB" in text(app)
        await pilot.press("escape")
        await pilot.pause()
    app.feed.stop()
    assert seen == [True]


async def test_a_session_that_cannot_be_opened_is_an_error_not_a_crash() -> None:
    def load(progress: Progress) -> ViewSource:
        raise SessionError("the session is damaged beyond use", "livemon sessions lists others")

    app = LivemonApp(load, Settings(theme="dark"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.open_error is not None)
    assert str(app.open_error) == "the session is damaged beyond use; livemon sessions lists others"
    app.feed.stop()


@pytest.mark.parametrize("size", SIZES)
async def test_help_is_made_of_the_table(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, pilot):
        await press(app, pilot, "?")
        seen = text(app)
        for _ in range(12):
            await press(app, pilot, "pagedown")
            seen += text(app)
        assert "shift+←" in seen
        assert "pause / follow the newest" in seen
        assert "instructions per cycle" in seen
        assert "copy as Markdown" not in seen
        await press(app, pilot, "?")
        assert name(app) == "overview"


async def test_palette_runs_what_is_chosen_on_the_screen_below() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, ":", *"group", "enter")
        assert name(app) == "overview"
        assert app.settings.group == "process"
        await press(app, pilot, "ctrl+p", *"doct", "enter")
        assert name(app) == "doctor"
        await press(app, pilot, ":", "down", "up", "escape")
        assert name(app) == "doctor"


async def test_palette_takes_a_time() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, ":", *"00:00:30", "enter")
        assert at_s(app) == 30.0
        assert name(app) == "overview"
        await press(app, pilot, ":", *"99:99", "enter")
        assert "can't read '99:99' as a time" in text(app)


def read(path: Path) -> str:
    return path.read_text()


async def test_settings_change_at_once_and_are_written() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, ",", "enter")
        assert app.settings.theme == "light"
        assert app.looks.palette.name == "light"
        await press(app, pilot, "left", "j", "right")
        assert app.settings.ascii
        assert text(app).isascii()
        await press(app, pilot, "W")
        path = Path(lines(app)[-1].split()[-1])
        written = tomllib.loads(read(path))
        assert written["ui"]["ascii"] is True


async def test_a_key_can_be_changed_and_a_clash_is_refused() -> None:
    async with opened() as (app, pilot):
        await press(app, pilot, ",")
        while "  help  " not in lines(app)[app.screen.panel.index + 2]:  # type: ignore[attr-defined]
            await press(app, pilot, "j")
        await press(app, pilot, "enter")
        assert "press the new key" in text(app)
        await press(app, pilot, "q")
        assert "'q' is both help and quit" in text(app)
        await press(app, pilot, "enter", "P", "escape", "P")
        assert name(app) == "help"


async def test_a_paste_is_not_taken_for_keys() -> None:
    from textual import events

    async with opened() as (app, pilot):
        app.post_message(events.Paste("qqq"))
        await settle(app, pilot)
        assert app.is_running
        await press(app, pilot, "/")
        app.post_message(events.Paste("gpu\nq"))
        await settle(app, pilot)
        assert "filter gpu" in lines(app)[-1]


@pytest.mark.parametrize("size", [(20, 5), (39, 8), (60, 7), (1, 1), (400, 120), (40, 8)])
async def test_any_size_draws_something_true(size: tuple[int, int]) -> None:
    async with opened(size=size) as (app, _):
        shown = lines(app)
        assert len(shown) == size[1]
        if size[0] >= 20:
            assert "CRITICAL" in shown[0]
        if size == (20, 5):
            assert "HOST-SLOW for 2.4 s" in shown[1]
            assert shown[-1].startswith("too small: 40×8")


async def test_resizing_to_nothing_and_back_restores_the_screen() -> None:
    async with opened(size=(120, 40)) as (app, pilot):
        before = text(app)
        for size in ((20, 5), (1, 1), (200, 60), (120, 40)):
            await pilot.resize_terminal(*size)
            await settle(app, pilot)
        await until(pilot, lambda: text(app) == before)


async def test_nothing_is_painted_when_nothing_changed() -> None:
    source = ScriptedSource(is_live=True)
    async with opened(source, settings=Settings(theme="dark", fps=20)) as (app, pilot):
        await settle(app, pilot)
        painted = app.screen.canvas.painted_cells  # type: ignore[attr-defined]
        for _ in range(3):
            app.ask_for_frame()
            await settle(app, pilot)
        assert app.screen.canvas.painted_cells == painted  # type: ignore[attr-defined]


async def test_a_broken_source_ends_the_app_and_is_remembered() -> None:
    source = ScriptedSource(is_live=True)
    app = LivemonApp(source, Settings(theme="dark"))

    async def run() -> None:
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.snapshot is not None)
            source.fails = RuntimeError("scripted")
            await until(pilot, lambda: app.crash is not None)

    with pytest.raises(RuntimeError, match="scripted"):
        await run()
    assert isinstance(app.crash, RuntimeError)
    app.feed.stop()


async def test_a_session_that_becomes_unreadable_is_said_and_the_screen_stays() -> None:
    source = ScriptedSource(is_live=True)
    async with opened(source) as (app, pilot):
        source.fails = SessionError("the session file is gone", "it was removed while it was shown")
        await until(pilot, lambda: "the session file is gone; it was removed" in text(app))
        assert "dispatch#4720" in text(app)
        await press(app, pilot, "left")
        assert "the session file is gone" in text(app)


async def test_a_finding_is_drawn_ahead_of_the_frame_rate() -> None:
    """``revision`` tells of it, although the next frame is not due for seconds."""

    class Urgent(ScriptedSource):
        number = 0

        def revision(self) -> int:
            return self.number

    source = Urgent(is_live=True)
    async with opened(source, settings=Settings(theme="dark", fps=0.01)) as (app, pilot):
        source.verdict_text = "HOST-SLOW just now"
        source.end_s += 0.1
        source.number = 1
        await until(pilot, lambda: "HOST-SLOW just now" in text(app))


async def test_names_from_outside_cannot_break_the_screen() -> None:
    """Escape sequences, wide letters, right-to-left marks and newlines in names keep every line's width."""
    from dataclasses import replace

    source = ScriptedSource()
    plain = source.snapshot

    def hostile(at_ns: int | None, span_ns: int, columns: int):  # type: ignore[no-untyped-def]
        snapshot = plain(at_ns, span_ns, columns)
        names = ("\x1b[2Jboom", "日本語スレッド名前長い", "a\u202eb\nc", "", "\ud800x", "e\u0301" * 40)
        threads = (
            tuple(replace(row, name=bad, process=bad) for row, bad in zip(snapshot.threads, names, strict=False))
            + snapshot.threads[len(names) :]
        )
        stages = tuple(
            replace(row, stage=names[n % 6], class_key=names[(n + 1) % 6]) for n, row in enumerate(snapshot.stages)
        )
        return replace(snapshot, threads=threads, stages=stages)

    source.snapshot = hostile  # type: ignore[method-assign]
    async with opened(source, size=(80, 24)) as (app, _):
        for strip in app.screen.canvas.strips():  # type: ignore[attr-defined]
            assert strip.cell_length == 80
            assert "\x1b" not in strip.text
        assert START_NS
