"""Prose, where asked for: what names a number, and what keeps it from being a stage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemon.parse.options import ParseOptions
from tests.parse.reading_lines import LABELS, one, read, stages


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("TIMING: copy_args = 17ms", {"copy_args": 17.0}),
        ("[I] Average on 9 runs - GPU latency: 3.25 ms - Host latency: 3.5 ms (end to end 6.25 ms, enqueue 0.5 ms)",
         {"GPU latency": 3.25, "Host latency": 3.5, "end to end": 6.25, "enqueue": 0.5}),
        ("[INFO] Compiled model Speech.mlmodelc in 234.5 ms", {"Compiled model": 234.5}),
        (" iteration  18/ 250 | samples: 186 | elapsed time per iteration (ms): 1295.5 | lr: 1.3E-05 | grad norm: 0.2 |",
         {"elapsed time per iteration": 1295.5}),
        ("steps: 40 loss: 4.6 iter time (s): 0.75 samples/sec: 257.6", {"iter time": 750.0}),
        ("2017-03-20 02:35:04 W | store: apply entries took too long [12.5ms for 1 entries]", {"apply entries": 12.5}),
        ("2017-03-20 02:34:42 I | mvcc: finished scheduled compaction at 7350 (took 70.5µs)", {"finished scheduled compaction": 0.0705}),
        ("[2024-05-07 10:55:53] INFO [Manager p=3] Wrote snapshot at offset 184233 with 0 ids in 2 ms. (log.Manager)", {"Wrote snapshot": 2.0}),
        ("17/06/09 20:10:45 INFO T: Reading broadcast variable 12 took 160 ms", {"Reading broadcast variable": 160.0}),
        ("Jul  1 09:24:13 h kernel[0]: PM response took 2010 ms (54, powerd)", {"PM response": 2010.0}),
        ('ts=2024-05-02T12:17:25Z level=debug msg="POST /push.v1/Push (200) 33.5ms"', {"POST /push.v1/Push": 33.5}),
        ('level=info msg="Pulled image \\"x.io/a:0.1\\" with id \\"sha256:9f\\", size \\"191096\\" in 781.25ms"', {"Pulled image": 781.25}),
        ("4227.515: Total time for which threads were stopped: 0.075 seconds, Stopping threads took: 0.00005 seconds",
         {"Total time for which threads were stopped": 75.0, "Stopping threads took": 0.05}),
        ("[2023-12-06T07:32:54.368+0000][280ms] GC(0) Evacuate Collection Set: 5.25ms:", {"Evacuate Collection Set": 5.25}),
        ("Time for inference 3: 0.75 sec total, 200 tokens, 223.9 tokens/sec, 4.5 ms/token", {"Time for inference": 750.0}),
        ("  User Load (0.25ms)  SELECT 1", {"User Load": 0.25}),
        ("INFO app - 127.0.0.1 GET /api/status took 12ms and returned 200 330 bytes", {"GET /api/status": 12.0}),
        ("I ActivityManager: Displayed com.x.mm/.ui.Launcher: +1s20ms", {"Displayed": 1020.0}),
        ("init engine (profile, warmup model) took 30.5 seconds", {"init engine": 30500.0}),
        ("driver [instance: abc] Took 19.5 seconds to spawn the instance on the hypervisor.", {"spawn the instance": 19500.0}),
        ("Session creation time cost:1.5 s", {"Session creation time cost": 1500.0}),
        ("effective_us: 812.5  rounds: 100", {"effective": 0.8125}),
        ("build_time(s) 116.5 tokens_per_sec 43.09 latency(ms) 4409.5", {"build_time": 116500.0, "latency": 4409.5}),
        ("Timer  12.5 msec", {"Timer": 12.5}),
        ("Finished in 0.25 seconds (files took 0.5 seconds to load)", {"Finished": 250.0, "files": 500.0}),
        ("prefill: 12.5 ms | decode: 4.5 ms | sample: 0.25 ms", {"prefill": 12.5, "decode": 4.5, "sample": 0.25}),
    ],
)  # fmt: skip
def test_what_names_a_number(line: str, expected: dict[str, float]) -> None:
    assert stages(line, LABELS) == expected
    if "time per iteration" not in line:
        assert stages(line) == {}, "prose is read only where asked for"


@pytest.mark.parametrize(
    "line",
    [
        "final_rms     validate ~ 82-91 ms  (largest output)",
        "Scheduling restart of crashed service x in 1000ms",
        "XMT: Solicit on eth0, interval 11795ms.",
        "Expiring session 0x24, timeout of 10000ms exceeded",
        "We launched 1 speculations.  Sleeping 15000 milliseconds.",
        "[Kit] Decoding 0.0s - 13.5s",
        "Retrying request to /chat in 0.5 seconds",
        "Connection timed out after 30000 milliseconds",
        "Measurement window: 5000 msec",
        "Billed Duration: 12 ms",
        "SCHED 108ms: gomaxprocs=8 idleprocs=8",
        "lifetime <1 sec",
        "throughput (e2e) : 0.89 tok/s",
        "Throughput: 219.6 infer/sec",
        "prompt eval count:    11 token(s)",
        "eval rate:            24.61 tokens/s",
        "Avg CPU usage: 68 %",
        "p99 latency: 11129 usec",
        "Mean TTFT (ms):         1940.88",
        "Average inference time cost: 144.8 ms",
        "P99 Latency is 0.0619 sec",
        "GPU Compute Time: min = 5.1 ms, max = 13.0 ms, mean = 7.5 ms",
        "task 0 | prompt processing, n_tokens = 17, progress = 0.69, t = 327.8 s / 53.8 tokens per second",
        "# Time: 2021-01-26T23:45:57.678222Z",
        "    total_ms smallint null,",
        "13.5 ms ± 33.7 µs per loop",
        "ETA: 5 s",
    ],
)
def test_what_is_no_measurement_of_one_unit(line: str) -> None:
    assert read(line + "\n", LABELS)[0] == []


@pytest.mark.parametrize(
    "line",
    [
        "DNS lookup took 1527920904849521ms for 'x'",
        "Timer  -16852.-61 msec",
        "Timer  1214318792583.995 msec",
        "worker#2 - Query #311 executed for 268d 7h 11m 19.426965761s",
    ],
)
def test_nonsense_is_counted_and_not_read(line: str) -> None:
    records, stats = read(line + "\n", LABELS)
    assert (records, stats.malformed) == ([], 1)


def test_ids_of_prose() -> None:
    assert one("Time for inference 3: 0.75 sec", LABELS).unit == "3"
    assert one("T: Reading broadcast variable 12 took 160 ms", LABELS).unit == "12"
    assert one("steps: 40 iter time (s): 0.75", LABELS).unit == "40"


def test_the_format_labels_reads_prose_alone() -> None:
    only = ParseOptions(format="labels", zone="UTC")
    assert stages("copy = 17ms", only) == {"copy": 17.0}
    assert stages("took=17ms", only) == {} or "took" in stages("took=17ms", only)


@settings(deadline=None)
@given(
    st.from_regex(
        r"[A-Za-z]{2,9}( [A-Za-z0-9#/]{1,6}){0,3}( took|:| =| in) [0-9]{1,4}(\.[0-9]{1,3})? (ms|s|us)", fullmatch=True
    )
)
def test_names_carry_no_digits(line: str) -> None:
    for record in read(line + "\n", LABELS)[0]:
        for name, _ in record.stages:
            assert not any(c.isdigit() for c in name) or name.split()[0] in ("GET", "POST")


def test_a_name_begins_behind_the_value_before() -> None:
    assert stages("TTFT = 45.5ms TPOT = 12.5ms", LABELS) == {"TTFT": 45.5, "TPOT": 12.5}


def test_a_setting_in_an_address_is_no_name() -> None:
    assert stages('msg="GET /query_range?query=x&step=15s (200) 1.25s"', LABELS) == {
        "GET /query_range?query=x&step=15s": 1250.0
    }


@pytest.mark.parametrize("line", ["Duration: 3s (+ 200ms warm up)", "bound to 10.0.0.5 -- renewal in 1711 seconds."])
def test_plans_are_not_measurements(line: str) -> None:
    assert stages(line, LABELS) == {}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("2024-05-01 10:00:00,5 INFO decode took 3.5 ms", "decode"),
        ("[x] Performed Job (Job ID: 9f0c) from Queue(default) in 3.5ms", "Performed Job"),
        ("Completed load of Log(dir=/d, topic=a) with 1 segments in 3.5ms (1/3 completed)", "Completed load"),
    ],
)
def test_names_are_without_level_arguments_and_attributes(line: str, name: str) -> None:
    assert stages(line, LABELS) == {name: 3.5}


@pytest.mark.parametrize(
    "line",
    ["OLLAMA_KEEP_ALIVE:5m0s", "rebuild scheduled in 5 s", "No free block found in 60 seconds", "keep_alive=5m0s"],
)
def test_more_plans_are_not_measurements(line: str) -> None:
    assert stages(line, LABELS) == {}
