import time

import pytest

from training.pods.nccl_lines import NcclLines


def read(*lines: str) -> NcclLines:
    nccl = NcclLines()
    for line in lines:
        nccl.read(line)
    return nccl


@pytest.mark.parametrize(
    ("lines", "network"),
    [
        (["NET/OFI Selected Provider is efa (found 4 nics)", "Using network AWS Libfabric"], "EFA with 4 interfaces"),
        (["NET/OFI Selected provider is efa", "Using network Libfabric"], "EFA"),
        (["NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)"], "EFA with 16 interfaces"),
        (
            ["NET/OFI Selected Provider is tcp;ofi_rxm", "Using network AWS Libfabric"],
            "AWS Libfabric and libfabric provider tcp;ofi_rxm",
        ),
        # The plugin started, but NCCL then used its own sockets.
        (
            ["NET/OFI Selected Provider is efa (found 4 nics)", "Using network Socket"],
            "Socket and libfabric provider efa",
        ),
        (["Using network Socket"], "Socket"),
        (["Using network IB"], "IB"),
        (["Bootstrap : Using eth0:10.11.13.106<0>"], "unknown"),
    ],
)
def test_reads_the_network_from_nccl_s_lines(lines: list[str], network: str) -> None:
    nccl = read(*(f"[1,0]<stdout>:worker-0:21:27 [0] NCCL INFO {line}" for line in lines))
    assert str(nccl.networks["worker-0"]) == network
    assert nccl.networks["worker-0"].is_efa == network.startswith("EFA")


def test_a_node_with_different_networks_is_not_efa() -> None:
    nccl = read(
        "worker-0:21:27 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)",
        "worker-0:21:27 [0] NCCL INFO Using network AWS Libfabric",
        "worker-0:22:28 [1] NCCL INFO Using network Socket",
    )
    assert not nccl.networks["worker-0"].is_efa


def test_keeps_the_fewest_interfaces_of_a_node_s_ranks() -> None:
    lines = (
        f"worker-0:2{count}:27 [0] NCCL INFO NET/OFI Selected Provider is efa (found {count} nics)"
        for count in (4, 1, 4)
    )
    assert read(*lines).networks["worker-0"].interfaces == 1


def test_knows_which_ranks_have_printed_their_network() -> None:
    nccl = read(
        "worker-0:21:27 [0] NCCL INFO Using network Socket",
        "worker-0:21:28 [0] NCCL INFO Using network Socket",
        "worker-0:22:29 [1] NCCL INFO Using network Socket",
        "worker-1:21:27 [0] NCCL INFO Bootstrap : Using eth0:10.11.13.106<0>",
    )
    assert {node: network.processes for node, network in nccl.networks.items()} == {
        "worker-0": {"21", "22"},
        "worker-1": set(),
    }


@pytest.mark.parametrize(
    "line",
    ["a" * 64_000, "1" * 64_000, "1:" * 32_000, "worker-0:21:27 [0] NCCL INFO Using network a" + " " * 64_000 + "b"],
)
def test_a_long_line_takes_linear_time(line: str) -> None:
    # With quadratic time it took 20 seconds, in linear time it takes milliseconds.
    started = time.process_time()
    read(line)
    assert time.process_time() - started < 10
