import pytest

from training.pods.network_line import NetworkWatch

EFA = ["NET/OFI Selected Provider is efa (found {} nics)", "Using network AWS Libfabric"]


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(node: str, pid: int, *texts: str) -> bytes:
    return "".join(f"[1,{pid}]<stdout>:{node}:{pid}:27 [0] NCCL INFO {text}\n" for text in texts).encode()


def efa(node: str, pid: int, count: int = 32) -> bytes:
    return lines(node, pid, *(text.format(count) for text in EFA))


def watch(*chunks: bytes, nodes: int = 2, ranks: int = 2, requested: int = 0) -> NetworkWatch:
    made = NetworkWatch(nodes=nodes, ranks=ranks, efa=requested, clock=Clock())
    for chunk in chunks:
        made.read(chunk)
    return made


@pytest.mark.parametrize(
    ("chunks", "requested", "line"),
    [
        ((efa("w-0", 1), efa("w-1", 2)), 32, "network: efa, 32/32 devices on 2/2 nodes"),
        # The node with the fewest decides.
        ((efa("w-0", 1), efa("w-1", 2, 4)), 32, "network: efa, 4/32 devices on 2/2 nodes"),
        ((efa("w-0", 1), efa("w-1", 2)), 0, "network: efa, 32 devices on 2/2 nodes"),
        (
            (
                lines("w-0", 1, "NET/OFI Selected provider is efa", "Using network Libfabric"),
                lines("w-1", 2, "NET/OFI Selected provider is efa", "Using network Libfabric"),
            ),
            4,
            "network: efa on 2/2 nodes",
        ),
        (
            (lines("w-0", 1, "Using network Socket"), lines("w-1", 2, "Using network Socket")),
            0,
            "network: tcp (Socket) on 2/2 nodes",
        ),
        (
            (lines("w-0", 1, "Using network IB"), lines("w-1", 2, "Using network IB")),
            0,
            "network: InfiniBand or RoCE (IB) on 2/2 nodes",
        ),
        # A plugin that does not print its provider proves nothing, in either direction.
        (
            (lines("w-0", 1, "Using network Libfabric"), lines("w-1", 2, "Using network Libfabric")),
            4,
            "network: Libfabric on 2/2 nodes",
        ),
    ],
)
def test_the_line_names_what_carries_the_gradients(chunks: tuple[bytes, ...], requested: int, line: str) -> None:
    made = watch(*chunks, requested=requested)
    assert (made.line, made.not_efa) == (line, False)


@pytest.mark.parametrize(
    ("second", "line"),
    [
        (
            lines("w-1", 2, "Using network Socket"),
            "network: efa, 4/4 devices on 1/2 nodes; tcp (Socket) on 1/2 nodes, although EFA was requested",
        ),
        (
            lines("w-1", 2, "NET/OFI Selected Provider is tcp;ofi_rxm (found 1 nics)", "Using network AWS Libfabric"),
            "network: efa, 4/4 devices on 1/2 nodes; AWS Libfabric and libfabric provider tcp;ofi_rxm on 1/2 nodes, "
            "although EFA was requested",
        ),
    ],
)
def test_one_node_without_efa_is_not_efa(second: bytes, line: str) -> None:
    made = watch(efa("w-0", 1, 4), second, requested=4)
    assert (made.line, made.not_efa) == (line, True)


def test_a_plugin_that_nccl_does_not_find_is_not_retried() -> None:
    text = b"worker-0:21:27 [0] net.cc:312 NCCL WARN Error: network AWS Libfabric not found.\n"
    made = watch(text, ranks=16, requested=32)
    assert made.not_efa
    assert made.line == "network: none, NCCL has no network AWS Libfabric, although EFA was requested"


def test_one_node_needs_no_network() -> None:
    made = watch(lines("w-0", 1, "Using network Socket"), nodes=1, ranks=1, requested=4)
    assert made.line == (
        "network: none, one node: NVLink, PCIe or shared memory carry the gradients (NCCL names tcp (Socket))"
    )
    assert not made.not_efa


def test_waits_for_all_ranks_but_not_for_ever() -> None:
    made = watch(efa("w-0", 1), efa("w-1", 2), ranks=16, requested=32)
    clock = made.clock
    assert isinstance(clock, Clock)
    assert made.line is None
    clock.now = 9.0
    made.read(efa("w-0", 3))
    clock.now = 18.0
    made.decide()
    assert made.line is None
    clock.now = 19.0
    made.decide()
    assert made.line == "network: efa, 32/32 devices on 2/2 nodes"


def test_decides_at_the_end_with_what_is_known() -> None:
    made = watch(efa("w-0", 1), ranks=16, requested=32)
    made.decide(ended=True)
    assert made.line == "network: efa, 32/32 devices on 1/2 nodes"


def test_output_without_nccl_has_no_line() -> None:
    made = watch(b"epoch 1/12: loss 0.6\n", b"NCCL INFO is not a line of NCCL\n")
    made.decide(ended=True)
    assert made.line is None


@pytest.mark.parametrize("size", [1, 7, 64])
def test_lines_may_come_in_parts(size: int) -> None:
    text = efa("w-0", 1) + b"epoch 1/12\n" + efa("w-1", 2)
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    assert watch(*parts, requested=32).line == "network: efa, 32/32 devices on 2/2 nodes"


def test_a_line_without_an_end_is_not_kept() -> None:
    made = watch(b"x" * 10_000_000)
    assert len(made._rest) <= 4096
