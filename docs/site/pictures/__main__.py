"""Draw docs/pictures/, or check with --check that they are drawn from the present templates and code."""

import sys
from pathlib import Path

from docs.site.pictures.cluster_picture import cluster_picture
from docs.site.pictures.drawing import draw
from docs.site.pictures.job_picture import job_picture
from docs.site.pictures.layers_picture import layers_picture
from docs.site.pictures.template import synthesized
from setup.source_tree import ROOT

FOLDER = ROOT / "docs/pictures"


def drawn() -> dict[Path, str]:
    """Return every picture as SVG, by its file."""
    data, cluster = synthesized()
    pictures = {
        "cluster.svg": cluster_picture(data, cluster),
        "layers.svg": layers_picture(),
        "job.svg": job_picture(),
    }
    return {FOLDER / name: draw(picture) for name, picture in pictures.items()}


def main(arguments: list[str]) -> None:
    """Write the pictures, or compare them with the files."""
    pictures = drawn()
    if "--check" not in arguments:
        for path, svg in pictures.items():
            path.write_text(svg)
        return
    old = [path for path, svg in pictures.items() if not path.is_file() or path.read_text() != svg]
    if old:
        names = ", ".join(path.relative_to(ROOT).as_posix() for path in old)
        sys.exit(f"error: not as the code and the templates are: {names}; run make pictures, look at them, commit them")


if __name__ == "__main__":
    main(sys.argv[1:])
