"""The arithmetic of a report, and the comparison of two, from figures on the disk."""

import json
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.cluster.conftest import Program
from training.runtime import files
from training_workloads.bench.charts import step_splits
from training_workloads.bench.report import write_report
from training_workloads.bench.results_folder import ResultsFolder
from training_workloads.bench.summary import FIGURES, figures, medians, scaling_efficiency, summarize
from training_workloads.planning.chart import COLORS

SVG = "{http://www.w3.org/2000/svg}"


def cell(folder: Path, name: str, nodes: int, speeds: list[float | None], **other: Any) -> None:
    """Write a cell of p3dn.24xlarge with a repetition for each speed; one without a speed failed."""
    described = {"nodes": nodes, "ranks": 8 * nodes, "instance_type": "p3dn.24xlarge", "values": {"nodes": nodes}}
    path = folder / name
    path.mkdir(parents=True)
    (path / "cell.json").write_text(json.dumps({**described, **other}))
    for number, speed in enumerate(speeds, 1):
        results = None if speed is None else {"images_per_second": speed, "data_wait_share_per_rank": [0.1, 0.3]}
        state = {"state": "failed", "reason": "Failed"} if speed is None else {"state": "finished"}
        (path / str(number)).mkdir()
        record = {**state, "job": name, "usd": 15.606 * nodes, "results": results, "network": "tcp"}
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


def test_the_line_in_a_log_has_every_figure_of_a_training() -> None:
    # The wait is in results.json for each rank, and in the line that of the slowest.
    names = {path[0] for path in FIGURES.values()} - {"bus_bandwidth", "data_wait_share"}
    assert names == set(files.REPORTED)


def steps(folder: Path, name: str, ranks: int, speed: float, waits: list[float]) -> None:
    results = {"images_per_second": speed, "global_batch_size": 32 * ranks, "data_wait_share_per_rank": waits}
    cell(folder, name, 1, [None], ranks=ranks, values={"recipe": "digits", "ranks": ranks})
    record = {"state": "finished", "usd": 0, "results": results}
    (folder / name / "1/record.json").write_text(json.dumps(record))


def test_a_step_is_split_into_what_was_measured(tmp_path: Path) -> None:
    steps(tmp_path, "aa", 1, 320, [0.1])
    # 64 images at 400 a second are 160 ms, of which the slower rank waits for 40; one rank computes for 90.
    steps(tmp_path, "bb", 2, 400, [0.25, 0.1])
    one, two = step_splits(summarize(ResultsFolder(path=tmp_path)))
    assert (one.computation, one.other_ranks, one.images) == pytest.approx((90, 0, 10))
    assert (two.computation, two.other_ranks, two.images) == pytest.approx((90, 30, 40))
    assert "![step](step.svg)" in write_report(ResultsFolder(path=tmp_path), print).read_text()
    picture = ElementTree.fromstring((tmp_path / "step.svg").read_text())
    texts = [each.text for each in picture.iter(f"{SVG}text")]
    assert {"digits, ranks 2", "160 ms", "beyond it, for other ranks"} <= set(texts)
    # The second bar: 90 of 160 ms, then 30, then 40.
    widths = [width(picture, color, bar=1) for color in COLORS[:3]]
    assert [each / sum(widths) for each in widths] == pytest.approx([90 / 160, 30 / 160, 40 / 160], abs=1e-4)


def width(picture: ElementTree.Element, color: str, bar: int) -> float:
    """Return the width of a part of a bar."""
    parts = [each for each in picture.iter(f"{SVG}path") if each.get("style") == f"fill: {color}"]
    places = [float(place) for place in re.findall(r"[ML] ([\d.]+)", parts[bar].attrib["d"])]
    return max(places) - min(places)


def test_a_step_without_its_wait_is_not_split(tmp_path: Path) -> None:
    cell(tmp_path, "aa", 1, [9000])
    assert step_splits(summarize(ResultsFolder(path=tmp_path))) == []
    assert "step.svg" not in write_report(ResultsFolder(path=tmp_path), print).read_text()


