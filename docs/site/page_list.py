"""The list of pages, `llms.txt`: its sections and their order are the site's navigation, and agents read its pages.

The Markdown of the pages holds no toctrees. `llms-full.txt` has all pages in one file.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

__all__ = ["LIST", "Page", "pages", "sections", "setup", "toctrees"]

ROOT = Path(__file__).parents[2]
LIST = ROOT / "llms.txt"

_LINK = re.compile(r"- \[(?P<title>[^]]+)\]\((?P<path>[^)]+)\): (?P<description>.+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page of the list."""

    title: str
    path: str
    description: str

    @property
    def name(self) -> str:
        """Sphinx's name of the page: its path without the suffix."""
        return self.path.removesuffix(".md")


def sections(text: str) -> dict[str, list[Page]]:
    """Return the pages of each section of a list in the format of llmstxt.org."""
    parts = re.split(r"^## (.+)\n", text, flags=re.M)
    return {
        title: [Page(**match.groupdict()) for match in _LINK.finditer(body)]
        for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def pages() -> list[Page]:
    """Return every page of the list, in its order."""
    return [page for found in sections(LIST.read_text()).values() for page in found]


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


def _write(app: Any, error: Exception | None) -> None:
    if error is not None:
        return
    folder = Path(app.outdir)
    shutil.copy(LIST, folder)
    # Sphinx has reported a page that does not exist.
    paths = [page.path for page in pages() if (ROOT / page.path).is_file()]
    for path in paths:
        shutil.copy(ROOT / path, folder / path)
    texts = [f"<!-- {path} -->\n\n{(ROOT / path).read_text().strip()}\n" for path in paths]
    (folder / "llms-full.txt").write_text("\n\n".join(texts))


def setup(app: Any) -> None:
    """Add the toctrees to each page that Sphinx reads, and write the Markdown when the site is complete."""
    app.connect("source-read", _add_toctrees)
    app.connect("build-finished", _write)
