import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_workloads.planning.all_reduce import Link, Network
from training_workloads.planning.step_time import (
    GradientClusters,
    StepConstants,
    StepTime,
    exposed_seconds,
    overhead_seconds,
)

CONSTANTS = StepConstants(coordination_seconds=0.01, hidden_share=0.5)
ONE_BY_ONE = GradientClusters(count=161, last_bytes=0.0)
FOUR = GradientClusters(count=4, last_bytes=0.1)
WHOLE = GradientClusters(count=1, last_bytes=1.0)

seconds = st.floats(min_value=0, max_value=10)
clusters = st.builds(GradientClusters, count=st.integers(1, 200), last_bytes=st.floats(min_value=0, max_value=1))
constants = st.builds(
    StepConstants,
    coordination_seconds=st.floats(min_value=0, max_value=0.1),
    hidden_share=st.floats(min_value=0, max_value=1),
)


@pytest.mark.parametrize(
    ("all_reduce", "graph", "exposed"),
    [
        # One cluster: nothing is computed while its gradients are sent.
        (0.08, WHOLE, 0.08),
        # Half of 0.08 x 0.9 is hidden: 0.08 - 0.036.
        (0.08, FOUR, 0.044),
        # The window is 0.3 x 2/3 x 3/4 = 0.15 s, half of which is hidden: 0.4 - 0.075.
        (0.4, FOUR, 0.325),
        (0.0, FOUR, 0.0),
    ],
)
def test_split_clusters_hide_what_the_backward_pass_can(
    all_reduce: float, graph: GradientClusters, exposed: float
) -> None:
    assert exposed_seconds(all_reduce, 0.3, graph, CONSTANTS) == pytest.approx(exposed)


def test_one_rank_has_no_overhead() -> None:
    link = Link(bytes_per_second=1.0, hop_seconds=1.0)
    alone = Network(within=link, between=link, gpus_per_node=1, nodes=1)
    assert overhead_seconds(1e9, 0.3, alone, ONE_BY_ONE, CONSTANTS, fusion_buffer_bytes=1e6) == (0.0, 0.0)


def test_ranks_cost_coordination_whatever_they_send() -> None:
    link = Link(bytes_per_second=1e9)
    two = Network(within=link, between=link, gpus_per_node=2, nodes=1)
    coordination, exposed = overhead_seconds(1e6, 0.3, two, WHOLE, CONSTANTS, fusion_buffer_bytes=1e9)
    # 2 x 1/2 x 1 MB / 1 GB/s = 1 ms.
    assert coordination == 0.01
    assert exposed == pytest.approx(0.001)


def test_a_step_is_the_sum_of_its_parts() -> None:
    step = StepTime(computation=0.1, coordination=0.01, exposed_all_reduce=0.02, input_wait=0.03)
    assert step.total == pytest.approx(0.16)


@given(all_reduce=seconds, computation=seconds, graph=clusters, fitted=constants)
def test_what_is_exposed_is_a_part_of_the_all_reduce(
    all_reduce: float, computation: float, graph: GradientClusters, fitted: StepConstants
) -> None:
    assert -1e-12 <= exposed_seconds(all_reduce, computation, graph, fitted) <= all_reduce


@given(all_reduce=seconds, less=seconds, computation=seconds, graph=clusters, fitted=constants)
def test_a_faster_all_reduce_is_never_exposed_for_longer(
    all_reduce: float, less: float, computation: float, graph: GradientClusters, fitted: StepConstants
) -> None:
    faster = max(0.0, all_reduce - less)
    slow = exposed_seconds(all_reduce, computation, graph, fitted)
    assert exposed_seconds(faster, computation, graph, fitted) <= slow + 1e-12