def test_each_kind_has_its_ideal_line(tmp_path: Path) -> None:
    for name, recipe in (("a", "digits"), ("b", "resnet50-p3dn")):
        for ranks in (1, 2):
            values = {"recipe": recipe, "ranks": ranks}
            cell(tmp_path, f"{name}{ranks}", 1, [100.0 * ranks], ranks=ranks, values=values, instance_type="")
    write_report(ResultsFolder(path=tmp_path), print)
    styles = [str(each.get("style")) for each in ElementTree.parse(tmp_path / "throughput.svg").iter(f"{SVG}path")]
    found = {(color, "stroke-dasharray" in style) for style in styles for color in COLORS if color in style}
    assert found == {(color, dashed) for color in COLORS[:2] for dashed in (False, True)}


def test_a_kind_with_one_size_has_no_efficiency(tmp_path: Path) -> None:
    cell(tmp_path, "aa", 2, [9000])
    (one,) = summarize(ResultsFolder(path=tmp_path))
    assert one.efficiency is None
    assert "| efficiency |" not in write_report(ResultsFolder(path=tmp_path), print).read_text()
    cell(tmp_path, "bb", 1, [4500])
    assert [each.efficiency for each in summarize(ResultsFolder(path=tmp_path))] == [1.0, 1.0]


def test_a_column_is_there_once(tmp_path: Path) -> None:
    steps(tmp_path, "aa", 2, 400, [0.25, 0.1])
    write_report(ResultsFolder(path=tmp_path), print)
    names = (tmp_path / "repetitions.csv").read_text().splitlines()[0].split(",")
    assert names[:6] == ["cell", "job", "state", "recipe", "ranks", "type"]
    assert names.count("ranks") == 1


def test_a_line_is_named_by_what_differs(tmp_path: Path) -> None:
    for compression in ("none", "fp16"):
        for nodes in (1, 2):
            values = {"recipe": "resnet50-p3dn", "nodes": nodes, "--compression": compression}
            cell(tmp_path, f"{compression}{nodes}", nodes, [100.0 * nodes], values=values)
    write_report(ResultsFolder(path=tmp_path), print)
    texts = [each.text for each in ElementTree.parse(tmp_path / "throughput.svg").iter()]
    assert {"--compression fp16", "--compression none"} <= set(texts)


def test_the_report_has_the_plan_and_what_was_published_beside_the_medians(tmp_path: Path) -> None:
    published = {"DGX-1": 9510.0, "p3dn.24xlarge, 2018": 5000.0}
    cell(tmp_path, "aa", 1, [9000, 9400, 9200], predicted=9628.1, published=published)
    cell(tmp_path, "bb", 2, [17_480, None], published={"issue 779": 12_828.0})
    one, two = summarize(ResultsFolder(path=tmp_path))
    assert (one.figures["images_per_second"], one.efficiency, one.repetitions) == (9200, 1.0, 3)
    assert two.efficiency == pytest.approx(0.95)
    assert (two.usd, two.failures) == (31.212, ["Failed"])
    report = write_report(ResultsFolder(path=tmp_path), print).read_text()
    assert "| 9,628 | 5,000 to 9,510 | 3 |" in report
    assert "| 16 | 12,828 | issue 779 |" in report
    assert report.splitlines()[0:3] == ["# Benchmark", "", "Network: tcp"]
    assert "| p3dn.24xlarge | 2 | 16 | 17,480.0 | 30.0% | 95.0% | 31.21 |" in report
    assert "- nodes 2: Failed" in report
    rows = (tmp_path / "repetitions.csv").read_text().splitlines()
    assert [row.split(",")[:5] for row in rows[1:4]] == [["aa", "aa", "finished", "1", "p3dn.24xlarge"]] * 3
    for name in ("throughput", "efficiency", "cost"):
        assert f"![{name}]({name}.svg)" in report
        assert (tmp_path / f"{name}.svg").read_text().startswith("<?xml")


def test_the_report_of_a_test_of_the_network_has_its_curve(tmp_path: Path) -> None:
    cell(tmp_path, "aa", 2, [None], instance_type="p5.48xlarge")
    bandwidths = {"8": 0.0, "1073741824": 300.0, "2147483648": 350}
    record = {"state": "finished", "usd": 1, "results": {"bus_bandwidth": 350.0, "bandwidths": bandwidths}}
    (tmp_path / "aa/1/record.json").write_text(json.dumps(record))
    (found,) = summarize(ResultsFolder(path=tmp_path))
    assert (found.figures, found.predicted) == ({"bus_bandwidth": 350.0}, None)
    assert "![bandwidth](bandwidth.svg)" in write_report(ResultsFolder(path=tmp_path), print).read_text()


