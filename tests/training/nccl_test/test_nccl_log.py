import pytest

from training.nccl_test.nccl_log import Log, Row

# Formats as printed by nccl-tests 2.13 and later (src/util.cu), by those before ("error"), and by aws-ofi-nccl.
HALF = "     time   algbw   busbw #wrong"
UNITS = "            (us)  (GB/s)  (GB/s)"
HEADER = f"#       size         count      type   redop    root{HALF}{HALF}"
UNITS = f"#        (B)    (elements)                        {UNITS}       {UNITS}       "
ROW = "  2147483648     536870912     float     sum      -1"
ROW += "    51400    41.78   78.34      0    51420   41.76   78.31      0"
SMALL = "     1048576        262144     float     sum      -1"


def read(*lines: str) -> Log:
    log = Log()
    for line in lines:
        log.read(line + "\n")
    return log


@pytest.mark.parametrize("tag", ["", "[1,0]<stdout>:", "[1,12]<stdout>: ", "[prterun-launcher-7@1,0]<stdout>: "])
def test_reads_the_table_with_and_without_mpirun_s_tags(tag: str) -> None:
    log = read(*(f"{tag}{line}" for line in ("#", HEADER, UNITS, ROW, "# Out of bounds values : 0 OK")))
    assert log.rows == [Row(size=2147483648, out_of_place=78.34, in_place=78.31, wrong=0)]
    assert log.out_of_bounds == 0


def test_values_that_are_not_checked_are_not_wrong() -> None:
    line = f"{SMALL}    309.4    3.39    6.35    N/A    307.3    3.41    6.40    N/A"
    assert read(HEADER, line).rows == [Row(1048576, 6.35, 6.40, 0)]


def test_adds_the_wrong_values_of_both_halves() -> None:
    line = f"{SMALL}    309.4    3.39    6.35      3    307.3    3.41    6.40  1e+06"
    assert read(HEADER, line).rows[0].wrong == 1_000_003


def test_reads_the_older_table_without_root_and_count() -> None:
    log = read(
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error",
        "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
        "     1048576        262144   float     sum   1035.3    1.01    1.90  5e-07    643.4    1.63    3.06  5e-07",
        "# Out of bounds values : 2 FAILED",
    )
    assert log.rows == [Row(1048576, 1.90, 3.06, 0)]
    assert log.out_of_bounds == 2


def test_reads_the_older_table_of_all_gather() -> None:
    log = read(
        "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error",
        "     1048576         16384   float    303.1    3.46    3.24  0e+00    301.0    3.48    3.27  0e+00",
    )
    assert log.rows == [Row(1048576, 3.24, 3.27, 0)]


def test_ignores_a_split_line() -> None:
    assert read(HEADER, ROW[:70], "worker-0:21:27 [0] NCCL INFO comm 0x7f rank 0").rows == []


def test_ignores_numbers_before_the_header() -> None:
    assert read(ROW).rows == []


@pytest.mark.parametrize(
    "line",
    [
        "#  Rank  3 Group  0 Pid     21 on worker-1 device  3 [0x35] Tesla T4",
        "#   Rank  3 Pid   3688 on worker-1 device  3 [0x20] A100",
    ],
)
def test_finds_the_nodes_of_the_ranks(line: str) -> None:
    log = read(line, "#  Rank  0 Group  0 Pid     21 on worker-0 device  0 [0000:04:00] NVIDIA H100 80GB HBM3")
    assert (log.ranks, log.nodes) == ({3: "worker-1", 0: "worker-0"}, ["worker-0", "worker-1"])
