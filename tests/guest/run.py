"""Runs livemon's counters on an emulated arm64 Linux that has a working PMU and two core classes.

    LIVEMON_GUEST=DIR python tests/guest/run.py [CHECK…]

DIR holds ``run.sh FOLDER COMMAND``, which boots the guest with FOLDER as its working directory, takes
its machine from the environment (CAPS, PMU, SHIFT, WFI, SMP) and ends with COMMAND's status. Not part
of the default test run: it needs QEMU and two to three minutes.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
BOOTS = (
    (("exact", "arriving", "shared", "rights"), {}),
    (("moved", "trap"), {"CAPS": "1024 1024 400 400", "PMU": "split"}),
    (("unequal",), {"WFI": "1"}),
    (("episode",), {"WFI": "1", "CAPS": "1024 1024 400 400", "PMU": "split"}),
    (("one_pmu",), {"CAPS": "1024 400"}),
    (("no_instructions",), {"SHIFT": "none"}),
    (("no_pmu",), {"PMU": "off"}),
)
"""Checks, and the machine they need."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guest", default=os.environ.get("LIVEMON_GUEST"), help="folder of run.sh [$LIVEMON_GUEST]")
    parser.add_argument("checks", nargs="*", help="names of checks [all]")
    options = parser.parse_args()
    if not options.guest or not (Path(options.guest) / "run.sh").exists():
        parser.error("name the guest's folder with --guest or $LIVEMON_GUEST")
    failed = []
    for checks, machine in BOOTS:
        wanted = [check for check in checks if not options.checks or check in options.checks]
        if not wanted:
            continue
        start = time.monotonic()
        command = f"PYTHONDONTWRITEBYTECODE=1 python3 tests/guest/checks.py {' '.join(wanted)}"
        print(f"== {' '.join(f'{k}={v!r}' for k, v in machine.items()) or 'one CPU, one PMU'}", flush=True)
        done = subprocess.run([str(Path(options.guest) / "run.sh"), str(PROJECT), command], env=os.environ | machine)
        print(f"   {time.monotonic() - start:.0f} s", flush=True)
        if done.returncode:
            failed += wanted
    print("all hold" if not failed else f"failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
