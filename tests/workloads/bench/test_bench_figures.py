"""The arithmetic of a report, and the comparison of two, from figures on the disk."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from training_workloads.bench.bench_report import write_report
from training_workloads.bench.bench_summary import figures, medians, scaling_efficiency, summarize
from training_workloads.bench.results_folder import ResultsFolder

COMMAND = ["python", "-m", "training.resnet50", "--batch-size", "128", "--batch-size", "256", "--compression", "fp16"]
JOB = {"kind": "HorovodJobSpec", "command": COMMAND, "efa": True}
NCCL = {"kind": "NcclTestJobSpec", "efa_interfaces": None}


def cell(folder: Path, name: str, nodes: int, speeds: list[float | None], **other: Any) -> None:
    """Write a cell of p3.16xlarge with a repetition for each speed; one without a speed failed."""
    described = {"nodes": nodes, "ranks": 8 * nodes, "instance_type": "p3.16xlarge", "values": {"nodes": nodes}}
    path = folder / name
    path.mkdir(parents=True)
    (path / "cell.json").write_text(json.dumps({**described, "identity": {"job": JOB}, **other}))
    for number, speed in enumerate(speeds, 1):
        results = None if speed is None else {"images_per_second": speed, "data_wait_share_per_rank": [0.1, 0.3]}
        state = {"state": "failed", "reason": "Failed"} if speed is None else {"state": "finished"}
        (path / str(number)).mkdir()
        record = {**state, "job": name, "usd": 12.24 * nodes, "results": results, "network": "tcp"}
        (path / str(number) / "record.json").write_text(json.dumps(record))


def test_the_median_of_each_figure_that_a_repetition_has() -> None:
    found: list[dict[str, float]] = [
        {"images_per_second": 90.0, "data_wait_share": 0.5},
        {"images_per_second": 100.0},
        {"images_per_second": 95},
    ]
    assert medians(found) == {"images_per_second": 95, "data_wait_share": 0.5}
    assert medians(found[:2]) == {"images_per_second": 95.0, "data_wait_share": 0.5}
    assert medians([]) == {}


@pytest.mark.parametrize(
    ("speed", "ranks", "smallest", "efficiency"),
    [(190.0, 2, (100.0, 1), 0.95), (8000.0, 160, (500.0, 8), 0.8), (100.0, 1, (100.0, 1), 1.0)],
)
def test_efficiency(speed: float, ranks: int, smallest: tuple[float, int], efficiency: float) -> None:
    assert scaling_efficiency(speed, ranks, *smallest) == pytest.approx(efficiency)


def test_reads_the_figures_of_results() -> None:
    results = {
        "images_per_second": 3,
        "step_milliseconds": {"p50": 7.5, "p90": 8},
        "data_wait_share_per_rank": [0.1, 0.2],
    }
    assert figures(results) == {"images_per_second": 3, "step_milliseconds_p50": 7.5, "data_wait_share": 0.2}
    assert figures({"bus_bandwidth": 78.3, "images_per_second": None}) == {"bus_bandwidth": 78.3}


def test_the_report_has_the_plan_and_what_was_published_beside_the_medians(tmp_path: Path) -> None:
    cell(tmp_path, "aa", 1, [9000, 9400, 9200])
    cell(tmp_path, "bb", 2, [17_480, None])
    one, two = summarize(ResultsFolder(path=tmp_path))
    assert (one.figures["images_per_second"], one.efficiency, one.repetitions) == (9200, 1.0, 3)
    assert two.efficiency == pytest.approx(0.95)
    assert (two.usd, two.failures) == (24.48, ["Failed"])
    assert one.predicted == pytest.approx(9510, rel=0.05)
    assert one.published["DGX-1, TensorFlow 1, mixed, XLA"] == 9510
    report = write_report(ResultsFolder(path=tmp_path)).read_text()
    assert report.splitlines()[0:3] == ["# Benchmark", "", "Network: tcp"]
    assert "| p3.16xlarge | 2 | 16 | 17,480.0 | 30.0% | 95.0% | 24.48 |" in report
    assert "- nodes 2: Failed" in report
    rows = (tmp_path / "repetitions.csv").read_text().splitlines()
    assert [row.split(",")[:5] for row in rows[1:4]] == [["aa", "aa", "finished", "1", "p3.16xlarge"]] * 3
    for name in ("throughput", "efficiency", "cost"):
        assert f"![{name}]({name}.svg)" in report
        assert (tmp_path / f"{name}.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    "options", [("--strategy", "multiworker"), ("--xla", "off"), ("--synthetic",), ("--batch-size", "many")]
)
def test_what_the_plan_does_not_know_has_none_in_the_report(tmp_path: Path, options: tuple[str, ...]) -> None:
    job = {**JOB, "command": [*COMMAND, *options]}
    cell(tmp_path, "aa", 1, [9000], identity={"job": job})
    (found,) = summarize(ResultsFolder(path=tmp_path))
    assert found.predicted is None


def test_the_report_of_a_test_of_the_network_has_its_curve(tmp_path: Path) -> None:
    cell(tmp_path, "aa", 2, [None], identity={"job": NCCL}, instance_type="p5.48xlarge")
    sizes = [
        {"bytes": 8, "out_of_place": 0.0},
        {"bytes": 2**30, "out_of_place": 300.0},
        {"bytes": 2**31, "out_of_place": 350},
    ]
    record = {"state": "finished", "usd": 1, "results": {"bus_bandwidth": 350.0, "sizes": sizes}}
    (tmp_path / "aa/1/record.json").write_text(json.dumps(record))
    (found,) = summarize(ResultsFolder(path=tmp_path))
    assert (found.figures, found.predicted) == ({"bus_bandwidth": 350.0}, None)
    assert list(found.published) == ["at 16 GiB"]
    assert "![bandwidth](bandwidth.svg)" in write_report(ResultsFolder(path=tmp_path)).read_text()


@pytest.mark.parametrize(("after", "margin", "code"), [(950.0, "0.05", 0), (949.0, "0.05", 1), (949.0, "0.06", 0)])
def test_a_cell_that_is_slower_by_more_than_the_margin_fails(
    tmp_path: Path, program: Program, after: float, margin: str, code: int
) -> None:
    cell(tmp_path / "a", "aa", 1, [1000])
    # Another image makes another hash; the values of the axes are the same.
    cell(tmp_path / "b", "bb", 1, [after])
    result = program("bench", "compare", str(tmp_path / "a"), str(tmp_path / "b"), "--margin", margin)
    assert result.code == code
    assert f"nodes 1: 1,000 before, {after:g} after" in result.out


def test_a_cell_that_is_missing_fails(tmp_path: Path, program: Program) -> None:
    cell(tmp_path / "a", "aa", 1, [1000])
    cell(tmp_path / "b", "aa", 1, [None])
    result = program("bench", "compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert (result.code, result.out) == (1, "SLOWER  nodes 1: 1,000 before, not measured after\n")


def test_a_folder_without_results_is_rejected(tmp_path: Path, program: Program) -> None:
    result = program("bench", "report", str(tmp_path))
    assert result.code == 2
    assert "but it has no cell of a sweep" in result.err
    assert list(tmp_path.iterdir()) == []
