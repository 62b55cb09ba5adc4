"""Draw docs/pictures/, write docs/lint-rules.md and docs/plan-validation.md, or compare them with --check."""

import sys
from pathlib import Path

from docs.site.lint_rules import rules_page
from docs.site.pictures.cluster_picture import cluster_picture
from docs.site.pictures.drawing import draw
from docs.site.pictures.job_picture import job_picture
from docs.site.pictures.layers_picture import layers_picture
from docs.site.pictures.template import synthesized
from docs.site.plan_validation import seed_chart, validation_page
from setup.source_tree import ROOT

FOLDER = ROOT / "docs/pictures"


def derived() -> dict[Path, str]:
    """Return every picture as SVG, and the pages that are derived, by its file."""
    data, cluster = synthesized()
    pictures = {
        "cluster.svg": cluster_picture(data, cluster),
        "layers.svg": layers_picture(),
        "job.svg": job_picture(),
    }
    drawn = {FOLDER / name: draw(picture) for name, picture in pictures.items()}
    return drawn | {ROOT / "docs/lint-rules.md": rules_page()} | plan_files()


def plan_files() -> dict[Path, str]:
    """Return the page and the chart of the predictions, which need no template."""
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
        sys.exit(f"error: not as the code and the templates are: {names}; run make pictures, look at them, commit them")


if __name__ == "__main__":
    main(sys.argv[1:])
