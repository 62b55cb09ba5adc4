"""Draw docs/pictures/, write docs/lint-rules.md and docs/plan-validation.md, or compare them with --check."""

import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from textwrap import fill
from types import ModuleType
from typing import Any

from docs.site.pictures.graphviz import drawn
from docs.site.pictures.layers_picture import layers_picture
from docs.site.plan_validation import seed_chart, validation_page
from setup.source_tree import ROOT
from training_workloads.lint.rule import Rule
from training_workloads.lint.rules import EVERY_RULE

FOLDER = ROOT / "docs/pictures"

_RULES_HEAD = """# Rules of the lint

[Lint](lint.md) explains how to run them. A link to a rule ends with its id, such as `lint-rules.md#np-exceeds-slots`.
Issues without a repository's name are those of
[kubeflow/mpi-operator](https://github.com/kubeflow/mpi-operator/issues).
`make pictures` writes this page from the rules in `workloads/training_workloads/lint/rules/`.
The last group, `security`, runs [only if it is selected](lint.md#what-a-pod-may-do).
"""


def derived() -> dict[Path, str]:
    """Return every picture as SVG, and the pages that are derived, by its file."""
    pictures = {path.with_suffix(".svg"): drawn(path.read_text()) for path in sorted(FOLDER.glob("*.dot"))}
    pictures[FOLDER / "layers.svg"] = drawn(layers_picture())
    return pictures | {ROOT / "docs/lint-rules.md": rules_page()} | plan_files()


def rules_page() -> str:
    """Return the page as Markdown: a heading for each rule, below the heading of its module, in their order."""
    groups = groupby(EVERY_RULE, key=lambda rule: rule.check.__module__)
    return _RULES_HEAD + "".join(_group(sys.modules[module], list(rules)) for module, rules in groups)


def _group(module: ModuleType, rules: Sequence[Rule[Any]]) -> str:
    """Return the section of a module: its name and first line, then its rules."""
    words = module.__name__.rpartition(".")[2].removesuffix("_rules").replace("_", " ").capitalize()
    title = re.sub("Gpu|Efa", lambda name: name[0].upper(), words)
    summary = (module.__doc__ or "").splitlines()[0]
    return f"\n## {title}\n{summary}\n" + "".join(map(_rule, rules))


def _rule(rule: Rule[Any]) -> str:
    texts = (f"**{rule.level}**: {rule.finds}.", f"Evidence: {rule.evidence}.")
    wrapped = (fill(text, 120, break_long_words=False, break_on_hyphens=False) for text in texts)
    return f"\n### {rule.id}\n" + "\n\n".join(wrapped) + "\n"


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
