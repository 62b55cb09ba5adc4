"""The navigation: toctrees from the list of pages, so that the Markdown of the pages holds none."""

from pathlib import PurePosixPath
from typing import Any

from docs.site.page_list import LIST, Page, sections

__all__ = ["setup"]


def toctrees(name: str, listed: dict[str, list[Page]], root: str) -> str:
    """Return the toctrees that belong at the end of a page.

    The README.md of a folder has the other listed pages of the folder below it; the first page has all the rest.
    """
    every = [page for pages in listed.values() for page in pages]
    folders = {str(PurePosixPath(page.name).parent) for page in every if page.name.endswith("README")}

    def parent(page: Page) -> str:
        folder = str(PurePosixPath(page.name).parent)
        return f"{folder}/README" if folder in folders and not page.name.endswith("README") else root

    trees = []
    for title, pages in listed.items():
        children = [page for page in pages if parent(page) == name and page.name != root]
        if children:
            caption = [f":caption: {title}"] if name == root else []
            entries = [f"{page.title} </{page.name}>" for page in children]
            trees.append("\n".join(["```{toctree}", ":hidden:", *caption, "", *entries, "```"]))
    return "\n\n".join(trees)


def _add_toctrees(app: Any, name: str, source: list[str]) -> None:
    if name == "README":
        # Its links are checked; it is not part of the navigation.
        source[0] = f"---\norphan: true\n---\n{source[0]}"
    source[0] += "\n\n" + toctrees(name, sections(LIST.read_text()), app.config.root_doc)


def setup(app: Any) -> None:
    """Add the toctrees to each page that Sphinx reads."""
    app.connect("source-read", _add_toctrees)
