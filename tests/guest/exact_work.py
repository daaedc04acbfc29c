"""Work of a known number of instructions on arm64: a loop of machine code, in threads told what to do.

As a program it reads orders from stdin, one JSON object a line, and answers each with a line when it
is done: ``{"thread": "a", "cpu": 0, "instructions": 20000000, "wait_every": 0}``. A thread is created
when it is first named. With ``wait_every`` it executes WFI after so many instructions: cycles go on,
instructions do not. ``{"together": [...]}`` runs several orders at once.
"""

import ctypes
import json
import mmap
import os
import struct
import sys
import threading
from queue import SimpleQueue

# x0: rounds, x1: loops of two instructions a round
_MOV_X2_X1 = 0xAA0103E2
_SUBS_X2 = 0xF1000442
_BNE_BACK_1 = 0x54FFFFE1
_WFI, _NOP = 0xD503207F, 0xD503201F
_SUBS_X0 = 0xF1000400
_BNE_BACK_5 = 0x54FFFF61
_RET = 0xD65F03C0


class Spinner:
    """Executes instructions by the count."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._routines = {}
        for at, waits in ((0, False), (256, True)):
            code = [_MOV_X2_X1, _SUBS_X2, _BNE_BACK_1, _WFI if waits else _NOP, _SUBS_X0, _BNE_BACK_5, _RET]
            self._page[at : at + 4 * len(code)] = struct.pack(f"<{len(code)}I", *code)
            self._routines[waits] = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)(base + at)

    def spin(self, instructions: int, wait_every: int = 0) -> None:
        """Execute about that many, to within four a round."""
        a_round = wait_every or min(instructions, 1_000_000)
        self._routines[bool(wait_every)](max(instructions // a_round, 1), a_round // 2)


class Worker(threading.Thread):
    """Takes orders and runs them one after the other."""

    def __init__(self, name: str, spinner: Spinner) -> None:
        super().__init__(name=name, daemon=True)
        self.orders: SimpleQueue = SimpleQueue()
        self.done: SimpleQueue = SimpleQueue()
        self._spinner = spinner

    def run(self) -> None:
        while True:
            order = self.orders.get()
            if "cpu" in order:
                os.sched_setaffinity(threading.get_native_id(), {order["cpu"]})
            self._spinner.spin(order["instructions"], order.get("wait_every", 0))
            self.done.put(threading.get_native_id())


def main() -> None:
    spinner, workers = Spinner(), {}
    print(json.dumps({"pid": os.getpid()}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        orders = order.get("together", [order])
        for each in orders:
            name = each["thread"]
            if name not in workers:
                workers[name] = Worker(name, spinner)
                workers[name].start()
            workers[name].orders.put(each)
        tids = {each["thread"]: workers[each["thread"]].done.get() for each in orders}
        print(json.dumps(tids), flush=True)


if __name__ == "__main__":
    main()
