"""Rows of the table of formats: model serving, inference and training."""

from __future__ import annotations

from typing import Final

from livemon.parse.format_row import GO, Format, N

SERVING: Final[tuple[Format, ...]] = (
    Format(
        "bind_phase",
        "host bind phases, start and duration in ns",
        "bind phase=graph_pack start_ns=86702069100000 dur_ns=2600000 tasks=12",
        ("phase=", "dur_ns="),
        r"\bphase=(?P<stage>\S+) start_ns=(?P<start_ns>\d{1,19}) dur_ns=(?P<value__ns>\d+)(?!\S)",
    ),
    Format(
        "timing_tree",
        "indented rows of a timing tree: name, padding, ms",
        "      validate                 0.050 ms",
        (" ms",),
        rf"^ {{2,40}}(?P<stage>[A-Za-z_][\w.]{{0,80}}) {{2,60}}(?P<value__ms>{N}) ms(?: {{1,8}}\(.{{0,200}}\))?\s*$",
    ),
    Format(
        "layer",
        "per-layer lines of a verbose decode",
        "  layer 07:    14.52 ms",
        ("layer ", " ms"),
        rf"^\s{{0,20}}(?P<stage>layer) (?P<unit>\d{{1,6}}): {{0,20}}(?P<value__ms>{N}) ms\s*$",
    ),
    Format(
        "run_phase",
        "[RUN] phases of a kernel build and run",
        "[RUN] runtime done (2.41s)",
        ("[RUN] ", " done ("),
        rf"\[RUN\] (?P<stage>[\w. -]{{1,80}}?) done \((?P<value__s>{N})s\)",
    ),
    Format(
        "serving_report",
        "end-of-run report of a serving process",
        "[api]   run_decode total : 8.37s (15 steps, avg 558.0 ms/step, 1.79 step/s)",
        (" steps",),
        r"^\s{0,8}\[\w+\] .{1,80}:\s{0,20}[\d.]+s\s{1,8}\(\d+ steps",
        gives="summary",
    ),
    Format(
        "vllm_ascend",
        "vLLM on Ascend: stages of an execution",
        "Profile execute duration [Decode]: [post process]:14.17ms [forward]:4.14ms",
        ("Profile execute duration [",),
        r"Profile execute duration \[(?P<label>[^\]]{1,80})\]:(?P<cells>.*)",
        cell=rf"\[(?P<name>[^\]]{{1,80}})\]:\s?(?P<value>{N})(?P<u>ms|us|µs|s)\b",
    ),
    Format(
        "vllm_iteration",
        "vLLM: one engine iteration",
        "Iteration(515): 0 context requests, 20 generation tokens, iteration elapsed time: 10.99 ms",
        ("Iteration(", "iteration elapsed time"),
        rf"Iteration\((?P<unit>\d+)\):.*(?P<stage>iteration elapsed time): (?P<value__u>{N}) (?P<u>ms|s)\b",
    ),
    Format(
        "vllm_loading",
        "vLLM: loading the model, beside the memory it took",
        "Model loading took 14.9596 GiB and 3.281941 seconds",
        ("Model loading took ",),
        rf"(?P<stage>Model loading) took [\d.]+ [GM]i?B(?: memory)? and (?P<value__u>{N}) (?P<u>seconds|s)\b",
    ),
    Format(
        "trtllm_iteration",
        "TensorRT-LLM: one executor iteration",
        "iter = 81, rank = 0, host_step_time = 12.61ms, prev_device_step_time = 11.9ms, num_scheduled_requests = 4",
        ("host_step_time = ",),
        r"\biter = (?P<unit>\d+),(?P<cells>.*)",
        cell=rf"\b(?P<name>(?:host|device|prev_device)_step_time) = (?P<value>{N})(?P<u>ms|s)\b",
    ),
    Format(
        "llama_timing",
        "llama.cpp, whisper.cpp, ggml: print_timings",
        "prompt eval time =     789.03 ms /    27 tokens (   29.22 ms per token,    34.22 tokens per second)",
        (" time ", "= "),
        r"(?:^|[:|>]|\s{2}|\]) {0,40}(?P<stage>(?:load|sample|sampling|samplers|prompt eval|prompt|generation eval|eval|total|encode|decode|mel|batchd|predict"
        rf"|unaccounted|draft|pp|tg) time) {{1,20}}= {{0,30}}(?P<value__u>{N}) (?P<u>ms|s)\b",
    ),
    Format(
        "ollama",
        "ollama run --verbose",
        "prompt eval duration: 891.933µs",
        (" duration: ",),
        rf"^(?P<stage>(?:total|load|prompt eval|eval) duration): +(?P<value__go>{GO})\s*$",
    ),
    Format(
        "gin",
        "GIN access lines (Ollama): the route is the stage",
        '[GIN] 2026/01/20 - 23:21:17 | 200 |       16.52µs |       127.0.0.1 | HEAD     "/"',
        ("[GIN] ", " | "),
        rf"\[GIN\] [^|]{{1,40}}\|[^|]{{1,20}}\|[^|\d]{{0,20}}(?P<value__go>{GO})\s{{0,4}}\|[^|]{{0,80}}\|[^\"|]{{0,30}}\"(?P<stage>[^\"]{{1,2000}})\"",
    ),
    Format(
        "koboldcpp",
        "koboldcpp: time taken",
        "Process:1.23s (12.3ms/T = 80.12T/s), Generate:5.67s (56.7ms/T = 17.6T/s), Total:6.90s (14.49T/s)",
        ("Total:", "Generat"),
        r"(?P<cells>(?:Init|Process(?:ing)?|Generat(?:e|ion)):[\d.]+m?s.*)",
        cell=rf"\b(?P<name>Init|Process(?:ing)?|Generat(?:e|ion)|Total):(?P<value>{N})(?P<u>ms|s)\b",
    ),
    Format(
        "textgen",
        "text-generation-webui",
        "Output generated in 31.36 seconds (6.35 tokens/s, 199 tokens, context 11)",
        ("Output generated in",),
        rf"(?P<stage>Output generated) in (?P<value__s>{N}) seconds",
    ),
    Format(
        "deepspeed",
        "DeepSpeed and Megatron timers: the unit once for all cells",
        "rank=0 time (ms) | forward: 435.67 | backward: 744.11 | step: 0.98",
        ("time (ms) |",),
        r"time \(ms\) \|(?P<cells>.*)",
        cell=rf"(?P<name>[A-Za-z_][\w.\-/]{{0,80}}): (?P<value>{N})(?=\s|\||$)",
        cell_unit="ms",
    ),
    Format(
        "keras",
        "Keras: the bar of a finished epoch",
        "1/1 [==============================] - 1s 675ms/step",
        ("[=", "] - ", "/"),
        rf"\d+/\d+ \[=+\] - (?:\d+m?s )?(?P<value__u>{N})(?P<u>s|ms|us|µs|ns)/(?P<stage>step|sample|epoch)\b(?!.*\bETA\b)",
    ),
    Format(
        "keras_bar",
        "Keras 3: the bar of a finished epoch, full when both counts are the same",
        "1875/1875 ━━━━━━━━━━━━━━━━━━━━ 3s 1ms/step - accuracy: 0.9157",
        ("━ ", "/"),
        rf"\b(\d+)/\1 ━+ (?:\d+:)*\d+s? (?P<value__u>{N})(?P<u>s|ms|us|µs|ns)/(?P<stage>step|epoch)\b",
    ),
    Format(
        "keras_bar_progress",
        "Keras 3: an epoch on its way",
        "52/1875 ━━━━━━━━━━━━━━━━━━━━ 1:02 34ms/step - accuracy: 0.4157",
        ("━ ", "/"),
        r"\d+/\d+ ━+ ",
        gives="progress",
    ),
    Format(
        "hf_trainer",
        "Hugging Face Trainer: runtime of a phase, in s",
        "{'train_runtime': 231.3038, 'train_samples_per_second': 8.647, 'epoch': 3.0}",
        ("_runtime':",),
        rf"'(?P<stage>(?:train|eval|predict|test)_runtime)': (?P<value__s>{N})(?=[,}}])",
    ),
    Format(
        "torchserve",
        "TorchServe metrics with a time unit",
        "MODEL_METRICS - HandlerTime.ms:2049.91|#ModelName:res18-pt2,Level:Model|#hostname:host1,requestID:1c019a34-6071-4184-912a-aae96ff8ffdc",
        ("|#",),
        rf"(?P<stage>[A-Za-z]\w{{0,80}})\.(?P<u>ms|us|ns|Milliseconds|Microseconds|Nanoseconds|Seconds):(?P<value__u>{N})\|#"
        r"(?:ModelName:(?P<label>[^,|]{1,80}))?(?:.*?(?:requestID:|,)(?P<unit>[0-9a-f]{8}-[0-9a-f-]{27}))?",
    ),
    Format(
        "torchserve_access",
        "TorchServe access log: ms after the status",
        'ACCESS_LOG - /127.0.0.1:57422 "POST /predictions/res18 HTTP/1.1" 200 12',
        ("ACCESS_LOG - /",),
        rf'ACCESS_LOG - /\S+ "(?P<stage>[A-Z]+ [^"\s]+)[^"]{{0,20}}" \d{{3}} (?P<value__ms>{N})\s*$',
    ),
    Format(
        "ray_serve",
        "Ray Serve: method, route, status, ms",
        "INFO 2024-11-20 13:53:00,197 default_A zosusx8c 26891433-a91a-4d27-b543-0936feb5f5c1 -- GET / 200 4.1ms",
        (" -", "ms"),
        rf" --? (?P<stage>(?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|CALL|HANDLE) [^\s]{{0,500}}) (?:\d{{3}}|OK|ERROR) (?P<value__ms>{N})ms\s*$",
    ),
)
