"""docs/what-a-change-does.md: what each key of cluster.yaml does to a deployed cluster, as `cluster plan` finds it.

`python -m tests.stacks.effects_page` synthesizes each change of `changes.py`, which takes minutes, and writes the
table; `test_changes.py` compares it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from setup.source_tree import ROOT
from tests.stacks.change_effects import effects_of
from tests.stacks.changes import CHANGES, Change, configuration, templates

__all__ = ["MARK", "PAGE", "row"]

PAGE = ROOT / "docs/what-a-change-does.md"
#: The lines of the table.
MARK = re.compile(r"(?<=<!-- changes -->\n).*?(?=<!-- end -->)", re.DOTALL)

_HEAD = "| key | from | to | effect |\n|---|---|---|---|\n"
_LONGEST = 60


def row(change: Change) -> str:
    """Return the first cells of the row of a change, which need no synthesis."""
    before, after = (_value(change, values) for values in (change.before, change.after))
    if change.tag:
        before, after = "none", f"`team: {change.tag}`"
    return f"| `{change.key}` | {before} | {after} |"


def _value(change: Change, values: Mapping[str, Any]) -> str:
    """Return the value of the key in a configuration, as YAML on one line."""
    value: Any = configuration(values)
    for part in change.key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return "the default"
    text = json.dumps(value).replace('"', "")
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[:_LONGEST]}…`"


def _write() -> None:
    lines = [
        f"{row(each)} {', '.join(effects_of(templates(each.before), templates(each.after, each.tag)))} |\n"
        for each in CHANGES
    ]
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARK.sub(lambda _: _HEAD + "".join(lines), text), encoding="utf-8")


if __name__ == "__main__":
    _write()
