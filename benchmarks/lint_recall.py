"""How many of 578 single mistakes the lint finds: `make bench-lint`.

Each mistake is put into a manifest without findings. It counts as found where the lint has a new finding at a place
that the mistake's author expects, or at the value around it; what the API server rejects must be an error. The authors
knew Kubernetes, EKS and Open MPI, but not the lint. The rules were written with the set `first` at hand;
`first_held_out` and `second` were measured before the authors of the rules saw them: docs/lint.md has those figures.
"""

import copy
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from training_workloads.lint import Finding, lint_text
from training_workloads.validation import InputError

FOLDER = Path(__file__).parent / "lint_mistakes"
SETS = ("first", "first_held_out", "second")
LEAST = 0.85

#: A file that the lint rejects as a whole.
REJECTED = "$parse"


def main() -> None:
    """Print a table, and exit with 1 where a set is below the limit or a right manifest has findings."""
    noisy = [path.stem for path in FOLDER.glob("base*.yaml") if findings(path.read_text())]
    shares = [measured(name) for name in SETS]
    if noisy:
        print(f"right manifests with findings: {', '.join(noisy)}")
    sys.exit(1 if noisy or min(shares) < LEAST else 0)


def measured(name: str) -> float:
    """Print a row for each kind of mistake in a set, and the missed ones; return the share that was found."""
    mistakes = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    found = {one["id"]: is_found(one) for one in mistakes}
    every, hit = Counter(one["kind"] for one in mistakes), Counter(one["kind"] for one in mistakes if found[one["id"]])
    for kind in sorted(every):
        print(f"{name:16} {kind:20} {hit[kind]:4} of {every[kind]:4}  {hit[kind] / every[kind]:.1%}")
    share = sum(found.values()) / len(found)
    print(f"{name:16} {'all':20} {sum(found.values()):4} of {len(found):4}  {share:.1%}")
    for one in mistakes:
        if not found[one["id"]]:
            print(f"  not found: {one['id']}: {one['what']}")
    return share


def is_found(mistake: dict[str, Any]) -> bool:
    """Return whether the lint has a finding where the author expects one, which the right manifest does not have."""
    before = {(one.rule, one.path, one.problem) for one in findings((FOLDER / f"{mistake['base']}.yaml").read_text())}
    try:
        new = [one for one in findings(broken(mistake)) if (one.rule, one.path, one.problem) not in before]
    except InputError:
        return REJECTED in mistake["at"]
    counted = [one for one in new if one.level == "error" or mistake["kind"] != "rejected"]
    return any(is_at(one, expected) for one in counted for expected in mistake["at"])


@cache
def findings(text: str) -> list[Finding]:
    """Return the findings of a manifest."""
    return [finding for finding, _ in lint_text(text)]


def broken(mistake: dict[str, Any]) -> str:
    """Return the right manifest with the mistake: other values at some paths (none: removed), or another text."""
    text = (FOLDER / f"{mistake['base']}.yaml").read_text()
    for old, new in mistake.get("text", []):
        text = text.replace(old, new)
    if "text" in mistake:
        return text
    documents = copy.deepcopy(list(yaml.safe_load_all(text)))
    for path, value in reversed(mistake["change"]):
        at: Any = documents
        for key in path[:-1]:
            # A YAML anchor is one object; each place gets its own.
            at[key] = copy.copy(at[key])
            at = at[key]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = value
    return yaml.safe_dump_all(documents, sort_keys=False)


def is_at(finding: Finding, expected: str) -> bool:
    """Return whether a finding is at or below a place, or at the value around it; `=` means exactly there."""
    wanted, given = parts(expected.lstrip("=")), tuple(map(str, finding.path))
    around = len(wanted) > 1 and given == wanted[:-1] and given not in ((), ("spec",))
    return given == wanted or (not expected.startswith("=") and (given[: len(wanted)] == wanted or around))


def parts(path: str) -> tuple[str, ...]:
    """Return the keys of a path such as `spec.containers[0].limits['nvidia.com/gpu']`."""
    found = re.findall(r"\['([^']*)'\]|\[\"([^\"]*)\"\]|\[([^\]]*)\]|([^.\[\]]+)", path)
    return tuple("".join(groups) for groups in found)


if __name__ == "__main__":
    main()
