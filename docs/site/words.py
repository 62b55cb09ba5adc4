"""Mark words of inline code that a browser breaks at the wrong place: options at their dashes, long words nowhere."""

import re
from typing import Any

__all__ = ["marked", "setup"]

# A reader who copies one half of an option has one dash.
_OPTION = re.compile(r'<span class="pre">(?=--?\w[\w-]*(=[\w.-]{0,12})?</span>)')

# One such word makes the column of a table wider than the page.
_LONG = re.compile(r'<span class="pre">(?=[^<\s]{40,}</span>)')


def marked(body: str) -> str:
    """Return HTML whose options have the class `option` and whose long words have the class `long`, for the style."""
    return _LONG.sub('<span class="pre long">', _OPTION.sub('<span class="pre option">', body))


def _mark(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    if "body" in context:
        context["body"] = marked(context["body"])


def setup(app: Any) -> None:
    """Mark the words of each page that Sphinx writes."""
    app.connect("html-page-context", _mark)
