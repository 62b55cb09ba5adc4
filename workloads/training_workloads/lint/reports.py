"""How findings are printed: as text, as JSON, as SARIF 2.1.0, and as annotations of GitHub."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from training_workloads.lint.finding import Finding
from training_workloads.lint.rule import Rule
from training_workloads.lint.rules import EVERY_RULE
from training_workloads.manifests.documents import STANDARD_INPUT
from training_workloads.terminal import printable

__all__ = ["FORMATS", "Located"]

_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LINK = re.compile(r"https://[^\s)`]+")


class Located(NamedTuple):
    """A finding and its place.

    Attributes:
        file: Name of the file, as the user gave it; `-` for the standard input.
        line: The line, from 1.
        finding: The finding.
    """

    file: str
    line: int
    finding: Finding


def _text(found: Sequence[Located], files: int) -> str:
    """Return a line for each finding, and the counts; nothing where no file could be read."""
    if not files:
        return ""
    levels = Counter(one.finding.level for one in found)
    counts = [_counted(levels["error"], "error"), _counted(levels["warning"], "warning")]
    lines = [printable(f"{file}:{line}: {finding}") for file, line, finding in found]
    return "\n".join([*lines, f"{', '.join(counts)} in {_counted(files, 'file')}"])


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count != 1 else ''}"


def _json(found: Sequence[Located], _: int) -> str:
    """Return a list of objects."""
    return json.dumps(
        [
            {
                "file": file,
                "line": line,
                "level": finding.level,
                "rule": finding.rule,
                "path": finding.where,
                "problem": finding.problem,
                "fix": finding.fix,
            }
            for file, line, finding in found
        ],
        indent=2,
    )


def _sarif(found: Sequence[Located], _: int) -> str:
    """Return a log in the Static Analysis Results Interchange Format, with the evidence of each rule.

    https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
    """
    # Here, because only this needs it, and it takes time to import.
    from importlib.metadata import version

    index = {rule.id: number for number, rule in enumerate(EVERY_RULE)}
    driver = {
        "name": "trainctl",
        "semanticVersion": version("cdk-training-cluster"),
        "rules": [_sarif_rule(rule) for rule in EVERY_RULE],
    }
    results = [
        {
            "ruleId": finding.rule,
            "ruleIndex": index[finding.rule],
            "level": finding.level,
            "message": {"text": _message(finding)},
            "locations": [one for one in [_sarif_location(file, line, finding)] if one],
        }
        for file, line, finding in found
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_rule(rule: Rule[Any]) -> dict[str, Any]:
    link = _LINK.search(rule.evidence)
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.finds},
        "help": {"text": rule.evidence, "markdown": rule.evidence},
        "defaultConfiguration": {"level": rule.level},
        **({"helpUri": link[0]} if link else {}),
    }


def _sarif_location(file: str, line: int, finding: Finding) -> dict[str, Any]:
    uri = Path(file).as_uri() if Path(file).is_absolute() else quote(Path(file).as_posix())
    physical = {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}
    # The standard input has no address.
    location: dict[str, Any] = {} if file == STANDARD_INPUT else {"physicalLocation": physical}
    return location | ({"logicalLocations": [{"fullyQualifiedName": finding.where}]} if finding.where else {})


def _message(finding: Finding) -> str:
    return f"{finding.where}: {finding.problem}; {finding.fix}".removeprefix(": ")


def _github(found: Sequence[Located], _: int) -> str:
    """Return commands of GitHub Actions, which it shows beside the lines of a pull request.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    return "\n".join(_annotation(*one) for one in found)


def _annotation(file: str, line: int, finding: Finding) -> str:
    place = "" if file == STANDARD_INPUT else f"file={_property(file)},line={line},"
    return f"::{finding.level} {place}title={_property(finding.rule)}::{_data(_message(finding))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


#: The printers of findings, by the name of `--format`.
FORMATS: dict[str, Callable[[Sequence[Located], int], str]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
    "github": _github,
}
