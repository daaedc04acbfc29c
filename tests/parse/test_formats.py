"""Every row of the table reads its own example, and says what it should."""

import pytest

from livemon.parse.formats import BUILT_IN, FORMAT_NAMES, FORMATS
from livemon.parse.options import ParseOptions
from tests.parse.reading_lines import one, read, stages

EXAMPLES = {  # row: what its example says, ms
    "bind_phase": {"graph_pack": 2.6},
    "timing_tree": {"validate": 0.05},
    "layer": {"layer": 14.52},
    "run_phase": {"runtime": 2410.0},
    "serving_report": {},
    "vllm_ascend": {"post process": 14.17, "forward": 4.14},
    "vllm_iteration": {"iteration elapsed time": 10.99},
    "vllm_loading": {"Model loading": 3281.941},
    "trtllm_iteration": {"host_step_time": 12.61, "prev_device_step_time": 11.9},
    "llama_timing": {"prompt eval time": 789.03},
    "ollama": {"prompt eval duration": 0.891933},
    "gin": {"/": 0.01652},
    "koboldcpp": {"Process": 1230.0, "Generate": 5670.0, "Total": 6900.0},
    "textgen": {"Output generated": 31360.0},
    "deepspeed": {"forward": 435.67, "backward": 744.11, "step": 0.98},
    "keras": {"step": 675.0},
    "keras_bar": {"step": 1.0},
    "keras_bar_progress": {},
    "hf_trainer": {"train_runtime": 231303.8},
    "torchserve": {"HandlerTime": 2049.91},
    "torchserve_access": {"POST /predictions/res18": 12.0},
    "ray_serve": {"GET /": 4.1},
    "ray_serve_call": {"__CALL__": 12.1},
    "haproxy": {"TR": 3.0, "Tw": 0.0, "Tc": 1.0, "Tr": 162.0, "Ta": 170.0},
    "haproxy_tcp": {"Tw": 0.0, "Tc": 1.0, "Tt": 5007.0},
    "nginx": {"request_time": 50.0, "upstream_response_time": 49.0},
    "gunicorn": {"D": 9.582},
    "envoy": {"duration": 226.0, "upstream_service_time": 100.0},
    "traefik": {"Duration": 8.0},
    "alb": {"request_processing_time": 86.0, "target_processing_time": 48.0, "response_processing_time": 37.0},
    "uwsgi": {"GET": 0.068},
    "morgan": {"GET /api/users": 12.345},
    "rails": {"Completed": 3804.0, "Views": 41.0, "ActiveRecord": 33.5},
    "dotnet_request": {"Request finished": 12.3456},
    "lambda": {"Duration": 11.48},
    "statsd": {"frontend.checkout.runtime": 1878.0},
    "openstack": {"time": 247.7829},
    "postgres": {"duration": 3.651},
    "mysql_slow": {"Query_time": 11.853, "Lock_time": 11.542},
    "jvm_gc": {"pause": 7.995},
    "jvm_gc_phase": {"Concurrent Mark Cycle": 45.204},
    "jvm_gc_old": {"pause": 2.3124},
    "go_gc": {"sweep_term": 8.7, "mark": 49.0, "mark_term": 0.035},
    "node_gc": {"pause": 56.9},
    "ctest": {"test-quantize-fns": 30060.0},
    "k8s_trace": {"step": 2560.949914},
    "k8s_trace_step": {"Objects listed": 8315.0},
    "monetdb": {"sql": 0.253, "opt": 0.161, "run": 1.003, "clk": 1.942},
    "syscalls": {"read": 0.123},
    "bash_time": {"real": 74388.0},
    "rust_tracing": {"time.busy": 0.0321, "time.idle": 0.00595},
    "tqdm": {},
    "keras_progress": {},
}


def test_every_row_is_tested_and_named_once() -> None:
    assert sorted(EXAMPLES) == sorted(f.name for f in FORMATS)
    assert len(FORMAT_NAMES) == len(FORMATS) + len(BUILT_IN)


