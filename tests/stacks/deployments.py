"""The changes of `changes.py` in few deployments: a synthesis for each of the 80 would take two minutes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from tests.stacks.changes import CHANGES, DEPLOYED, PAIRS, Change, Effect, configuration
from training_cluster import ClusterConfig

_GROUP = "node_groups.gpu"
#: For a deployment: a stack holds 30, and two are those of `DEPLOYED`.
_GROUPS = 20
_ABSENT = object()
_BY_KEY = {change.key: change for change in CHANGES}


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Changes that are deployed together, and the effect on each node group by its name."""

    changes: Sequence[Change]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    tag: str | None = None
    wanted: Mapping[str, Effect]

    def __str__(self) -> str:
        return f"{self.changes[0].key} and {len(self.changes) - 1} more"


class _Case(NamedTuple):
    """One or two changes of a separate node group, or one beside a change of the whole configuration."""

    group: str
    changes: Sequence[Change]
    beside: Change | None
    effect: Effect

    def renamed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {path.replace(_GROUP, f"node_groups.{self.group}", 1): value for path, value in values.items()}


def deployments() -> list[Deployment]:
    """Return the deployments that make each change and each pair."""
    cases = list(_cases())
    whole = [_BY_KEY["tags"], _BY_KEY["kubernetes_version"]]
    found = [_of_node_groups([case for case in cases if case.beside is beside], beside) for beside in whole]
    alone = [case for case in cases if not case.beside]
    found += [_of_node_groups(alone[first : first + _GROUPS], None) for first in range(0, len(alone), _GROUPS)]
    others = [change for change in CHANGES if change not in whole and not change.key.startswith(_GROUP)]
    with_effect = [[change] for change in others if {change.gpu, change.other, change.system} != {"none"}]
    without = [change for change in others if [change] not in with_effect]
    return [*found, *map(_together, [*with_effect, *_bundles(without)])]


def _cases() -> Iterable[_Case]:
    alone = [((change,), change.gpu) for change in CHANGES]
    pairs = [(tuple(_BY_KEY[key] for key in keys), effect) for keys, effect in PAIRS]
    for number, (changes, effect) in enumerate([*alone, *pairs]):
        of_group = [change for change in changes if change.key.startswith(_GROUP)]
        beside = next((change for change in changes if change not in of_group), None)
        if of_group:
            words = [change.key.rpartition(".")[2].replace("_", "-") for change in of_group]
            yield _Case("-".join([*words, str(number)]), of_group, beside, effect)


def _of_node_groups(cases: Sequence[_Case], beside: Change | None) -> Deployment:
    """Return the deployment of the changes of node groups, with a change of the whole configuration."""
    before = {f"node_groups.{case.group}": DEPLOYED["node_groups"]["gpu"] for case in cases}
    after = dict(beside.after) if beside else {}
    wanted: dict[str, Effect] = dict.fromkeys(("gpu", "other", "system"), "none")
    wanted |= {"gpu": beside.gpu, "other": beside.other, "system": beside.system} if beside else {}
    for case in cases:
        for change in case.changes:
            before |= case.renamed(change.before)
            after |= case.renamed(change.after)
        wanted[case.group] = case.effect
    return Deployment(
        changes=[beside] if beside else [change for case in cases for change in case.changes],
        before=before,
        after=before | after,
        tag=beside.tag if beside else None,
        wanted=wanted,
    )


def _together(changes: Sequence[Change]) -> Deployment:
    """Return the deployment of changes that have the same effect."""
    before = {path: value for change in changes for path, value in change.before.items()}
    after = before | {path: value for change in changes for path, value in change.after.items()}
    wanted: dict[str, Effect] = {"gpu": changes[0].gpu, "other": changes[0].other, "system": changes[0].system}
    return Deployment(changes=changes, before=before, after=after, wanted=wanted)


def _bundles(changes: Iterable[Change]) -> list[list[Change]]:
    """Return the changes in few bundles, each of which may be deployed."""
    found: list[list[Change]] = []
    for change in changes:
        for bundle in found:
            if _is_valid([*bundle, change]):
                bundle.append(change)
                break
        else:
            found.append([change])
    return found


def _is_valid(changes: Sequence[Change]) -> bool:
    if any(_collide(one, other) for one, other in combinations(changes, 2)):
        return False
    deployment = _together(changes)
    try:
        for values in (deployment.before, deployment.after):
            ClusterConfig.model_validate(configuration(values))
    except ValueError:
        return False
    return True


def _collide(one: Change, other: Change) -> bool:
    """Return whether two changes give different values to a key, or one to a key of the other's section."""
    for path in {*one.before, *one.after}:
        for beside in {*other.before, *other.after}:
            same = path == beside and all(
                mine.get(path, _ABSENT) == yours.get(path, _ABSENT)
                for mine, yours in ((one.before, other.before), (one.after, other.after))
            )
            if not same and (f"{path}.".startswith(f"{beside}.") or f"{beside}.".startswith(f"{path}.")):
                return True
    return False
