from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.planning.one_v100 import ONE_V100
from training_workloads import InputError
from training_workloads.planning.prediction import predict
from training_workloads.planning.training_setup import TrainingSetup, types_with_rates

P4D = TrainingSetup(model="resnet50", instance_type="p4d.24xlarge")
P3DN = TrainingSetup(model="resnet50", instance_type="p3dn.24xlarge")

setups = st.builds(
    TrainingSetup,
    model=st.just("resnet50"),
    instance_type=st.sampled_from(types_with_rates("resnet50", "mixed")),
    # With one node more, a step has no more images than an epoch.
    nodes=st.integers(1, 390),
    batch_size=st.none() | st.integers(1, 400),
    compression=st.sampled_from(["none", "fp16"]),
    gradient_clusters=st.none() | st.integers(1, 200),
)


def test_one_gpu_has_the_published_rate() -> None:
    alone = predict(replace(P3DN, instance_type=ONE_V100))
    assert alone.images_per_second == pytest.approx(1270)
    assert (alone.efficiency_of_one_gpu, alone.step.coordination, alone.step.exposed_all_reduce) == (1, 0, 0)


def test_a_node_loses_the_coordination_and_what_is_not_hidden() -> None:
    step = predict(P4D).step
    # 256 images at 2,375 images/s; the all-reduce is 1.75 x 102,228,128 bytes / 230.8 GB/s = 0.7751 ms, of which
    # 41.9 % of 97.6 % is hidden.
    assert step.computation == pytest.approx(0.107789, abs=1e-6)
    assert step.coordination == pytest.approx(0.010682, abs=1e-6)
    assert step.exposed_all_reduce == pytest.approx(0.000458, abs=1e-6)
    assert step.input_wait == 0


def test_an_epoch_is_its_steps_and_an_evaluation() -> None:
    one = predict(P4D)
    # 626 steps of 2,048 images; 50,000 images at what 88 vCPUs prepare, which is less than three times the speed.
    assert one.vcpus == 88
    assert one.evaluation_seconds == pytest.approx(50_000 / (88 * 721 * 0.325))
    assert one.epoch_seconds == pytest.approx(626 * one.step.total + one.evaluation_seconds)
    # p4d.24xlarge: 21.957642 dollars an hour.
    assert one.usd_per_epoch == pytest.approx(21.957642 * one.epoch_seconds / 3600)
    assert one.usd_to_accuracy == pytest.approx(90 * 21.957642 * one.epoch_seconds / 3600)


def test_an_evaluation_is_as_fast_as_its_images_come() -> None:
    # A GPU of P5 and its CPUs: 23 vCPUs prepare less than the GPU trains. A V100 of P3dn evaluates 3 x 1,270 images/s.
    of_p5, of_p3dn = (predict(replace(P4D, instance_type=name)) for name in ("p5.48xlarge", "p3dn.24xlarge"))
    assert of_p5.evaluation_seconds == pytest.approx(50_000 / of_p5.images_per_second)
    assert of_p3dn.lustre
    # 88 vCPUs give 20,621 images/s, the file system for 9,607 images/s 1,172 MB/s: 10,653 images of 110 kB.
    expected = min(8 * 3 * 1270, of_p3dn.vcpus * 721 * 0.325, of_p3dn.lustre.sustained_mbps * 1e6 / 110_000)
    assert of_p3dn.evaluation_seconds == pytest.approx(50_000 / expected)
    assert expected == pytest.approx(10_653, abs=1)


@pytest.mark.parametrize(
    ("nodes", "epochs"),
    # Global batches of 8,192, 10,240, 32,768, 34,816 and 67,584 images.
    [(4, 90), (5, 45), (16, 56), (17, 86), (33, None)],
)
def test_large_batches_have_other_recipes(nodes: int, epochs: int | None) -> None:
    assert predict(P4D.on_nodes(nodes)).epochs == epochs


def test_the_input_limits_what_the_cpus_cannot_feed() -> None:
    on_p5 = predict(TrainingSetup(model="resnet50", instance_type="p5.48xlarge"))
    # 23 vCPUs of each rank, 184 in all, with 721 x 0.325 images/s each.
    assert on_p5.vcpus == 184
    assert on_p5.bottleneck == "input"
    assert on_p5.images_per_second == pytest.approx(184 * 721 * 0.325)
    # 408 x 8 images in 58.2 ms, at 234.325 images/s of a vCPU: more than the 184.
    assert on_p5.vcpus_needed == 240


@pytest.mark.parametrize(("batch_size", "share", "limit"), [(120, 0.1007, "coordination"), (121, 0.0999, "GPU")])
def test_a_loss_limits_where_it_takes_a_tenth(batch_size: int, share: float, limit: str) -> None:
    found = predict(replace(P3DN, batch_size=batch_size))
    assert found.step.coordination / found.step.total == pytest.approx(share, abs=5e-5)
    assert found.bottleneck == limit


def test_the_network_limits_p3dn_without_efa() -> None:
    assert predict(P3DN).bottleneck == "GPU"
    assert predict(P3DN.on_nodes(20)).bottleneck == "GPU"
    assert predict(replace(P3DN, nodes=20, efa=False)).bottleneck == "all-reduce"
    assert predict(replace(P3DN, batch_size=32)).bottleneck == "coordination"


