"""Draw docs/pictures/, write docs/lint-rules.md and docs/plan-validation.md, or compare them with --check."""

import sys
from pathlib import Path

from docs.site.pictures.graphviz import drawn
from docs.site.pictures.layers_picture import layers_picture
from docs.site.plan_validation import seed_chart, validation_page
from setup.source_tree import ROOT
from training_workloads.lint.rules import EVERY_RULE

FOLDER = ROOT / "docs/pictures"

_RULES_HEAD = """# Rules of the lint

[Lint](lint.md) explains how to run them. Issues without a repository's name are those of
[kubeflow/mpi-operator](https://github.com/kubeflow/mpi-operator/issues).
`make pictures` writes this page from the rules in `workloads/training_workloads/lint/rules/`.
The last five are the group `security`, which runs [only where it is selected](lint.md#what-a-pod-may-do).

| rule | level | what it finds | evidence |
|---|---|---|---|
"""


def derived() -> dict[Path, str]:
    """Return every picture as SVG, and the pages that are derived, by its file."""
    pictures = {path.with_suffix(".svg"): drawn(path.read_text()) for path in sorted(FOLDER.glob("*.dot"))}
    pictures[FOLDER / "layers.svg"] = drawn(layers_picture())
    return pictures | {ROOT / "docs/lint-rules.md": rules_page()} | plan_files()


def rules_page() -> str:
    """Return the page as Markdown: a row for each rule, in their order."""
    rows = (f"| `{rule.id}` | {rule.level} | {rule.finds} | {rule.evidence} |\n" for rule in EVERY_RULE)
    return _RULES_HEAD + "".join(rows)


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
