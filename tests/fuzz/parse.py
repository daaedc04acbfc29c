"""A fuzzer for the parser: damaged real-looking lines, cut at random, for as long as it is told to.

    python tests/fuzz/parse.py --seconds 600 [--seed N]

It checks what must hold of any bytes: nothing raises, values are finite, non-negative and below a
day, any cutting and the bulk way give what one line after another gives, and time per byte stays
bounded. A failure prints the seed and the bytes and ends with 1.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time

from livemon.parse.explain import suggestions
from livemon.parse.formats import BUILT_IN, FORMATS
from livemon.parse.jsontext import json_lines
from livemon.parse.linewise import LineReader
from livemon.parse.options import ParseOptions
from livemon.parse.stream import TimingStream

SEEDS = [row.example for row in FORMATS] + [example for _, example in BUILT_IN.values()]
SEEDS += [
    "[mono_ns=1016280542266041][T0x7f21][TIMING] f: [c_api_timing dev=0] run= 7  kernel=lm_head  prepare_ctx=0.55ms  total=47.31ms",
    "2025-12-31T17:37:40.493035218+01:00 stderr P [c_api_timing] run=1  total=3",
    "2025-12-31T17:37:40.493035218+01:00 stderr F 3.25",
    json.dumps({"log": "[c_api_timing] run=1 total=2.5\n", "stream": "stderr", "time": "2021-08-24T09:52:13.2Z"}),
    json.dumps({"__REALTIME_TIMESTAMP": "1534860261221373", "_PID": "184", "MESSAGE": "x took=5ms"}),
    'ts=2024-05-02T12:17:25Z level=debug traceID=54 msg="POST /push (200) 33.5ms" queue=45 µs',
    "[CLOCK_ANCHOR] v=1 pid=42 mono_ns=1000 wall_ns=1760000000000000000",
    'Pulled image "x" in 781.2ms (took 5 s), size "19": 1m40s',
]
SPLICES = [
    "nan", "inf", "-", "-1", "1e309", "0x1f", "1_0", "1.2.3", "9" * 40, "", " ", "=", "==", "\"", "\\", "{", "}", "[", "]", "(", ")", "|", ":", ",",
    "\r", "\n", "\0", "\x1b[31m", "\ufeff", "é", "µs", "μs", "ms", "s", "ns", "[c_api_timing]", "[STRACE]", "run=", "dur=", "%", "\t", "  ", "'", "/s",
]  # fmt: skip
OPTIONS = [
    ParseOptions(zone="UTC"),
    ParseOptions(zone="UTC", labels=True),
    ParseOptions(zone="UTC", labels=True, units=(("*", "ms"), ("took", "s")), decimal_comma=True),
    ParseOptions(zone="UTC", patterns=(r"(?P<id>\d+)?.*?(?P<a__ms>[-\d.e]+)",)),
]


def damaged(rng: random.Random) -> bytes:
    """A log of a few lines, some of them broken."""
    lines = []
    for _ in range(rng.randint(1, 12)):
        line = rng.choice(SEEDS)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
            at = rng.randrange(len(line) + 1)
            match rng.randrange(5):
                case 0:
                    line = line[:at] + rng.choice(SPLICES) + line[at:]
                case 1:
                    line = line[:at] + line[at + rng.randint(1, 12) :]
                case 2:
                    line = line[:at] + rng.choice(SEEDS)[rng.randrange(20) :]
                case 3:
                    line = line[:at] + line[max(0, at - rng.randint(1, 30)) :]
                case _:
                    line = "".join(str(rng.randrange(10)) if c.isdigit() else c for c in line)
        lines.append(line)
        if rng.random() < 0.3:
            lines.extend(
                "".join(str(rng.randrange(10)) if c.isdigit() else c for c in line) for _ in range(rng.randint(1, 20))
            )
    data = rng.choice(("\n", "\n", "\r\n", "\r")).join(lines).encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.randbytes(rng.randint(1, 9)) + data[at:]
    return data + (b"\n" if rng.random() < 0.8 else b"")


def check(data: bytes, options: ParseOptions, rng: random.Random) -> None:
    """Everything that must hold of these bytes."""
    reader = LineReader(options)
    expected = reader.feed(data) + reader.finish()
    for record in expected:
        assert record.stages, record
        for name, value in record.stages:
            assert name, record
            assert math.isfinite(value), record
            assert 0 <= value <= 86_400_000, record
    stream = TimingStream(options)
    records, text, at = [], b"", 0
    while at < len(data):
        size = rng.choice((1, 7, 100, 5000, len(data)))
        if rng.random() < 0.5:
            records += stream.feed(data[at : at + size])
            text = b"?"
        else:
            items = stream.feed_columns(data[at : at + size])
            text += json_lines(items)
            records += sorted(
                [r for i in items for r in (i.records() if hasattr(i, "records") else [i])],
                key=lambda r: (r.line, r.offset),
            )
        at += size
    records += stream.finish()
    assert records == expected, "cut or bulk differs"
    assert stream.stats == reader.stats, "counts differ"
    if not text.startswith(b"?"):
        for line in text.splitlines():
            json.loads(line)
    for line in data.decode("utf-8", "replace").splitlines()[:2]:
        suggestions(line)


def main() -> int:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    runs, size, slowest = 0, 0, 0.0
    while time.monotonic() < end:
        seed = args.seed * 1_000_000_000 + runs
        rng = random.Random(seed)
        data, options = damaged(rng), rng.choice(OPTIONS)
        start = time.process_time()
        try:
            check(data, options, rng)
        except Exception as error:  # noqa: BLE001 - a fuzzer reports whatever comes
            print(f"seed {seed}: {type(error).__name__}: {error}\noptions {options}\ndata {data!r}")
            return 1
        slowest = max(slowest, (time.process_time() - start) / (len(data) + 200))
        runs += 1
        size += len(data)
    print(
        f"{runs} logs, {size / 1e6:.1f} MB, nothing found; slowest {slowest * 1e6:.1f} µs a byte for all checks together"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
