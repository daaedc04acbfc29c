"""Rows of the table of formats: databases, runtimes, build tools, progress bars."""

from __future__ import annotations

from typing import Final

from livemon.parse.format_row import Format, N

SYSTEMS: Final[tuple[Format, ...]] = (
    Format(
        "postgres",
        "PostgreSQL: duration of a statement or of its parts",
        "2024-02-01 10:00:01.123 UTC [812] LOG:  duration: 3.651 ms  statement: SELECT 1",
        ("LOG: ", "duration: ", " ms"),
        rf"^.{{0,300}}?\bLOG: {{1,4}}(?P<stage>duration): (?P<value__ms>{N}) ms\b",
    ),
    Format(
        "mysql_slow",
        "MySQL slow log: s without a unit",
        "# Query_time: 0.011853  Lock_time: 0.011542  Rows_sent: 268  Rows_examined: 268",
        ("# Query_time: ",),
        rf"^# Query_time: (?P<Query_time__s>{N})\s+Lock_time: (?P<Lock_time__s>{N})(?!\S)",
    ),
    Format(
        "jvm_gc",
        "JVM unified GC log: pauses; the uptime in brackets is no duration",
        "[2.506s][info][gc] GC(12) Pause Young (Normal) (G1 Evacuation Pause) 24M->11M(256M) 7.995ms",
        (" Pause ", "->", "ms"),
        rf"\bGC\((?P<unit>\d+)\) (?P<label>Pause [A-Z]\w+).{{0,200}} \d+[BKMGT]->\d+[BKMGT](?:\(\d+[BKMGT]\))? (?P<pause__ms>{N})ms\s*$",
    ),
    Format(
        "jvm_gc_phase",
        "JVM unified GC log: a phase or a concurrent cycle ends, in any collector",
        "[2.1s][info][gc] GC(4) Concurrent Mark Cycle 45.204ms",
        ("GC(", "ms"),
        rf"\bGC\((?P<unit>\d+)\)\s{{1,12}}(?:[YOyo]: )?(?:Phase \d{{1,2}}: )?(?P<stage>[A-Z][A-Za-z]{{1,30}}(?: [A-Za-z]{{1,30}}){{0,8}})"
        rf"(?: \([^()]{{1,60}}\))?(?: \d+[BKMGT]->\d+[BKMGT](?:\(\d+[BKMGT]\))?)? (?P<value__ms>{N})ms\s*$",
    ),
    Format(
        "jvm_gc_old",
        "JVM GC log before 9: [GC … secs], dot or comma",
        "[GC (Allocation Failure) 65536K->1024K(251392K), 0.0023124 secs]",
        (" secs]", "GC"),
        r"\[(?:Full )?GC\b.*, (?P<pause__s>\d+[.,]\d+) secs\](?: ?\[Times: .*)?\s*$",
        decimal_comma=True,
    ),
    Format(
        "go_gc",
        "Go gctrace: the three phases in wall time",
        "gc 10 @77.279s 0%: 8.7+49+0.035 ms clock, 70+3.4/58/0.019+0.28 ms cpu, 471->647->543 MB, 589 MB goal, 8 P",
        (" ms clock", "gc "),
        rf"^gc (?P<unit>\d+) @[\d.]+s \d+%: (?P<sweep_term__ms>{N})\+(?P<mark__ms>{N})\+(?P<mark_term__ms>{N}) ms clock",
    ),
    Format(
        "node_gc",
        "Node --trace-gc: the pause; the ms before it are uptime",
        "[5129:0x37c4790]     3107 ms: Mark-sweep 1.8 (3.7) -> 1.8 (3.2) MB, 56.9 / 0.1 ms  (average mu = 0.239)",
        (" MB, ", " ms: ", " / "),
        r"\[\d+:(?:0x)?[0-9a-fA-F]{4,16}\] +\d+ ms: (?P<label>[\w-]+)[^/]{0,100}? MB, (?:pooled: \d+(?:[.,]\d+)? MB, )?"
        r"(?P<pause__ms>\d+(?:[.,]\d+)?) / \d+(?:[.,]\d+)? ms",
        decimal_comma=True,
    ),
    Format(
        "ctest",
        "CTest results",
        " 2/21 Test  #2: test-quantize-fns ................   Passed   30.06 sec",
        ("Test", "#", " sec"),
        rf"Test\s+#(?P<unit>\d+): (?P<stage>\S+) \.+\s*(?:Passed|\*\*\*\w+)\s+(?P<value__s>{N}) sec\b",
    ),
    Format(
        "k8s_trace",
        "Kubernetes traces: cumulative, then the step",
        "Trace[1901900101]: [10.876889767s] [2.560949914s] About to write a response",
        ("Trace[", "s] ["),
        rf"Trace\[(?P<unit>\d+)\]: \[[\d.]+m?s\] \[(?P<step__u>{N})(?P<u>ms|s|us|µs)\] ",
    ),
    Format(
        "k8s_trace_step",
        "Kubernetes traces: one step",
        'Trace[1901900101]: ---"Objects listed" 8315ms (15:04:20.058)',
        ("Trace[", '---"'),
        rf'Trace\[(?P<unit>\d+)\]: ---"(?P<stage>[^"]{{1,200}})" (?:error:\S+ )?(?P<value__ms>{N})ms\b',
    ),
    Format(
        "monetdb",
        "MonetDB client timer: the unit once for all",
        "sql:0.253 opt:0.161 run:1.003 clk:1.942 ms",
        (" clk:", " ms"),
        rf"(?P<cells>\b(?:\w{{1,8}}:{N} ){{1,8}}clk:{N}) ms\s*$",
        cell=rf"(?P<name>\w{{1,8}}):(?P<value>{N})",
        cell_unit="ms",
    ),
    Format(
        "syscalls",
        "strace -T",
        '12:04:31.120 read(3, "", 4096) = 0 <0.000123>',
        (")", " = ", "<"),
        rf"^(?:\[pid +(?P<tid>\d{{1,10}})\] |(?P<pid>\d{{1,10}}) +)?(?:[\d:.]+ )?"
        rf"(?:<\.\.\. )?(?P<stage>[a-z_]\w{{0,40}})(?:\(| resumed>).* = .*<(?P<value__s>{N})>\s*$",
    ),
    Format(
        "bash_time",
        "time of bash: real, user, sys",
        "real\t1m14.388s",
        ("\t", "m"),
        r"^(?P<stage>real|user|sys)\t(?P<value__go>\d+m[\d.]+s)\s*$",
    ),
    Format(
        "rust_tracing",
        "Rust tracing: a span closes",
        "run_vm{vm_kind=x}:get_key: vm: close time.busy=32.1µs time.idle=5.95µs",
        ("close time.busy=",),
        r"(?:\b(?P<label>[\w.]{1,80})(?:\{[^{}]{0,400}\})?: [\w:.]{1,200}: )?close (?P<cells>time\.busy=.*)",
        cell=r"(?P<name>time\.(?:busy|idle))=(?P<value>[\d.]+)(?P<u>[nmµμ]?s)\b",
    ),
    Format(
        "tqdm",
        "tqdm bars: estimates",
        " 44%|####      | 4/9 [00:00<00:00, 962.93it/s]",
        ("%|",),
        r"\d+%\|[^|]{0,400}\|",
        gives="progress",
    ),
    Format(
        "keras_progress",
        "Keras: an epoch on its way, with an ETA",
        "13184/60000 [=====>........................] - ETA: 3s - loss: 0.0952",
        ("ETA: ",),
        r"\[=*>?\.*\] - ETA: ",
        gives="progress",
    ),
)
