"""Pages of the source: where a page links to a file or a folder of the repository, the site shows it."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.util.logging import getLogger

from docs.site.source_links import below, page_name, repository_path
from tests.source_tree import ROOT, files, relative

__all__ = ["setup"]

_LOGGER = getLogger(__name__)


def _link_sources(app: Any, tree: nodes.document) -> None:
    """Turn links to what is no page into links to source pages."""
    page = app.env.docname
    for link in list(tree.findall(lambda node: isinstance(node, addnodes.download_reference | addnodes.pending_xref))):
        if link.get("reftype") != "myst" or link.get("refdomain") == "doc":
            continue
        path = repository_path(page, link["reftarget"])
        if path is None:
            # MyST itself reports what does not exist.
            if isinstance(link, addnodes.download_reference):
                _LOGGER.warning("link to a file that is not in Git: %s", link["reftarget"], location=link)
            continue
        _shown(app.env).setdefault(page, set()).add(path)
        uri = app.builder.get_relative_uri(page, page_name(path))
        link.replace_self(nodes.reference("", "", *link.children, refuri=uri, internal=True))


def _shown(env: Any) -> dict[str, set[str]]:
    """Return the paths that each page links to."""
    if not hasattr(env, "linked_sources"):
        env.linked_sources = {}
    found: dict[str, set[str]] = env.linked_sources
    return found


def _source_pages(app: Any) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a page for each file and folder that is linked, and for what is in the folders."""
    linked = set().union(*_shown(app.env).values())
    for path in sorted(set().union(*map(below, linked))):
        body = _folder_html(app, path) if (ROOT / path).is_dir() else _file_html(ROOT / path)
        title = f'<h1 class="source-path">{escape(path)}</h1>'
        yield page_name(path), {"title": path, "body": f"{title}\n{body}"}, "page.html"


def _folder_html(app: Any, path: str) -> str:
    inside = {
        (ROOT / path / file.relative_to(ROOT / path).parts[0]) for file in files() if (ROOT / path) in file.parents
    }
    items = []
    for each in sorted(inside):
        uri = app.builder.get_relative_uri(page_name(path), page_name(relative(each)))
        items.append(f'<li><a href="{uri}">{escape(each.name)}{"/" if each.is_dir() else ""}</a></li>')
    return f"<ul>{''.join(items)}</ul>"


def _file_html(path: Path) -> str:
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    code = highlight(path.read_text(), lexer, HtmlFormatter(nowrap=True))
    return f'<div class="highlight"><pre>{code}</pre></div>'


def setup(app: Any) -> None:
    """Connect the links and the pages that they lead to."""
    # Before Sphinx collects what it believes to be downloads.
    app.connect("doctree-read", _link_sources, priority=400)
    app.connect("html-collect-pages", _source_pages)
