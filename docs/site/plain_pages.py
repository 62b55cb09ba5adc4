"""The pages as plain Markdown, for agents and search: llms.txt, its pages, and llms-full.txt with all of them."""

import shutil
from pathlib import Path
from typing import Any

from docs.site.page_list import LIST, ROOT, pages

__all__ = ["setup"]


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
    """Write the files when the site is complete."""
    app.connect("build-finished", _write)
