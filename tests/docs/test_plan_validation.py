import xml.etree.ElementTree as ElementTree

from docs.site.pictures.__main__ import plan_files
from docs.site.plan_validation import seed_chart, validation_page
from setup.source_tree import ROOT, relative
from training_workloads.planning.published_comparison import compared_bandwidths, compared_runs

DOCS = ROOT / "docs"


def test_the_page_and_its_chart_are_as_the_code_is() -> None:
    old = [relative(path) for path, text in plan_files().items() if path.read_text() != text]
    assert not old, f"run 'make pictures', look at them, and commit: {old}"


def test_the_page_has_every_row() -> None:
    page = validation_page()
    assert [row.name for row in compared_runs() if f"[{row.name}]({row.source})" not in page] == []
    assert page.count("| [p") == sum(row.name.startswith("p") for row in [*compared_runs(), *compared_bandwidths()])


def test_the_pages_have_the_latencies_and_how_far_off_the_worst_row_is() -> None:
    page, plan = " ".join(validation_page().split()), " ".join((DOCS / "plan.md").read_text().split())
    assert "| latency of a hop, by type | 444 µs (p4de.24xlarge), 161 µs (p5.48xlarge) |" in page
    assert "A hop takes 444 µs, on p5.48xlarge with EFA 161 µs" in plan
    assert "Of the other 42 the median" in page
    assert "**and none is more than 25 % off. With each row left out in turn the median is" in page
    assert "the worst is " in page.partition("Perfect scaling")[0]
    assert "it is at most 25 % in all 42 rows that were not used for fitting" in plan


def test_the_page_says_where_published_rows_without_a_place_in_the_tables_are_off() -> None:
    page = " ".join(validation_page().split())
    # 70 MB on two nodes: 70 MB / 10.44 GB/s and two hops of 444 µs; on four 1.5 times 70 MB, and four hops.
    assert "70 MB on 2, 4, 8 nodes took 11, 16, 18 ms" in page
    assert "where the model has 7.6, 11.8, 14.4." in page
    # 24 epochs of 118,287 images in 3.33 hours are 236.8 images/s, and 309.8 are predicted from the 80.6 of 8 GPUs.
    assert "would be +46.7 % off with 12 epochs, and +30.8 % with 24." in page
    assert "| 115.4 GB/s (V100), 230.8 GB/s (A100), 468.0 GB/s (H100) |" in page


def test_the_chart_is_a_picture_with_its_names() -> None:
    texts = [each.text for each in ElementTree.fromstring(seed_chart()).iter("{http://www.w3.org/2000/svg}text")]
    assert {"published, 98,000 on 160", "predicted, today's settings", "V100 GPUs"} <= set(texts)
