"""The list of pages, `llms.txt`: its sections and their order are the site's navigation."""

import re
from dataclasses import dataclass
from pathlib import Path

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
