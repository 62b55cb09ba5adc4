import re
from collections import Counter

import pytest

from docs.site.page_list import LIST, Page, sections, toctrees

ROOT_PAGE = "docs/index"
LISTED = {
    "Start": [
        Page(title="Home", path="docs/index.md", description=""),
        Page(title="A", path="docs/a.md", description=""),
    ],
    "More": [
        Page(title="Folder", path="docs/folder/README.md", description=""),
        Page(title="In it", path="docs/folder/b.md", description=""),
    ],
}


def test_the_first_page_has_the_sections_without_itself() -> None:
    assert toctrees(ROOT_PAGE, LISTED, ROOT_PAGE).split("\n\n```{toctree}") == [
        "```{toctree}\n:hidden:\n:caption: Start\n\nA </docs/a>\n```",
        "\n:hidden:\n:caption: More\n\nFolder </docs/folder/README>\n```",
    ]


def test_the_readme_of_a_folder_has_the_other_pages_of_it() -> None:
    assert toctrees("docs/folder/README", LISTED, ROOT_PAGE) == "```{toctree}\n:hidden:\n\nIn it </docs/folder/b>\n```"


@pytest.mark.parametrize("name", ["docs/a", "docs/folder/b"])
def test_other_pages_have_none(name: str) -> None:
    assert toctrees(name, LISTED, ROOT_PAGE) == ""


def test_each_listed_page_is_once_in_the_navigation() -> None:
    listed = sections(LIST.read_text())
    pages = [page.name for found in listed.values() for page in found]
    trees = "".join(toctrees(name, listed, ROOT_PAGE) for name in pages)
    assert Counter(re.findall(r"</(.+)>", trees)) == Counter(set(pages) - {ROOT_PAGE})
