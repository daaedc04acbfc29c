"""Lines per second of CPU time that ``livemon parse`` reads, beside wc, ripgrep and lnav on the same file.

    python tests/benchmarks/parse_throughput.py [--lines 1000000] [--file LOG]

Each reader runs by itself, one after the other, output to /dev/null; the figure is user + system time of
the process. What is not installed is left out. Peak memory is of livemon's process.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TAGGED = "[c_api_timing] run={n:2d}  prepare_ctx={a:.2f}  runner_run={b:.2f}   validate={c:.2f}  total={d:.2f}\n"
PREFIXED = (
    "[mono_ns={t}][T0x{k:x}][TIMING] run_prepared: [c_api_timing dev=0] run={n:2d}  prepare_ctx={a:.2f}ms  "
    "bind_callable=0.00ms  runner_run={b:.2f}ms   validate={c:.2f}ms  total={d:.2f}ms  hid={h}\n"
)
SPAN = (
    "[mono_ns={t}][T0x7f][TIMING] emit: "
    "[STRACE] v=1 pid=42 tid=42 inv={n} hid={h} depth=1 name=chip.run.validate ts={t} dur={n}\n"
)
LOGFMT = (
    'ts=2024-04-16T15:10:{s:02d}.{n:06d}Z level=info msg="finished evaluation" path=/api/v1 status=200 '
    "duration={b:.3f}ms queue={n}µs\n"
)
JSON = '{{"level":"info","ts":{ts:.3f},"msg":"handled request","status":200,"took":"{b:.3f}ms","bytes":{n}}}\n'
NOISE = "INFO 06-16 10:03:14 [loggers.py:87] Engine 000: Avg prompt throughput: {b:.1f} tokens/s, Running: {n} reqs\n"
KINDS = {
    "tagged": TAGGED,
    "tagged, prefix": PREFIXED,
    "spans": SPAN,
    "logfmt": LOGFMT,
    "json": JSON,
    "no timing": NOISE,
}


def write(path: Path, template: str, count: int) -> None:
    """A log of ``count`` lines with numbers as a serving process has them."""
    rng = random.Random(1)
    hashes = ["9c1d07aa", "b52e6bfd", "0dccc715"]
    with path.open("w") as out:
        for n in range(count):
            b, c = rng.uniform(17, 65), rng.uniform(14, 91)
            row = template.format(
                n=n,
                a=rng.uniform(0.5, 0.9),
                b=b,
                c=c,
                d=b + c,
                t=10**15 + n * 10**8,
                k=0x7F21,
                h=hashes[n % 3],
                s=n % 60,
                ts=1.7e9 + n,
            )
            out.write(row)


def cpu_s(command: list[str], stdin: Path | None = None) -> tuple[float, int]:
    """CPU seconds of a command and its peak memory in bytes."""
    with open(os.devnull, "wb") as null, open(stdin or os.devnull, "rb") as source:
        process = subprocess.Popen(command, stdin=source, stdout=null, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--file", type=Path, help="read this log instead of made ones")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        logs: dict[str, Path] = {}
        if args.file:
            logs[args.file.name] = args.file
        else:
            for kind, template in KINDS.items():
                logs[kind] = Path(directory) / f"{kind.replace(', ', '_').replace(' ', '_')}.log"
                write(logs[kind], template, args.lines if kind.startswith("tagged") else args.lines // 10)
        for kind, path in logs.items():
            with path.open("rb") as file:
                lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
            print(f"{kind}: {lines:,} lines, {path.stat().st_size / 1e6:.0f} MB")
            readers: dict[str, list[str]] = {"livemon parse": [sys.executable, "-m", "livemon", "parse", str(path)]}
            if kind.startswith("tagged") or args.file:
                readers["wc -l"] = ["wc", "-l", str(path)]
                readers["ripgrep for the tag"] = ["rg", "-F", "[c_api_timing", str(path)]
                readers["lnav headless"] = ["lnav", "-n", str(path)]
            speeds: dict[str, float] = {}
            for name, command in readers.items():
                if shutil.which(command[0]) is None:
                    continue
                used, peak = cpu_s(command)
                speeds[name] = lines / used
                memory = f", peak {peak / 1e6:.0f} MB" if name == "livemon parse" else ""
                print(f"    {name:26} {speeds[name]:>14,.0f} lines/s of CPU{memory}")
            if "lnav headless" in speeds:
                print(f"    livemon / lnav: {speeds['livemon parse'] / speeds['lnav headless']:.1f} ×")
    return 0


if __name__ == "__main__":
    sys.exit(main())
