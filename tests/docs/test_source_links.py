import pytest

from docs.site.source_links import below, inside, page_name, repository_path


@pytest.mark.parametrize(
    ("page", "link", "path"),
    [
        ("docs/deploy", "../cluster.yaml", "cluster.yaml"),
        (
            "docs/constructs/lustre",
            "../../workloads/training_workloads/catalog",
            "workloads/training_workloads/catalog",
        ),
        ("docs/deploy", "../app.py#build", "app.py"),
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