@pytest.mark.parametrize("row", FORMATS, ids=lambda f: f.name)
def test_a_row_reads_its_example(row) -> None:
    assert all(hint in row.example for hint in row.hints)
    options = ParseOptions(format=None if row.is_automatic else row.name, zone="UTC")
    records, stats = read(row.example + "\n", options)
    assert [dict(r.stages) for r in records] == ([EXAMPLES[row.name]] if EXAMPLES[row.name] else [])
    assert [r.source for r in records] == ([row.name] if records else [])
    assert stats.malformed == 0
    if not row.is_automatic:
        assert read(row.example + "\n")[0] == []


@pytest.mark.parametrize("row", [f for f in FORMATS if f.gives == "record"], ids=lambda f: f.name)
def test_a_row_alone_reads_only_its_own_lines(row) -> None:
    only = ParseOptions(format=row.name, zone="UTC")
    for other in FORMATS:
        records, _ = read(other.example + "\n", only)
        assert all(r.source == row.name for r in records)
    assert dict(one(row.example, only).stages) == EXAMPLES[row.name]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "px [15/Oct/2003:15:26:31.462] fe be/s 31/-1/-1/-1/112 503 0 - - SC-- 2/2/2/1/3 0/0",
            {"TR": 31.0, "Ta": 112.0},
        ),
        (
            "px [15/Oct/2003:15:26:31] fe be/s 0/0/0/16/+16 200 +35 - - ---- 0/0/0/0/0 0/0",
            {"TR": 0.0, "Tw": 0.0, "Tc": 0.0, "Tr": 16.0},
        ),
        ("[BENCH] POST /x - - ms - -", {}),
        (
            "llama_print_timings:  eval time =  0.00 ms /  1 runs  ( 0.00 ms per token,  inf tokens per second)",
            {"eval time": 0.0},
        ),
        ("whisper_print_timings:     fallbacks =   0 p /   0 h", {}),
        ("task 12 | n_decoded = 81, tg =  12.93 t/s, tg_3s =  12.57 t/s", {}),
        (
            "  0%|   | 0/9 [00:00<?, ?it/s][2021-10-08 20:03:15,649] rank=0 time (ms) | fwd: 4.5 | bwd: 7.25",
            {"fwd": 4.5, "bwd": 7.25},
        ),
        ("TS_METRICS - Requests2XX.Count:1.0|#Level:Host", {}),
        ("[2.1s][info][gc,start] GC(0) Pause Young (G1 Evacuation Pause)", {}),
        ("[1,5: [CMS: 3K->3K(3K), 17,25 secs] 4K->4K(4K), [CMS Perm : 1K->1K(2K)] icms_dc=100 , 17,5 secs]", {}),
        (
            "9,816: [Full GC 9,816: [CMS: 3K->3K(3K), 17,25 secs] 4K->4K(4K), [Perm : 1K->1K(2K)] , 17,5 secs]",
            {"pause": 17500.0},
        ),
        ("gc7(5): 0+0+0+1000 us, 0 -> 0 MB", {}),
        (
            "REPORT RequestId: ab-1\tDuration: 1.5 ms\tBilled Duration: 2 ms\tInit Duration: 143.25 ms",
            {"Duration": 1.5, "Init Duration": 143.25},
        ),
        ("run_decode: 60/82 [=====>....] - ETA: 37s - loss: 0.6 61/82 [======>...] - ETA: 35s", {}),
        (
            'INFO [ print_timings] prompt eval time     =   15.5 ms / 12 tokens | tid="1" t_x=1',
            {"prompt eval time": 15.5},
        ),
        ("INFO [ print_timings] generation eval time =  315.5 ms / 78 runs", {"generation eval time": 315.5}),
        (
            "time (ms) | model-setup: 17.25 | train/valid/test-data-setup: 26.5",
            {"model-setup": 17.25, "train/valid/test-data-setup": 26.5},
        ),
        ("\x1b[1m18/18\x1b[0m \x1b[32m━━━━\x1b[0m \x1b[1m3s\x1b[0m 125ms/step - loss: 0.2", {"step": 125.0}),
        ("\x1b[1m 5/18\x1b[0m \x1b[32m━━━━\x1b[0m \x1b[1m1:02\x1b[0m 125ms/step - loss: 0.2", {}),
        (
            "px [25/Feb/2019:16:19:48.143] tcp-in db/pg1 1/3/152 1048 sD 3/3/1/0/0 0/0",
            {"Tw": 1.0, "Tc": 3.0, "Tt": 152.0},
        ),
        ("GET /a 200 12 - 2.125 ms", {"GET /a": 2.125}),
        ("::1 - GET /a HTTP/1.1 200 12 - 2.125 ms", {"GET /a": 2.125}),
        (
            '[2024-04-15T20:17:00.310Z] "- - -" 0 - - - "-" 12 34 5 - "-" "-" "-" "-" "10.1.2.3:80" x',
            {"duration": 5.0},
        ),
        ("[2.1s][info][gc] GC(4) Concurrent Mark Cycle 45.25ms", {"Concurrent Mark Cycle": 45.25}),
        ("[0.3s][info][gc,phases      ] GC(5) Phase 2: Move the objects 1.25ms", {"Move the objects": 1.25}),
        ("[0.3s][info][gc,phases,start] GC(5) Phase 2: Move the objects", {}),
        ("[0.1s][info][gc,phases] GC(0) Y: Pause Mark Start (Major) 0.125ms", {"Pause Mark Start": 0.125}),
        ("[3.2s][info][gc] GC(2) Concurrent reset 34M->34M(256M) 0.25ms", {"Concurrent reset": 0.25}),
        ("[3.2s][info][gc] GC(1) Garbage Collection (Warmup) 208M(10%)->84M(4%)", {}),
        (
            "[7431:000002C4A7C91000]  2378 ms: Mark-Compact (reduce) 37.7 (39.0) -> 37.4 (38.0) MB, pooled: 0 MB, 10.5 / 0.0 ms  (x)",
            {"pause": 10.5},
        ),
        (
            "[41:0x13000] 342468 ms: Mark-Compact 50,6 (52,7) -> 50,0 (52,9) MB, pooled: 1 MB, 8,5 / 0,0 ms",
            {"pause": 8.5},
        ),
        ("[41:0x13000] 342468 ms: Mark-Compact 50.6 (52.7) -> 50.0 (52.9) MB", {}),
        ("INFO 2024-03-04 04:05:36 r /x replica.py:7 - PREDICT ERROR 3.5ms", {"PREDICT": 3.5}),
        ("[pid  4242] <... futex resumed>)         = 0 <0.125000>", {"futex": 125.0}),
        ("close(3)                                = 0 <0.000500>", {"close": 0.5}),
        (
            "Completed 200 OK in 133ms (Views: -252.5ms | ActiveRecord: 25.5ms)",
            {"Completed": 133.0, "ActiveRecord": 25.5},
        ),
    ],
)
def test_variants(line: str, expected: dict[str, float]) -> None:
    assert stages(line) == expected


def test_labels_and_ids_of_rows() -> None:
    assert one("Profile execute duration [Decode]: [forward]:4.5ms").label == "Decode"
    assert one("I slot print_timing: id 3 | task 77 |   total time =  120.5 ms /  86 tokens").unit == "77"
    assert one(next(f for f in FORMATS if f.name == "rust_tracing").example).label == "get_key"
    assert (
        one(next(f for f in FORMATS if f.name == "torchserve").example).unit == "1c019a34-6071-4184-912a-aae96ff8ffdc"
    )


def test_a_stamp_that_is_the_start_is_said_to_be() -> None:
    for row in FORMATS:
        if row.gives == "record" and row.name not in ("bind_phase",):
            record = one(row.example, ParseOptions(format=row.name, zone="UTC"))
            assert (record.start_ns is not None) == (row.is_start_stamped and record.clock is not None)
