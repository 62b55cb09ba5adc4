import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_workloads.planning.all_reduce import (
    Link,
    Network,
    all_reduce_seconds,
    bus_bandwidth,
    ring_seconds,
    sent_bytes,
    tree_seconds,
)

NVLINK = Link(bytes_per_second=100e9)
ETHERNET = Link(bytes_per_second=2e9, hop_seconds=0.001)
TWO_NODES = Network(within=NVLINK, between=ETHERNET, gpus_per_node=8, nodes=2)

bandwidths = st.floats(min_value=1e6, max_value=1e12)
latencies = st.floats(min_value=0, max_value=0.1)
links = st.builds(Link, bytes_per_second=bandwidths, hop_seconds=latencies)
networks = st.builds(Network, within=links, between=links, gpus_per_node=st.integers(1, 16), nodes=st.integers(1, 512))
sizes = st.floats(min_value=1, max_value=1e10)


@pytest.mark.parametrize(
    ("members", "seconds"),
    [
        (1, 0.0),
        # 2 x 1/2 x 1 GB / 2 GB/s = 0.5 s, and 2 hops of 1 ms.
        (2, 0.502),
        # 2 x 3/4 x 1 GB / 2 GB/s = 0.75 s, and 6 hops.
        (4, 0.756),
        # 2 x 7/8 = 1.75: 0.875 s, and 14 hops.
        (8, 0.889),
    ],
)
def test_a_ring_sends_two_parts_less_than_each_member(members: int, seconds: float) -> None:
    assert ring_seconds(1e9, members, ETHERNET) == pytest.approx(seconds)


@pytest.mark.parametrize(("members", "seconds"), [(1, 0.0), (2, 0.502), (4, 0.754), (5, 0.806), (8, 0.881)])
def test_a_tree_has_fewer_hops(members: int, seconds: float) -> None:
    # 5 members: 1.6 GB / 2 GB/s = 0.8 s, and the tree is three levels high: 6 hops.
    assert tree_seconds(1e9, members, ETHERNET) == pytest.approx(seconds)


def test_the_slower_level_decides() -> None:
    # Between: 2 x 1/2 x 1 GB / 2 GB/s = 0.5 s and 2 hops; within: 1.75 GB / 100 GB/s = 17.5 ms at the same time.
    assert all_reduce_seconds(1e9, TWO_NODES) == pytest.approx(0.502)
    slow_within = replace(TWO_NODES, within=Link(bytes_per_second=1e9))
    assert all_reduce_seconds(1e9, slow_within) == pytest.approx(1.752)


def test_stages_wait_for_each_other() -> None:
    assert all_reduce_seconds(1e9, TWO_NODES, staged=True) == pytest.approx(0.5195)


def test_each_fusion_buffer_has_its_latency() -> None:
    # 1 GB in buffers of 300 MB: four parts, each with 2 hops of 1 ms.
    assert all_reduce_seconds(1e9, TWO_NODES, fusion_buffer_bytes=300e6) == pytest.approx(0.508)


def test_float16_halves_the_bytes() -> None:
    # ResNet-50's 25,557,032 weights.
    assert sent_bytes(25_557_032, float16=False) == 102_228_128
    assert sent_bytes(25_557_032, float16=True) == 51_114_064


def test_bus_bandwidth_is_that_of_nccl_tests() -> None:
    # The last line that nccl-tests printed for two p4de: 2 GiB in 51,406 microseconds on 16 ranks are 78.33 GB/s.
    assert bus_bandwidth(2_147_483_648, 0.051406, 16) / 1e9 == pytest.approx(78.33, abs=0.005)


@given(size=sizes, network=networks, factor=st.floats(min_value=1, max_value=1000))
def test_more_bandwidth_is_never_slower(size: float, network: Network, factor: float) -> None:
    faster = replace(
        network,
        between=replace(network.between, bytes_per_second=network.between.bytes_per_second * factor),
        within=replace(network.within, bytes_per_second=network.within.bytes_per_second * factor),
    )
    for staged in (False, True):
        assert all_reduce_seconds(size, faster, staged=staged) <= all_reduce_seconds(size, network, staged=staged)


@given(size=sizes, network=networks, between=links)
def test_one_node_uses_no_network(size: float, network: Network, between: Link) -> None:
    one = replace(network, nodes=1)
    assert all_reduce_seconds(size, one) == all_reduce_seconds(size, replace(one, between=between))
    assert all_reduce_seconds(size, replace(one, gpus_per_node=1)) == 0


@given(size=sizes, network=networks)
def test_more_nodes_are_never_faster(size: float, network: Network) -> None:
    more = replace(network, nodes=network.nodes + 1)
    assert all_reduce_seconds(size, network) <= all_reduce_seconds(size, more)


@given(size=sizes, network=networks, unit=st.sampled_from([1e3, 1e6, 1e9]))
def test_the_unit_of_the_bytes_does_not_matter(size: float, network: Network, unit: float) -> None:
    def scaled(link: Link) -> Link:
        return replace(link, bytes_per_second=link.bytes_per_second / unit)

    other = replace(network, within=scaled(network.within), between=scaled(network.between))
    expected = all_reduce_seconds(size, network)
    assert math.isclose(all_reduce_seconds(size / unit, other), expected, rel_tol=1e-9, abs_tol=1e-15)
