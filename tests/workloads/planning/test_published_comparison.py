"""What the page on the validation states, as limits: a change that predicts worse fails here."""

import pytest

from training_workloads.planning.published_comparison import (
    Compared,
    compared_bandwidths,
    compared_runs,
    median_error,
    unfitted,
    worst_error,
)

RUNS, BANDWIDTHS = compared_runs(), compared_bandwidths()


@pytest.mark.parametrize("rows", [RUNS, BANDWIDTHS, [*RUNS, *BANDWIDTHS]], ids=["runs", "bandwidths", "all"])
def test_the_median_error_of_unfitted_rows_is_at_most_a_tenth(rows: list[Compared]) -> None:
    assert len(unfitted(rows)) >= 11
    assert median_error(unfitted(rows)) <= 0.10


def test_no_unfitted_row_is_a_quarter_off() -> None:
    assert worst_error(unfitted([*RUNS, *BANDWIDTHS])) <= 0.25
    assert worst_error(unfitted(RUNS)) <= 0.20


def test_the_median_error_with_each_row_left_out_is_at_most_a_tenth() -> None:
    assert median_error([*RUNS, *BANDWIDTHS], lambda row: row.left_out_error) <= 0.10


def test_few_rows_are_fitted() -> None:
    fitted = [(row.name, row.size, row.fitted) for row in [*RUNS, *BANDWIDTHS] if row.fitted]
    assert fitted == [
        ("DGX-1, TensorFlow 1, mixed, XLA", 8, "coordination"),
        ("DGX A100, TensorFlow 1, mixed, XLA", 8, "coordination"),
        ("p3.16xlarge, TensorFlow 1, Horovod, mixed precision", 64, "hidden share"),
        ("p4de.24xlarge", 32 * 2**20, "latency of a hop"),
        ("p4de.24xlarge", 64 * 2**20, "latency of a hop"),
        ("p4de.24xlarge", 2**31, "share of the line rate"),
        ("p5.48xlarge", 32 * 2**20, "latency of a hop"),
        ("p5.48xlarge", 64 * 2**20, "latency of a hop"),
    ]


def test_a_row_left_out_changes_its_prediction() -> None:
    assert all(row.left_out != row.predicted for row in RUNS if row.fitted)


def test_every_row_has_a_source() -> None:
    assert [row.name for row in [*RUNS, *BANDWIDTHS] if not row.source.startswith("https://")] == []
