"""Draw docs/pictures/, write docs/lint-rules.md and docs/plan-validation.md, or compare them with --check."""

import sys
from pathlib import Path

from docs.site.lint_rules import rules_page
from docs.site.pictures.graphviz import drawn
from docs.site.pictures.layers_picture import layers_picture
from docs.site.plan_validation import seed_chart, validation_page
from setup.source_tree import ROOT

FOLDER = ROOT / "docs/pictures"


def derived() -> dict[Path, str]:
    """Return every picture as SVG, and the pages that are derived, by its file."""
    pictures = {path.with_suffix(".svg"): drawn(path.read_text()) for path in sorted(FOLDER.glob("*.dot"))}
    pictures[FOLDER / "layers.svg"] = drawn(layers_picture())
    return pictures | {ROOT / "docs/lint-rules.md": rules_page()} | plan_files()


def plan_files() -> dict[Path, str]:
    """Return the page and the chart of the predictions."""
    return {ROOT / "docs/plan-validation.md": validation_page(), FOLDER / "plan-seed.svg": seed_chart()}


def main(arguments: list[str]) -> None:
    """Write the files, or compare them."""
    files = derived()
    if "--check" not in arguments:
        for path, text in files.items():
            path.write_text(text)
        return
    old = [path for path, text in files.items() if not path.is_file() or path.read_text() != text]
    if old:
        names = ", ".join(path.relative_to(ROOT).as_posix() for path in old)
        sys.exit(f"error: not as the code and the graphs are: {names}; run make pictures, look at them, commit them")


if __name__ == "__main__":
    main(sys.argv[1:])
