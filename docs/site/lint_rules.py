"""The page of the lint's rules, from the rules themselves."""

from training_workloads.lint.rules import EVERY_RULE

__all__ = ["rules_page"]

_HEAD = """# Rules of the lint

[Lint](lint.md) explains how to run them. Issues without a repository's name are those of
[kubeflow/mpi-operator](https://github.com/kubeflow/mpi-operator/issues).
`make pictures` writes this page from the rules in `workloads/training_workloads/lint/rules/`.

| rule | level | what it finds | evidence |
|---|---|---|---|
"""


def rules_page() -> str:
    """Return the page as Markdown: a row for each rule, in their order."""
    rows = (f"| `{rule.id}` | {rule.level} | {rule.finds} | {rule.evidence} |\n" for rule in EVERY_RULE)
    return _HEAD + "".join(rows)
