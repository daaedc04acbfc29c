"""Lines that mix ``key=value``, ``key: value unit`` and ``name value unit``, in the shapes that real services print.

The shapes are of public programs (inference servers, GPU timers, web frameworks, storage engines, trainers); names
are shortened and the values are ours. Each reading was written down before the reader was run on it.
"""

from __future__ import annotations

from typing import Final

MIXED: Final[list[tuple[str, dict[str, float]]]] = [
    # A pair, a label with a colon, a name with a blank, in every order.
    (
        "2026-12-01 02:00:00,123 INFO step=12 prefill: 12.3ms decode=45ms total 60 ms",
        {"prefill": 12.3, "decode": 45.0, "total": 60.0},
    ),
    ("total 60 ms prefill: 12.3ms decode=45ms", {"total": 60.0, "prefill": 12.3, "decode": 45.0}),
    ("decode=45ms total: 60 ms", {"decode": 45.0, "total": 60.0}),
    ("decode=45ms total 60ms", {"decode": 45.0, "total": 60.0}),
    ("prefill 12.5 ms, decode=45 ms, total: 60 ms", {"prefill": 12.5, "decode": 45.0, "total": 60.0}),
    ("prefill: 12.5ms; decode=45ms; total 60ms", {"prefill": 12.5, "decode": 45.0, "total": 60.0}),
    ("[infer] pre: 1.5 ms | fwd=17.25ms | post 2.5 ms", {"pre": 1.5, "fwd": 17.25, "post": 2.5}),
    ("queue=410us prefill: 0.25 s total 1.5 s", {"queue": 0.41, "prefill": 250.0, "total": 1500.0}),
    ("load : 3.5 ms infer=12.5ms unload : 0.5 ms", {"load": 3.5, "infer": 12.5, "unload": 0.5}),
    ("infer=12.5ms load = 3.5 ms save= 2ms", {"infer": 12.5, "load": 3.5, "save": 2.0}),
    # Inference servers.
    (
        "INFO 12-01 02:00:01 [engine.py:88] req=17 queue: 3.25 ms prefill=41.5ms decode: 310.5 ms e2e 355.25 ms",
        {"queue": 3.25, "prefill": 41.5, "decode": 310.5, "e2e": 355.25},
    ),
    (
        "[stats] 64 tokens, TTFT=41.5 ms, TPOT: 12.5 ms, total 841.5 ms",
        {"TTFT": 41.5, "TPOT": 12.5, "total": 841.5},
    ),
    (
        "Sequence 4 metrics: Latency=8819ms, ITL=152ms, TTFT: 975ms",
        {"Latency": 8819.0, "ITL": 152.0, "TTFT": 975.0},
    ),
    (
        "10.0.0.7:5123 200 97ms [audio=4.50s preprocess=2ms queue: 1ms encoder=30ms decode 61ms batch=2 rtf=0.0216x]",
        {"preprocess": 2.0, "queue": 1.0, "encoder": 30.0, "decode": 61.0},
    ),
    (
        "ok 4.50s audio (72000 samples) in 1234ms (prefill=104ms gen: 921ms decode 209ms)",
        {"prefill": 104.0, "gen": 921.0, "decode": 209.0},
    ),
    ("prompt eval: 41.5 ms sample=0.25ms eval 310.5 ms", {"prompt eval": 41.5, "sample": 0.25, "eval": 310.5}),
    (
        "slot=3 task=17 prompt eval time = 41.5 ms decode=310.5ms",
        {"prompt eval time": 41.5, "decode": 310.5},
    ),
    (
        "iter = 7, host_time = 12.75ms, device_time=11.5ms, num_scheduled_requests: 4",
        {"host_time": 12.75, "device_time": 11.5},
    ),
    ("[VLM] GEN[5] total=910ms decode: 702ms tokens=88", {"total": 910.0, "decode": 702.0}),
    ("detokenize 0.75 ms, sample=1.25 ms, schedule: 0.5 ms, bs=8", {"detokenize": 0.75, "sample": 1.25, "schedule": 0.5}),
    ("batch=4 prefill: 104 ms decode: 921 ms", {}),
    ("step=12 prefill: 12.3ms", {"prefill": 12.3}),
    ("run=7 prefill: 12.3 ms total 60 ms", {"prefill": 12.3, "total": 60.0}),
    ("step=40 fwd 12.5 ms bwd 25.5 ms opt 3.25 ms", {"fwd": 12.5, "bwd": 25.5, "opt": 3.25}),
    # GPU and frame timers.
    (
        "[gpu-timing/host] commit=0.125ms wait=3.5ms (incl. GPU 3.25ms) route: 0.5ms  unaccounted=0.25ms",
        {"commit": 0.125, "wait": 3.5, "GPU": 3.25, "route": 0.5, "unaccounted": 0.25},
    ),
    # A track is a length (of a recording), as it is as a key.
    ("frame=812 worker decode=2.5ms detect: 8.5ms track 1.25ms total=12.25ms boxes=3", {"decode": 2.5, "detect": 8.5, "total": 12.25}),
    ("[rk_pipe][publish] cvt=1.5ms publish: 0.5ms total 2.0ms fmt=3", {"cvt": 1.5, "publish": 0.5, "total": 2.0}),
    ("Cluster=3 init 1.5 ms compute=12.5 ms wait 3.25 ms Total 17.25 ms - bwc 1.25 GB/s", {"init": 1.5, "compute": 12.5, "wait": 3.25, "Total": 17.25}),
    ("probe h264 30.0fps elapsed=812 ms decode: 2.5 ms convert=1.25 ms pop 0.5 ms queue=3", {"elapsed": 812.0, "decode": 2.5, "convert": 1.25, "pop": 0.5}),
    ("Skydome: 0.5 ms, Terrain=1.25 ms, Total: 1.75 ms", {"Skydome": 0.5, "Terrain": 1.25, "Total": 1.75}),
    ("phases: read=3ms decode: 12ms blit 4ms (640x480 -> 320x240)", {"read": 3.0, "decode": 12.0, "blit": 4.0}),
    ("Runtime phases: nodes=14 compile=0.125 ms record: 0.25 ms submit 0.5 ms", {"compile": 0.125, "record": 0.25, "submit": 0.5}),
    # Web frameworks, databases, clients.
    ("GET /orders status=200 db=6.5ms view: 12.25ms total 21.5ms", {"db": 6.5, "view": 12.25, "total": 21.5}),
    ("QUERY OK source=games db=6.5ms queue: 0.25ms decode 1.5ms", {"db": 6.5, "queue": 0.25, "decode": 1.5}),
    ("[shot home] done   nav=210ms wait: 55ms shot 120ms total=385ms", {"nav": 210.0, "wait": 55.0, "shot": 120.0, "total": 385.0}),
    ("[Latencies]: STT=210ms | LLM: 640ms | TTS 155ms | Total=1005ms", {"STT": 210.0, "LLM": 640.0, "TTS": 155.0, "Total": 1005.0}),
    ("Chat request done total=910ms (Retrieval: 41.5 ms, Rerank: 12.25 ms)", {"total": 910.0, "Retrieval": 41.5, "Rerank": 12.25}),
    ("status=200 Time: 12.25ms db=3.5ms", {"Time": 12.25, "db": 3.5}),
    ("rows=31 fetch took 41.5ms parse=3.5ms", {"fetch": 41.5, "parse": 3.5}),
    ("name=search total=41ms score: 12.5ms rank 3.25ms", {"total": 41.0, "score": 12.5, "rank": 3.25}),
    ("upstream connect: 1.5ms, tls=12ms, first byte 41.5ms", {"upstream connect": 1.5, "tls": 12.0, "first byte": 41.5}),
    ("dns 0.5ms tcp=1.25ms ttfb: 12ms", {"dns": 0.5, "tcp": 1.25, "ttfb": 12.0}),
    ("checkpoint done: write=4.5 s, sync: 0.25 s, total=5 s; sync files=3", {"write": 4500.0, "sync": 250.0, "total": 5000.0}),
    ("compaction job=29 cpu: 472318 us wall=489915us", {"cpu": 472.318, "wall": 489.915}),
    ("flush=1.2s (wal 300ms, memtable: 0.8s)", {"flush": 1200.0, "wal": 300.0, "memtable": 800.0}),
    # Trainers and tools.
    ("iter=500 loss=2.3125 data: 1.5ms fwd=41.5ms bwd 81.25 ms lr=0.0003", {"data": 1.5, "fwd": 41.5, "bwd": 81.25}),
    ("epoch 3 step=40 loss: 1.25 data_time: 0.5 s batch_time=1.25 s", {"data_time": 500.0, "batch_time": 1250.0}),
    ("Thread 3: orch_cost=39.25us poll: 7.5us idle 2us", {"orch_cost": 0.03925, "poll": 0.0075, "idle": 0.002}),
    ("deleted history: serialize=1.5ms open: 0.25ms write 3.5ms", {"serialize": 1.5, "open": 0.25, "write": 3.5}),
    ("fwd(ms): 12.5 bwd=25ms", {"fwd": 12.5, "bwd": 25.0}),
    ("fwd_ms: 12.5 bwd=25ms", {"fwd": 12.5, "bwd": 25.0}),
    ("setup: 1m40s run=3ms", {"setup": 100000.0, "run": 3.0}),
    ("total (60.5 ms) decode=45ms", {"total": 60.5, "decode": 45.0}),
    ('level=info msg="prefill: 9 ms" decode=45ms total 60 ms', {"decode": 45.0, "total": 60.0}),
    # Nothing may come of the rest: planned, rates, clocks, lengths, statistics, prose.
    ("decode=45ms timeout: 30 s", {"decode": 45.0}),
    ("decode=45ms retry after 5 s", {"decode": 45.0}),
    ("decode=45ms, next poll 10 s", {"decode": 45.0}),
    ("decode=45ms at 310.5 ms per token", {"decode": 45.0}),
    ("decode=45ms, 1.25 ms/token, speed 3 ms/it", {"decode": 45.0}),
    ("decode=45ms avg: 41.5 ms max 60 ms p99 59 ms", {"decode": 45.0}),
    ("[12.277s] decode=45ms", {"decode": 45.0}),
    ("[280ms] GC(3) pause=5ms", {"pause": 5.0}),
    ("decode=45ms audio: 4.5 s", {"decode": 45.0}),
    ("decode=45ms uptime 300 s", {"decode": 45.0}),
    ("decode=45ms for 12 requests in 3 s", {"decode": 45.0}),
    ("decode=45ms 12 requests 3 s", {"decode": 45.0}),
    ("decode=45ms range: 3 s - 5 s", {"decode": 45.0}),
    ("decode=45ms, keepalive 5s, heartbeat: 3 s", {"decode": 45.0}),
    ("decode=45ms started 5 s ago", {"decode": 45.0}),
    ("decode=45ms error: 30 s elapsed without an answer", {"decode": 45.0}),
    ("decode=45ms waiting for 3 s more", {"decode": 45.0}),
    ("decode=45ms (timeout 5 s, limit: 3 s)", {"decode": 45.0}),
    ("decode=45ms 1.0ms preprocess 8.0ms inference", {"decode": 45.0}),
    ("decode=45ms slower than 30 ms", {"decode": 45.0}),
    ("decode=45ms GET /x?wait: 5s", {"decode": 45.0}),
    ("decode=45ms the 1990s", {"decode": 45.0}),
    ("request=17 timed out after 30 s", {}),
    ("task=3 sleeping 5 s", {}),
    ("step=3 checkpoint every 600 s", {}),
    ("id=9 uptime: 3 s", {}),
    ("step=40 saved 12 files 3 s", {}),
    ("task=17 will retry: 5 s", {}),
    ("seq=5 ETA: 5 s", {}),
    ("run=3 avg: 5 ms max: 9 ms", {}),
]  # fmt: skip
"""(line, stages in ms)."""
