"""procfs text: what the kernel writes, what it may write, and what is torn."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemon.parse.procfs import (
    are_schedstats,
    format_cpu_list,
    is_schedstat,
    last_cpu_of,
    parse_cgroups,
    parse_cpu_list,
    parse_cpu_times,
    parse_keyed,
    parse_pressure,
    parse_schedstat,
    parse_stat,
    parse_status_field,
    printable,
    slow_fields,
)

TAIL = (
    "S 10 20 20 0 -1 4194304 104 0 7 0 12 5 0 0 20 -3 4 0 75839 2998272 391 "
    + "0 " * 13
    + "17 9 50 1 0 0 0 1 2 3 4 5 6 7 0\n"
)
LINE = f"4711 (serve) {TAIL}".encode()


def test_a_stat_line() -> None:
    stat = parse_stat(LINE)
    assert (stat.tid, stat.name, stat.state, stat.ppid) == (4711, "serve", "S", 10)
    assert (stat.cpu_ticks, stat.majflt, stat.nice, stat.threads, stat.start_ticks) == (17, 7, -3, 4, 75839)
    assert (stat.last_cpu, stat.policy) == (9, "SCHED_FIFO 50")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"a) S 1", "a) S 1"),
        (b"(((", "((("),
        (b"x\ny", "x\\ny"),
        (b"\x1b[31mred", "\\x1b[31mred"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("größe".encode(), "größe"),
        (b"", ""),
        (b") R 1 2 3 4", ") R 1 2 3 4"),
        ("\u202eevil".encode(), "\\u202eevil"),
    ],
)
def test_a_name_may_hold_anything(raw: bytes, shown: str) -> None:
    stat = parse_stat(b"7 (" + raw + b") " + TAIL.encode())
    assert stat.name == shown
    assert (stat.state, stat.last_cpu, stat.start_ticks) == ("S", 9, 75839)


@given(st.binary(max_size=15))
def test_no_name_moves_the_numbers_or_reaches_the_terminal_raw(raw: bytes) -> None:
    data = b"7 (" + raw + b") " + TAIL.encode()
    stat = parse_stat(data)
    assert (stat.tid, stat.start_ticks, stat.last_cpu) == (7, 75839, 9)
    assert stat.name.isprintable()
    assert last_cpu_of(data, stat.fields_after_cpu) == 9


@pytest.mark.parametrize("more", ["", " 1", " 1 2 3"])
def test_the_last_cpu_is_found_from_the_end_whatever_the_kernel_adds(more: str) -> None:
    data = LINE.rstrip() + more.encode() + b"\n"
    assert last_cpu_of(data, parse_stat(data).fields_after_cpu) == 9


@pytest.mark.parametrize("cut", range(1, len(LINE)))
def test_the_last_cpu_in_a_torn_line_is_unknown(cut: int) -> None:
    assert last_cpu_of(LINE[:cut], 13) == -1
    assert last_cpu_of(LINE[cut:], 13) == (-1 if cut > LINE.index(b")") else 9)


@pytest.mark.parametrize("fields_after_cpu", [-1, 60, 1000])
def test_there_is_no_last_cpu_in_a_place_that_is_not_there(fields_after_cpu: int) -> None:
    assert last_cpu_of(LINE, fields_after_cpu) == -1


@given(st.integers(0, len(LINE)))
def test_a_torn_stat_line_is_refused_or_right(cut: int) -> None:
    try:
        stat = parse_stat(LINE[:cut])
    except ValueError:
        return
    assert (stat.tid, stat.name, stat.ppid) == (4711, "serve", 10)


@pytest.mark.parametrize("data", [b"", b"4711", b"4711 (serve", b"4711 (serve) S 1 2", b"x (y) z " + b"q " * 40])
def test_what_is_no_stat_line_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_stat(data)


def test_schedstat() -> None:
    assert parse_schedstat(b"1234567890123 42 7\n") == (1234567890123, 42, 7)
    assert parse_schedstat(b"0 0 999999999999999999\n") == (0, 0, 999_999_999_999_999_999)


@pytest.mark.parametrize(
    "data",
    [b"", b"1 2\n", b"1 2 3", b"1 2 3\n4", b"1 2 3 4\n", b"1  2 3\n", b"-1 2 3\n", b"01 2 3\n", b"1 2 %d\n" % 10**18],
)
def test_what_no_kernel_prints_is_no_schedstat(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a schedstat"):
        parse_schedstat(data)
    assert not are_schedstats([data])
    assert not are_schedstats([b"1 2 3\n", data, b"4 5 6\n"])


@given(
    st.lists(
        st.sampled_from([b"1 2 3\n", b"0 70 9\n", b"", b"1 2 3\n|1 2 3\n", b"|", b"1 2 ", b"3\n", b"1 2 3\n1 2 3\n"])
    )
)
def test_several_schedstats_are_judged_as_each_is(several: list[bytes]) -> None:
    assert are_schedstats(several) == all(map(is_schedstat, several))


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_round_trip(cpus: set[int]) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))


@pytest.mark.parametrize("text", ["a", "3-1", "-1", "0-99999999999", "1,,x"])
def test_what_is_no_cpu_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_cpu_list(text)


def test_a_status_field_is_found_at_any_place_but_not_inside_another() -> None:
    status = b"Name:\tx\nTgid:\t5\nNSpid:\t5\t1\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n"
    assert parse_status_field(status, b"Name") == "x"
    assert parse_status_field(status, b"NSpid") == "5\t1"
    assert parse_status_field(status, b"Cpus_allowed_list") == "0-7"
    assert parse_status_field(status, b"pid") is None


def test_cgroup_lines_with_colons_in_the_path() -> None:
    lines = parse_cgroups(b"4:cpu,cpuacct:/a:b\n0::/user.slice/x\nbroken\n")
    assert lines == ((frozenset({"cpu", "cpuacct"}), "/a:b"), (frozenset(), "/user.slice/x"))


def test_pressure_and_keyed_files() -> None:
    psi = b"some avg10=0.50 avg60=2.80 avg300=0.90 total=8064850\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
    assert parse_pressure(psi) == {"some": 8064850, "full": 7}
    assert parse_pressure(b"") == {}
    assert parse_keyed(b"usage_usec 12\nnr_throttled 3\nodd line here\nname x\n") == {
        "usage_usec": 12,
        "nr_throttled": 3,
    }


def test_cpu_times_without_steal_and_with_a_long_interrupt_line() -> None:
    data = (
        b"cpu  10 0 5 100 3 1 2 4 0 0\ncpu0 10 0 5 100 3 1 2\nintr 1 "
        + b"0 " * 5000
        + b"\nctxt 5\ncpu9 1 1 1 1 1 1 1\n"
    )
    total, first = parse_cpu_times(data)
    assert (total.cpu, total.irq_ticks, total.softirq_ticks, total.steal_ticks) == (-1, 1, 2, 4)
    assert (total.busy_ticks, total.total_ticks) == (22, 125)
    assert (first.cpu, first.steal_ticks) == (0, None)


@given(st.text(string.printable))
def test_printable_keeps_what_is_printable(text: str) -> None:
    shown = printable(text.encode())
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


def test_what_seldom_changes_is_compared_as_it_stands() -> None:
    """It must change with every name, nice, policy and priority, and with nothing else."""
    line = b"7 (a) S 1) R 1 7 7 0 -1 0 0 0 3 0 5 6 0 0 20 0 1 0 99 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 50 1 0 0 0"
    stat = parse_stat(line)
    assert (stat.nice, stat.policy, stat.last_cpu) == (0, "SCHED_FIFO 50", 3)
    assert slow_fields(line.replace(b" 5 6 ", b" 8 9 ").replace(b" 17 3 50 ", b" 17 2 50 ")) == slow_fields(line)
    for old, new in (
        (b"(a) S", b"(a) T"),
        (b" 20 0 1 0 99", b" 25 5 1 0 99"),
        (b" 3 50 1 ", b" 3 60 1 "),
        (b" 50 1 ", b" 50 2 "),
    ):
        assert slow_fields(line.replace(old, new)) != slow_fields(line)
    for torn in (b"", b"7 (a", b"7 (a) R 1 7"):
        with pytest.raises(ValueError, match="not a stat line"):
            slow_fields(torn)