def test_without_matplotlib_the_report_has_no_charts_and_says_why(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell(tmp_path, "aa", 1, [1000])
    for name in ("training_workloads.planning.chart", "training_workloads.bench.charts"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = program("bench", "report", str(tmp_path))
    assert (result.code, result.out) == (0, f"{tmp_path / 'report.md'}\n")
    fix = "run pip install 'cdk-training-cluster[charts]'"
    assert result.err == f"note: the report has no charts: 'matplotlib' is missing; {fix}\n"
    assert list(tmp_path.glob("*.svg")) == []


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


def test_the_folders_of_a_comparison_have_names(program: Program) -> None:
    result = program("bench", "compare", "one")
    assert (result.code, result.err) == (
        2,
        "error: Missing argument 'AFTER'; 'trainctl bench compare --help' shows what to type\n",
    )


def test_a_cell_that_is_missing_fails(tmp_path: Path, program: Program) -> None:
    cell(tmp_path / "a", "aa", 1, [1000])
    cell(tmp_path / "b", "aa", 1, [None])
    result = program("bench", "compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert (result.code, result.out) == (1, "SLOWER  nodes 1: 1,000 before, not measured after\n")


@pytest.mark.parametrize(("old", "new"), [("aa", "zz"), ("zz", "aa")])
def test_of_cells_with_the_same_values_the_last_one_counts(
    tmp_path: Path, program: Program, old: str, new: str
) -> None:
    cell(tmp_path / "a", "aa", 1, [1000], values={"nodes": 1, "--xla": "on"})
    # Another image was swept first, and failed once.
    cell(tmp_path / "b", old, 1, [2000, None], swept=1, values={"nodes": 1, "--xla": "on"})
    cell(tmp_path / "b", new, 1, [1000], swept=2, values={"--xla": "on", "nodes": 1})
    result = program("bench", "compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert (result.code, result.out) == (0, "ok      nodes 1, --xla on: 1,000 before, 1,000 after (+0.0%)\n")
    report = write_report(ResultsFolder(path=tmp_path / "b"), print).read_text()
    assert (report.count("| p3dn.24xlarge | on | 1 |"), "Without results" in report) == (1, False)
    assert len((tmp_path / "b/repetitions.csv").read_text().splitlines()) == 4


def test_no_cell_replaces_one_of_another_type_or_one_that_alone_has_run(tmp_path: Path) -> None:
    cell(tmp_path, "aa", 1, [1000], swept=1)
    cell(tmp_path, "bb", 1, [1200], instance_type="p4d.24xlarge", swept=2)
    # Another image, of a sweep that stopped before this cell.
    cell(tmp_path, "cc", 1, [], swept=3)
    assert [each.cell for each in summarize(ResultsFolder(path=tmp_path))] == ["aa", "bb"]


def test_a_folder_without_results_is_rejected(tmp_path: Path, program: Program) -> None:
    result = program("bench", "report", str(tmp_path))
    assert result.code == 2
    assert "but it has no cell of a sweep" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["aa/1/record.json", "aa/cell.json"])
@pytest.mark.parametrize("content", ["{cut", "[1]", "7", "{}"])
def test_a_damaged_file_is_named(tmp_path: Path, program: Program, name: str, content: str) -> None:
    cell(tmp_path, "aa", 1, [1000])
    damaged = tmp_path / name
    damaged.write_text(content)
    result = program("bench", "report", str(tmp_path))
    assert result.code == 2
    assert f"'{damaged}', but it is damaged; restore the file, or delete it to measure again" in result.err


def test_a_copy_of_a_repetition_is_no_repetition(tmp_path: Path, program: Program) -> None:
    cell(tmp_path, "aa", 1, [1000])
    shutil.copytree(tmp_path / "aa/1", tmp_path / "aa/1.bak")
    assert program("bench", "report", str(tmp_path)).code == 0
    (found,) = summarize(ResultsFolder(path=tmp_path))
    assert found.repetitions == 1
