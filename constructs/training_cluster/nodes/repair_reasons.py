"""The reasons that EKS's node monitoring agent reports, by condition and severity, for one version of it.

With a fatal reason the agent sets the condition, and EKS repairs the node. A warning is an event of the node only.
`repair_reasons.json` has the words, with their sources.
"""

import json
import re
from functools import cache
from importlib import resources
from typing import Any, Literal

from training_workloads.validation import Problem, Problems, known_names

__all__ = ["AGENT", "CONDITIONS", "LATCHED", "event_only", "reason_of_the_condition"]

_Severity = Literal["fatal", "warning"]

# Placeholders of the file: an XID of its list, any number, and the name of a unit of systemd.
_XID, _CODE, _UNIT = "<xid>", "<code>", "<unit>"
_XID_ERROR = re.compile(r"NvidiaXID(\d+)Error")


@cache
def _recorded() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(resources.files(__package__).joinpath("repair_reasons.json").read_text())
    return recorded


#: Version of the agent that the reasons are of.
AGENT: str = _recorded()["agent"]

#: The agent's conditions, to which an override applies: "an unhealthy condition reported by the node monitoring agent"
#: (https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html, read 2026-11-23).
CONDITIONS: tuple[str, ...] = tuple(_recorded()["conditions"])


#: Condition and reason of each alarm that this version of the agent raises for one line of a log, also one at boot, and
#: never takes back. A record of the reasons of a version with the fix has none.
LATCHED: tuple[tuple[str, str], ...] = tuple(
    (condition, reason) for condition in CONDITIONS for reason in _recorded()["latched_by_a_line"].get(condition, ())
)


def reason_of_the_condition(condition: str, reason: str) -> Problems:
    """Reject a reason that the agent does not report with the condition."""
    if _severity(condition, reason):
        return
    other = next((each for each in CONDITIONS if _severity(each, reason)), None)
    if other:
        allowed, fix = f"it is a reason of {other}", f"set condition to {other}"
    else:
        allowed = f"agent {AGENT} reports no such reason with {condition}"
        fix = known_names(reason, _names(condition, reason))
    yield Problem(path=("reason",), given=reason, allowed=allowed, fix=fix, related=(("condition",),))


def event_only(condition: str, reason: str) -> str | None:
    """Return why an override of the reason does nothing; None where the agent sets the condition with it."""
    if _severity(condition, reason) != "warning":
        return None
    why = f"agent {AGENT} reports {reason} as an event only, without {condition}"
    if code := _code_of_an_unknown_xid(reason):
        why = f"agent {AGENT} reports XID {code} as the event NvidiaXID{code}Warning only, without {condition}"
        before = _recorded()["xids_before"]
        if code in before["xids"]:
            why += f" (agents before {before['agent']} set it)"
    return f"{why}: EKS repairs no node for it; omit the override"


def _severity(condition: str, reason: str) -> _Severity | None:
    by_severity: dict[_Severity, list[str]] = _recorded()["conditions"].get(condition, {})
    for severity, templates in by_severity.items():
        if any(_pattern(each).fullmatch(reason) for each in templates):
            return severity
    # An XID that is not of the list is an event, whatever its number.
    return "warning" if condition == CONDITIONS[0] and _code_of_an_unknown_xid(reason) else None


@cache
def _pattern(template: str) -> re.Pattern[str]:
    xids = "|".join(map(str, _recorded()["xids"]))
    return re.compile(template.replace(_XID, f"({xids})").replace(_CODE, r"\d+").replace(_UNIT, r"\S+"))


def _code_of_an_unknown_xid(reason: str) -> int | None:
    found = _XID_ERROR.fullmatch(reason)
    code = int(found[1]) if found else None
    return None if code in _recorded()["xids"] else code


def _names(condition: str, reason: str) -> list[str]:
    """Return the reasons that set a condition, or its events where none does; the XIDs where one is meant."""
    by_severity: dict[str, list[str]] = _recorded()["conditions"][condition]
    names = by_severity["fatal"] or by_severity["warning"]
    xids = [each.replace(_XID, str(xid)) for each in names if _XID in each for xid in _recorded()["xids"]]
    return xids if xids and "xid" in reason.lower() else names
