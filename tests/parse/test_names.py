"""Names stay few, and what is put together is counted."""

from livemon.parse.names import CAP, OTHER, PER_SHAPE, NameGroups


def test_names_without_variable_parts_stand_for_themselves() -> None:
    names = NameGroups()
    assert [names.get(n) for n in ("validate", "run_decode total", "GET /api/chat")] == [
        "validate",
        "run_decode total",
        "GET /api/chat",
    ]
    assert names.is_settled("validate")
    assert names.grouped == 0


def test_a_few_numbered_names_stay_apart_and_many_become_one() -> None:
    names = NameGroups()
    got = [names.get(f"layer {n:02d}") for n in range(40)]
    assert got[:PER_SHAPE] == [f"layer {n:02d}" for n in range(PER_SHAPE)]
    assert set(got[PER_SHAPE:]) == {"layer #"}
    assert names.grouped == 40 - PER_SHAPE
    assert names.get("layer 03") == "layer 03"
    assert names.is_settled("layer 03")
    assert not names.is_settled("layer 30")


def test_hashes_and_uuids_are_variable_parts() -> None:
    names = NameGroups()
    for n in range(PER_SHAPE + 1):
        names.get(f"/blobs/sha256:{n:016x}a7")
        names.get(f"/v1/{n:08x}-0000-4000-8000-000000000000/x")
    assert names.get("/blobs/sha256:00000000000000aba7") == "/blobs/sha256:#"
    assert names.get("/v1/deadbeef-0000-4000-8000-000000000000/x") == "/v1/#/x"


def test_above_the_cap_everything_new_is_other() -> None:
    names = NameGroups()
    words = [a + b + c for a in "abcdefg" for b in "hijklmn" for c in "opqrstu"]
    assert len(words) > CAP
    got = {names.get(w) for w in words}
    assert len(got) == CAP + 1
    assert OTHER in got
    assert names.get(words[0]) == words[0]


def test_memory_is_bounded_by_any_number_of_names() -> None:
    names = NameGroups()
    for n in range(20_000):
        names.get(f"{n}x{n * 7919}" + "y" * 300)
    assert len(names._known) <= 4096
    assert all(len(v) <= 200 for v in names._known.values())