def test_the_hierarchical_all_reduce_of_v100_over_tcp_is_used() -> None:
    # 102,228,128 bytes: 1.550 ms within the node, then 9.788 ms at 10.444 GB/s, then 7 buffers of 16 MiB, each with
    # two hops of 0.4438 ms.
    assert predict(replace(P3DN, nodes=2, efa=False)).all_reduce_seconds == pytest.approx(0.017551, abs=1e-6)


def test_without_efa_the_network_is_one_card() -> None:
    with_efa, without = predict(P4D.on_nodes(8)), predict(replace(P4D, nodes=8, efa=False))
    assert with_efa.setup.uses_efa
    assert not without.setup.uses_efa
    assert without.all_reduce_seconds > 3 * with_efa.all_reduce_seconds
    assert without.images_per_second < with_efa.images_per_second


def test_one_cluster_exposes_all_of_the_all_reduce() -> None:
    one = predict(replace(P3DN, nodes=2, gradient_clusters=1))
    assert one.step.exposed_all_reduce == one.all_reduce_seconds
    assert predict(P3DN.on_nodes(2)).step.exposed_all_reduce < one.step.exposed_all_reduce


def test_lustre_serves_every_epoch_or_the_first_one() -> None:
    from_lustre = predict(P4D).lustre
    assert from_lustre is not None
    assert from_lustre.images_per_second == predict(P4D).images_per_second
    assert from_lustre.sustained_mbps >= predict(P4D).images_per_second * 0.11
    assert predict(replace(P4D, storage="memory")).lustre is None


def test_images_are_held_by_nodes_of_which_one_is_too_small() -> None:
    # Eight nodes of 61 GiB hold 131 GiB of images, one does not.
    setup = TrainingSetup(model="resnet50", instance_type=ONE_V100, nodes=8)
    held, read = predict(replace(setup, storage="memory")), predict(setup)
    assert held.efficiency_of_one_node == read.efficiency_of_one_node < 1


@pytest.mark.parametrize(
    ("values", "most"),
    [
        ({"instance_type": "p5.48xlarge"}, {"nodes": 392}),
        # 1,281,167 images of an epoch, on 8 and on 32 GPUs.
        ({}, {"batch_size": 160_145}),
        ({"nodes": 4}, {"batch_size": 40_036}),
    ],
)
def test_a_step_has_at_most_the_images_of_an_epoch(values: dict[str, Any], most: dict[str, Any]) -> None:
    largest = replace(P4D, **values, **most)
    assert predict(largest).global_batch <= 1_281_167
    (name, limit) = next(iter(most.items()))
    with pytest.raises(InputError, match=f"'{name}' is {limit + 1}, but the global batch .*; give {limit} or less"):
        replace(largest, **dict[str, Any]({name: limit + 1}))


def test_mask_r_cnn_on_one_node_has_the_rate_from_which_it_is_derived() -> None:
    one = predict(TrainingSetup(model="mask-rcnn", instance_type="p3dn.24xlarge"))
    assert one.images_per_second == pytest.approx(84.1)
    assert one.accuracy == "38.3 box AP, 35.1 mask AP"


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({"model": "resnet"}, ["'model' is 'resnet', but it is not known; did you mean resnet50?"]),
        ({"nodes": 513}, ["'nodes' is 513; give 512 or less"]),
        (
            {"nodes": 0, "batch_size": 0, "gradient_clusters": 0},
            [f"'{name}' is 0; give 1 or more" for name in ("nodes", "batch_size", "gradient_clusters")],
        ),
        ({"precision": "int8"}, ["'precision' is 'int8'; give one of mixed, float32"]),
        (
            {"compression": "zip", "storage": "s3"},
            ["'compression' is", "'storage' is 's3'; give one of lustre, memory"],
        ),
        (
            {"instance_type": ONE_V100, "efa": True},
            [f"'efa' is True, but {ONE_V100} has no EFA; choose another type"],
        ),
        (
            {"instance_type": "p6-b200.48xlarge"},
            ["but no rate of resnet50 in mixed precision is published for B200; choose one of p3dn.24xlarge"],
        ),
        (
            {"instance_type": ONE_V100, "storage": "memory"},
            ["but the images are 131 GiB, and these nodes can hold 27 GiB beside the ranks"],
        ),
    ],
)
def test_rejects_what_cannot_be_predicted(values: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        replace(P4D, **values)
    found = [str(problem) for problem in caught.value.problems]
    assert len(found) == len(problems)
    assert [expected for expected, text in zip(problems, found, strict=True) if expected not in text] == []


@given(setup=setups)
def test_a_speed_is_at_most_that_of_as_many_single_gpus(setup: TrainingSetup) -> None:
    one = predict(setup)
    assert 0 < one.efficiency_of_one_gpu <= 1 + 1e-9
    assert one.efficiency_of_one_node <= 1 + 1e-9
    assert one.images_per_second * one.step.total == pytest.approx(one.global_batch)


@given(setup=setups)
def test_more_nodes_never_shorten_a_step(setup: TrainingSetup) -> None:
    # The speed may fall: a third node adds more all-reduce to a batch of one image than it adds images.
    more = predict(setup.on_nodes(setup.nodes + 1))
    assert more.step.total >= predict(setup).step.total * (1 - 1e-9)


@given(setup=setups)
def test_smaller_gradients_are_never_slower(setup: TrainingSetup) -> None:
    small, large = predict(replace(setup, compression="fp16")), predict(replace(setup, compression="none"))
    assert small.images_per_second >= large.images_per_second
