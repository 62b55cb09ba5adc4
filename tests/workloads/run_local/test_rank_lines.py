from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_workloads.run_local.rank_lines import RankLines, rank_line


def lines_of(*pieces: bytes) -> list[bytes]:
    lines = RankLines()
    found = [line for piece in pieces for line in lines.feed(piece)]
    return [line.encode(errors="surrogateescape") for line in (*found, *lines.end())]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[1,3]<stdout>:epoch 1", "rank  3 | epoch 1"),
        ("[1,3]<stdout>: epoch 1", "rank  3 | epoch 1"),
        ("[1,12]<stderr>:epoch 1", "rank 12 | epoch 1"),
        ("[prterun-vm-2878@1,3]<stdout>: epoch 1", "rank  3 | epoch 1"),
        ("[3]<stdout>:epoch 1", "rank  3 | epoch 1"),
        ("[3]<stderr>:    indented", "rank  3 |     indented"),
        ("[1,0]<stdout>:", "rank  0 | "),
        ("[1,0]<stdout>: [1] a list", "rank  0 | [1] a list"),
        ("epoch 1", "epoch 1"),
        ("[3] of a list", "[3] of a list"),
        ("before [1,3]<stdout>:", "before [1,3]<stdout>:"),
        ("", ""),
    ],
)
def test_a_tag_becomes_the_number_of_the_rank(text: str, shown: str) -> None:
    assert rank_line(text) == shown


def test_joins_lines_that_arrive_in_pieces() -> None:
    assert lines_of(b"[1,0]<std", b"out>: he", b"llo\n[1,1]<stdout>: you\n") == [b"rank  0 | hello", b"rank  1 | you"]


def test_joins_the_pieces_of_ranks_that_open_mpi_4_mixes() -> None:
    # What mpirun 4.1.4 wrote of two ranks that each printed "out N", then "par" and, later, "tial N" without an end.
    text = (
        b"[1,0]<stdout>:out 0\n[1,0]<stdout>:par[1,1]<stdout>:out 1\n"
        b"[1,1]<stdout>:par[1,0]<stdout>:tial 0[1,1]<stdout>:tial 1"
    )
    assert sorted(lines_of(text)) == [
        b"rank  0 | out 0",
        b"rank  0 | partial 0",
        b"rank  1 | out 1",
        b"rank  1 | partial 1",
    ]


def test_keeps_a_last_line_without_an_end_and_bytes_that_are_not_text() -> None:
    assert lines_of(b"[1,0]<stdout>: \xff\xfe\n", b"the launcher's \xff") == [
        b"rank  0 | \xff\xfe",
        b"the launcher's \xff",
    ]


def test_keeps_empty_lines() -> None:
    assert lines_of(b"\n[1,0]<stdout>: \n\n") == [b"", b"rank  0 | ", b""]


@given(st.binary(), st.lists(st.integers(0, 60)))
def test_any_bytes_are_unchanged_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(places)]
    expected = data.split(b"\n")
    assert lines_of(*pieces) == (expected if expected[-1] else expected[:-1])
