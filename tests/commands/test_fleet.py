"""``livemon fleet`` through the command line, against a real HTTP server."""

import json

import pytest

from livemon.cli import main
from tests.export.test_fleet import canned, prometheus


def fleet(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["fleet", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_ranking_as_text_and_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEMON_PROMETHEUS_HEADER", "Authorization: Bearer t")
    with prometheus(canned) as (url, asked):
        code, out, err = fleet(capsys, "--prometheus-url", url, "--top", "1")
        assert (code, err) == (0, "")
        assert "3 more hosts rank below these." in out
        _, out, _ = fleet(capsys, "--prometheus-url", url, "--json")
    assert [row["host"] for row in json.loads(out)["hosts"]] == ["b", "c", "a", "gone"]
    assert {request["authorization"] for request in asked} == {"Bearer t"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--prometheus-url", "nonsense"], 2),
        (["--prometheus-url", "http://127.0.0.1:1"], 3),
        (["--prometheus-url", "http://127.0.0.1:1", "--window", "15"], 2),
        (["--prometheus-url", "http://127.0.0.1:1", "--label", "a-b"], 2),
        (["--prometheus-url", "http://127.0.0.1:1", "--top", "0"], 2),
    ],
)
def test_mistakes_and_silence_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int) -> None:
    got, out, err = fleet(capsys, *arguments)
    assert (got, out) == (code, "")
    assert len(err.splitlines()) == 1
