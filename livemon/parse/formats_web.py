"""Rows of the table of formats: web servers, proxies, application servers, cloud functions."""

from __future__ import annotations

from typing import Final

from livemon.parse.format_row import Format, N

_REQUEST: Final = r"(?:[A-Z]{3,10} [^\"]{1,8000}|- - -)"

WEB: Final[tuple[Format, ...]] = (
    Format(
        "haproxy",
        "HAProxy HTTP log: the five timers in ms; -1 is absent, +N a bound and not read",
        'haproxy[7]: 10.0.0.1:34552 [15/Oct/2003:15:26:31.462] px-http px-http/srv1 3/0/1/162/170 200 1024 - - ---- 2/2/0/0/0 0/0 "GET / HTTP/1.0"',
        ("] ", "/", " - "),
        r"\[\d\d/[A-Z][a-z]{2}/\d{4}:[\d:.]{8,15}\] \S+ [^/\s]+/\S+ (?P<TR__ms>-?\d+)/(?P<Tw__ms>-?\d+)/(?P<Tc__ms>-?\d+)/(?P<Tr__ms>-?\d+)/"
        r"(?:\+\d+|(?P<Ta__ms>-?\d+)) (?:\d{3}|-1) \+?\d+ ",
        is_start_stamped=True,
    ),
    Format(
        "haproxy_tcp",
        "HAProxy TCP log: Tw/Tc/Tt in ms",
        "haproxy[7]: 10.0.0.1:33312 [15/Oct/2003:08:31:57.130] px-ssh px-ssh/srv1 0/1/5007 212 -- 0/0/0/0/0 0/0",
        ("] ", "/", ":"),
        r"\[\d\d/[A-Z][a-z]{2}/\d{4}:[\d:.]{8,15}\] \S+ [^/\s]+/\S+ (?P<Tw__ms>-?\d+)/(?P<Tc__ms>-?\d+)/(?:\+\d+|(?P<Tt__ms>-?\d+)) \+?\d+ [A-Za-z-]{2} ",
        is_start_stamped=True,
    ),
    Format(
        "nginx",
        "nginx ingress: request_time and upstream_response_time in s, by position",
        '10.0.0.9 - - [18/Mar/2023:15:00:00 +0000] "GET /x HTTP/2.0" 200 12 "-" "curl/8" 462 0.050 [svc-80] [] 10.0.5.8:9000 19 0.049 200 75217b',
        ('" ', " ["),
        r"\" \d+ (?P<request_time__s>[\d.]+) \[[^\]]*\] \[[^\]]*\] \S+ \S+ (?:-|(?P<upstream_response_time__s>[\d.]+)) (?:-|\d{3})(?: (?P<unit>[0-9a-f]{32}))?",
        is_automatic=False,
    ),
    Format(
        "gunicorn",
        "gunicorn access log with %(M)s %(D)s or %(D)s at the end: µs",
        '192.0.2.1 - - [18/Aug/2020:08:00:54 +0000] "GET /v1 HTTP/1.1" 200 139 "-" "python-requests/2.22.0" 9582',
        ('" ',),
        r"\" (?P<D__us>\d+)\s*$",
        is_automatic=False,
    ),
    Format(
        "envoy",
        "Envoy and Istio access lines: duration and upstream service time in ms",
        '[2016-04-15T20:17:00.310Z] "POST /api/v1/x HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "x" "tcp://10.0.2.1:80"',
        ('Z] "', '" '),
        rf"^\[\d{{4}}-\d\d-\d\dT[\d:.]+Z\] \"{_REQUEST}\" \d{{1,3}} \S+ (?:\S+ \S+ \"[^\"]*\" |\S+ \"[^\"]*\" )?\d+ \d+ (?P<duration__ms>{N}) "
        r"(?:-|(?P<upstream_service_time__ms>\d+)) \"[^\"]*\" \"[^\"]*\" \"(?:-|(?P<unit>[^\"]*))\"",
        is_start_stamped=True,
    ),
    Format(
        "traefik",
        "Traefik common log: ms at the end",
        '10.0.0.9 - - [08/Dec/2021:14:02:43 +0000] "GET / HTTP/1.1" 200 358 "-" "-" 191 "test@docker" "http://172.17.0.3:80" 8ms',
        ('" ', "ms"),
        rf"\" (?P<unit>\d+) \"[^\"]*\" \"[^\"]*\" (?P<Duration__ms>{N})ms\s*$",
        is_start_stamped=True,
    ),
    Format(
        "alb",
        "AWS load balancer: three times in s, -1 is absent",
        'https 2018-07-02T22:23:00.186641Z app/lb/50dc 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET / HTTP/1.1"',
        (" app/",),
        rf"^(?:https?|h2|wss?|grpcs?) \S+ app/\S+ \S+ \S+ (?P<request_processing_time__s>{N}) (?P<target_processing_time__s>{N}) "
        rf"(?P<response_processing_time__s>{N}) (?:.*?\"(?P<unit>Root=[^\"]*)\")?",
    ),
    Format(
        "uwsgi",
        "uWSGI request lines",
        "[pid: 81|app: 0|req: 3/3] 127.0.0.1 () {34 vars in 617 bytes} [Sun Mar 13 22:49:15 2016] GET /x => generated 215 bytes in 68 micros",
        ("=> generated ",),
        r"\] (?P<stage>[A-Z]{3,10}) (?P<path>\S{1,2000}) => generated -?\d+ bytes in "
        rf"(?P<value__u>{N}) (?P<u>msecs|micros|secs)\b",
    ),
    Format(
        "morgan",
        "morgan 'dev' and 'tiny' lines",
        "GET /api/users 200 12.345 ms - 27",
        (" ms", " - "),
        rf"^(?:[\da-fA-F.:]{{3,45}} \S{{1,80}} )?(?P<stage>(?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) \S+)(?: HTTP/\d(?:\.\d)?)? \d{{3}} (?:[\d-]+ - )?(?P<value__ms>{N}) ms(?: - (?:\d+|-))?\s*$",
    ),
    Format(
        "rails",
        "Rails: total, then its parts",
        "Completed 200 OK in 3804ms (Views: 41.0ms | ActiveRecord: 33.5ms | Allocations: 112788)",
        ("Completed ", "ms"),
        rf"\b(?P<stage>Completed) \d{{3}} [\w ]{{0,40}}?in (?P<value__ms>{N})ms(?: \((?P<cells>.{{0,1000}}))?",
        cell=rf"(?P<name>[A-Z]\w{{0,40}}): (?P<value>{N})(?P<u>ms)\b",
    ),
    Format(
        "dotnet_request",
        "ASP.NET Core: request finished",
        "Request finished HTTP/1.1 GET http://host/api - 200 - application/json 12.3456ms",
        ("Request finished ", "ms"),
        rf"(?P<stage>Request finished) (?:in |HTTP/.* )(?P<value__ms>{N})ms\b",
    ),
    Format(
        "lambda",
        "AWS Lambda REPORT lines",
        "REPORT RequestId: 83269395-33ee-45a8-8a99-38f67b6faf72\tDuration: 11.48 ms\tBilled Duration: 12 ms\tMemory Size: 128 MB",
        ("REPORT RequestId: ", "Duration: "),
        r"REPORT RequestId: (?P<unit>[\w-]+)\s(?P<cells>.*)",
        cell=rf"(?<!Billed )(?<!Restore )\b(?P<name>Init Duration|Duration): (?P<value>{N}) (?P<u>ms)\b",
    ),
    Format(
        "statsd",
        "statsd timers: name:value|ms",
        "frontend.checkout.runtime:1878|ms",
        ("|ms",),
        rf"(?<![\w.])(?P<stage>[A-Za-z][\w.\-]{{0,200}}):(?P<value__ms>{N})\|ms(?![\w])",
    ),
    Format(
        "openstack",
        "OpenStack API lines: time in s",
        '"GET /v2/54fadb412c4e40cd/servers/detail HTTP/1.1" status: 200 len: 1893 time: 0.2477829',
        (" status: ", " time: "),
        rf"\" status: \d+ +len: \d+ (?:microversion: \S+ )?time: (?P<time__s>{N})\s*$",
    ),
)
