"""Draw docs/pictures/ and write docs/lint-rules.md, or compare them with --check."""

import sys
from pathlib import Path

from docs.site.lint_rules import rules_page
from docs.site.pictures.cluster_picture import cluster_picture
from docs.site.pictures.drawing import draw
from docs.site.pictures.job_picture import job_picture
from docs.site.pictures.layers_picture import layers_picture
from docs.site.pictures.template import synthesized
from setup.source_tree import ROOT

FOLDER = ROOT / "docs/pictures"


def derived() -> dict[Path, str]:
    """Return every picture as SVG, and the page of rules, by its file."""
    data, cluster = synthesized()
    pictures = {
        "cluster.svg": cluster_picture(data, cluster),
        "layers.svg": layers_picture(),
        "job.svg": job_picture(),
    }
    drawn = {FOLDER / name: draw(picture) for name, picture in pictures.items()}
    return drawn | {ROOT / "docs/lint-rules.md": rules_page()}


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
