from dataclasses import replace

import pytest

from training_workloads.catalog.published_runs import PUBLISHED_RUNS
from training_workloads.planning.calibration import (
    between_nodes,
    computation_seconds,
    fit,
    fitted_constants,
    hop_seconds,
    is_sent_by_jobs,
    line_rate_share,
    predicted_rate,
    within_node,
)
from training_workloads.planning.step_time import StepConstants

RUNS = {(run.name, run.gpus): run for run in PUBLISHED_RUNS}
ON_P3 = RUNS["p3.16xlarge, TensorFlow 1, Horovod, mixed precision", 64]
DGX = RUNS["DGX-1, TensorFlow 1, mixed, XLA", 8]


def test_the_share_of_the_line_rate_is_that_of_the_largest_message() -> None:
    # 78.33 GB/s of bus bandwidth on 16 ranks: 41.776 GB/s through the network of 400 Gb/s, which is 50 GB/s.
    assert line_rate_share() == pytest.approx(0.83552)
    # 25 Gb/s are 3.125 GB/s.
    assert between_nodes(25).bytes_per_second == pytest.approx(2.611e9)


def test_a_hop_is_half_of_what_is_not_transfer() -> None:
    # 128 MiB at 64.31 GB/s take 3.9132 ms; the transfer is 134,217,728 bytes / 41.776 GB/s = 3.2128 ms.
    assert hop_seconds("p4de.24xlarge", 128 * 2**20) == pytest.approx(0.00035020, abs=1e-8)


def test_the_latency_is_the_mean_of_the_sizes_that_jobs_send() -> None:
    # 33,554,432 bytes at 40.85 GB/s take 1.5401 ms, of which 0.8032 are transfer; 64 MiB at 47.58: 2.6446 and 1.6064.
    assert hop_seconds("p4de.24xlarge") == pytest.approx((0.00036847 + 0.00051909) / 2, abs=1e-7)
    assert hop_seconds("p4d.24xlarge") == hop_seconds("p4de.24xlarge")
    assert hop_seconds("p5.48xlarge") < hop_seconds("p4de.24xlarge")


def test_jobs_send_clusters_of_gradients_up_to_a_fusion_buffer() -> None:
    # A quarter of 25,557,032 gradients in float32 is 25.56 MB.
    sizes = [mib for mib in (16, 24, 25, 32, 64, 65, 128) if is_sent_by_jobs(mib * 2**20)]
    assert sizes == [25, 32, 64]


def test_nvlink_of_the_v100_has_the_share_of_the_a100() -> None:
    # 230.8 of 300 GB/s, and the V100 has 150.
    assert within_node("V100").bytes_per_second == pytest.approx(115.4e9)
    assert within_node("A100").bytes_per_second == 230.8e9


def test_without_losses_the_prediction_is_a_multiple_of_one_gpu() -> None:
    free = replace(DGX, clusters=161)
    perfect = StepConstants(coordination_seconds=0.0, hidden_share=1.0)
    assert predicted_rate(free, perfect) == pytest.approx(8 * 1270, rel=0.001)


def test_the_computation_is_that_of_one_gpu() -> None:
    # 256 images at 1270 images/s.
    assert computation_seconds(DGX, fitted_constants()) == pytest.approx(0.201575, abs=1e-6)


def test_a_row_is_met_by_the_constants_that_are_fitted_to_it() -> None:
    constants = fit([DGX], [ON_P3])
    assert predicted_rate(DGX, constants) == pytest.approx(9510)
    assert predicted_rate(ON_P3, constants) == pytest.approx(47_195)


def test_the_constants_are_those_of_the_named_rows() -> None:
    constants = fitted_constants()
    assert constants.coordination_seconds == pytest.approx(0.010682, abs=1e-6)
    assert constants.hidden_share == pytest.approx(0.41910, abs=1e-5)
