from pathlib import Path

import pytest

from docs.site.source_links import anchors_in_sources, below, inside, page_name, repository_path, shown_text


@pytest.mark.parametrize(
    ("page", "link", "path"),
    [
        ("docs/deploy", "../cluster.yaml", "cluster.yaml"),
        (
            "docs/constructs/lustre",
            "../../workloads/training_workloads/catalog",
            "workloads/training_workloads/catalog",
        ),
        ("docs/deploy", "../stacks/", "stacks"),
        ("docs/deploy", "../cluster.yaml/", None),
        ("docs/deploy", "../missing.yaml", None),
        ("docs/deploy", "../../outside", None),
    ],
)
def test_a_link_leads_to_a_file_that_git_has(page: str, link: str, path: str | None) -> None:
    assert repository_path(page, link) == path


def test_a_folder_is_shown_with_all_that_is_in_it() -> None:
    assert {"stacks", "stacks/__init__.py", "stacks/training_data_stack.py"} <= below("stacks")
    assert below("app.py") == {"app.py"}


def test_a_folder_has_an_index() -> None:
    assert (page_name("stacks"), page_name("app.py")) == ("stacks/index", "app.py")


def test_a_folder_lists_its_files_and_folders() -> None:
    assert inside("examples/existing_cluster") == ["README.md", "app.py", "cdk.json"]
    assert {"constructs/", "own_app.py"} <= set(inside("examples"))


def test_finds_a_place_in_a_file_that_is_no_page() -> None:
    text = "[a](../app.py#L9999) [b](deploy.md#destroy) [c](#here) [d](https://x.org/a.py#L1) [e](../stacks#x)"
    assert anchors_in_sources(text) == ["../app.py#L9999", "../stacks#x"]


def test_a_file_without_text_is_shown_by_its_size(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\xff\x00\xff")
    assert shown_text(tmp_path / "weights.bin") == "(a binary file with 3 bytes)"
