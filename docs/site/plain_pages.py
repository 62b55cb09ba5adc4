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
    for page in pages():
        shutil.copy(ROOT / page.path, folder / page.path)
    texts = [f"<!-- {page.path} -->\n\n{(ROOT / page.path).read_text().strip()}\n" for page in pages()]
    (folder / "llms-full.txt").write_text("\n\n".join(texts))


def setup(app: Any) -> None:
    """Write the files when the site is complete."""
    app.connect("build-finished", _write)
