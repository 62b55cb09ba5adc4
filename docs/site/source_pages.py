"""Pages of the source: where a page links to a file or a folder of the repository, the site shows it."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.util.logging import getLogger

from docs.site.source_links import anchors_in_sources, below, inside, page_name, repository_path, shown_text
from setup.source_tree import ROOT

__all__ = ["setup"]

_LOGGER = getLogger(__name__)

_RAW_LINK = re.compile(r"\b(href|src)\s*=", re.IGNORECASE)


def _link_sources(app: Any, tree: nodes.document) -> None:
    """Turn links to files and folders that are not pages into links to source pages."""
    page = app.env.docname
    for link in list(tree.findall(lambda node: isinstance(node, addnodes.download_reference | addnodes.pending_xref))):
        if link.get("reftype") != "myst" or link.get("refdomain") == "doc":
            continue
        path = repository_path(page, link["reftarget"])
        if path is None:
            # MyST itself reports paths that do not exist.
            if isinstance(link, addnodes.download_reference):
                why = "link to a path that Git does not have, or with a slash behind a file: %s"
                _LOGGER.warning(why, link["reftarget"], location=link)
            continue
        _shown(app.env).setdefault(page, set()).add(path)
        uri = app.builder.get_relative_uri(page, page_name(path))
        link.replace_self(nodes.reference("", "", *link.children, refuri=uri, internal=True))


def _reject_anchors(app: Any, name: str, source: list[str]) -> None:
    """Report anchors, which MyST drops from a link before it makes a node of it."""
    for link in anchors_in_sources(source[0]):
        _LOGGER.warning("link to a place in a file that is no page: %s", link, location=name)


def _reject_raw_links(app: Any, tree: nodes.document) -> None:
    """Report links in raw HTML, which neither Sphinx nor a Git host checks."""
    for raw in tree.findall(nodes.raw):
        if _RAW_LINK.search(raw.astext()):
            _LOGGER.warning("link in raw HTML; write it in Markdown: %s", raw.astext().strip(), location=raw)


def _shown(env: Any) -> dict[str, set[str]]:
    """Return the paths that each page links to."""
    if not hasattr(env, "linked_sources"):
        env.linked_sources = {}
    found: dict[str, set[str]] = env.linked_sources
    return found


def _write_pages(app: Any, error: Exception | None) -> None:
    """Write a page for each file and folder that is linked, and for the content of the folders.

    Not by the theme: it renders the whole navigation into each of hundreds of pages.
    """
    linked = set().union(*_shown(app.env).values())
    paths = set().union(*map(below, linked)) if error is None else set()
    for path in sorted(paths):
        page = Path(app.outdir) / f"{page_name(path)}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(app.builder.templates.render("source.html", _context(app, path, paths)))


def _context(app: Any, path: str, paths: set[str]) -> dict[str, Any]:
    def link(other: str) -> str:
        uri: str = app.builder.get_relative_uri(page_name(path), page_name(other))
        return uri

    parents = [each for each in reversed(PurePosixPath(path).parents) if each.name]
    folder = (ROOT / path).is_dir()
    return {
        "project": app.config.project,
        "home": app.builder.get_target_uri(app.config.root_doc),
        "top": "../" * page_name(path).count("/"),
        "path": path,
        "parents": [(each.name, link(str(each)) if str(each) in paths else None) for each in parents],
        "entries": [(name, link(f"{path}/{name.rstrip('/')}")) for name in inside(path)] if folder else None,
        "code": None if folder else _highlighted(ROOT / path),
    }


def _highlighted(path: Path) -> str:
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    html: str = highlight(shown_text(path), lexer, HtmlFormatter(nowrap=True))
    return html


def setup(app: Any) -> None:
    """Connect the links and the pages that they lead to."""
    # Before Sphinx collects the links as downloads.
    app.connect("doctree-read", _link_sources, priority=400)
    app.connect("source-read", _reject_anchors)
    app.connect("doctree-read", _reject_raw_links)
    app.connect("build-finished", _write_pages)
