"""Links lead to files, every page is in llms.txt and so in the navigation, and every public name has a page."""

import re
from pathlib import Path

import pytest

import training_cluster
from docs.site.page_list import LIST, pages
from setup.source_tree import ROOT, files, relative
from training_workloads.recipes import NEEDS, RECIPES
from training_workloads.recipes.cluster_fit import misfit, node_groups
from training_workloads.recipes.recipe_sources import built_in_recipes

PAGES = [path for path in files() if path.suffix == ".md" and not path.is_relative_to(ROOT / "workloads")]


@pytest.mark.parametrize("page", [*PAGES, LIST], ids=relative)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_listed_once() -> None:
    listed = sorted(page.path for page in pages())
    # The first page of a Git host has the content of the first page of the site.
    assert listed == sorted(relative(page) for page in PAGES if relative(page) != "README.md")


def test_the_list_has_the_form_of_llmstxt_org() -> None:
    text = LIST.read_text()
    assert re.match(r"# \S.*\n\n(> .+\n)+\n", text)
    entries = re.findall(r"^- .+", text, flags=re.M)
    assert len(entries) == len(pages())


def test_every_picture_is_shown() -> None:
    shown = {
        (page.parent / path).resolve()
        for page in PAGES
        for path in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text())
    }
    assert {path for path in files() if path.suffix == ".svg"} <= shown


def test_the_page_on_own_apps_shows_the_example() -> None:
    assert f"```python\n{(ROOT / 'examples/own_app.py').read_text()}```" in (ROOT / "docs/own-app.md").read_text()


def test_every_public_name_has_its_page() -> None:
    index = (ROOT / "docs/constructs/README.md").read_text()
    # Values that a construct takes or returns are on the construct's page.
    with_a_construct = re.compile(r"\w+(Spec|Estimate)")
    names = [name for name in training_cluster.__all__ if not with_a_construct.fullmatch(name)]
    assert [name for name in names if f"`{name}`" not in index] == []


def test_the_readme_has_the_number_of_jobs() -> None:
    """Those that `make jobs` renders: the ones that `cluster.yaml` has nodes for."""
    specs = [each.job() for name, each in built_in_recipes().items() if name not in NEEDS]
    number = sum(misfit(spec, node_groups(ROOT)) is None for spec in specs)
    assert f"  dist/jobs/       {number} jobs\n" in (ROOT / "README.md").read_text()


def test_every_recipe_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs/submit-a-job.md").read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", " ".join(rows))) == set(RECIPES)
