"""The changes that CloudFormation makes to a stack: the deployed template compared with the new one."""

import json
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from training_cluster.account.deployed_template import RETAINED
from training_workloads.manifests.values import sequence

__all__ = ["Action", "ResourceChange", "Template", "changed_values", "template_changes", "value_at"]

#: A template as JSON has it.
Template = Mapping[str, Any]

#: CloudFormation's way to make a change.
Action = Literal["create", "update", "replace", "remove"]

_FILE = "create_only.json"

# FSx's schema does not have the properties of one kind of file system; CloudFormation's page does ("Update requires"):
# https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-fsx-filesystem-lustreconfiguration.html
# and .../aws-resource-fsx-filesystem.html
_LUSTRE = ("CopyTagsToBackups", "DeploymentType", "DriveCacheType", "EfaEnabled", "ExportPath", "ImportPath")
_BY_HAND = {"AWS::FSx::FileSystem": ("StorageType", *(f"LustreConfiguration/{each}" for each in _LUSTRE))}

# Attributes of a resource that an update changes; all others are those of its identity.
_OF_THE_VERSION = {"LatestVersionNumber", "DefaultVersionNumber"}

# A reference in the text of `Fn::Sub`, `${Id}` or `${Id.Attribute}`; `${!Literal}` is none.
_IN_TEXT = re.compile(r"\$\{([^!}.][^}.]*)(?:\.([^}]+))?\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceChange:
    """The change of a resource.

    Attributes:
        logical_id: Its id in the template.
        kind: Its type.
        action: How CloudFormation makes the change.
        paths: The properties that change, such as `ScalingConfig/MaxSize`; empty where it is created or removed.
        followed: Those of them that change because another resource does.
        causes: The ids of these resources.
        before: Its deployed definition; empty where it is created.
        after: Its new definition; empty where it is removed.
    """

    logical_id: str
    kind: str
    action: Action
    paths: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def old(self) -> Mapping[str, Any]:
        """Its deployed properties."""
        return dict(self.before.get("Properties", {}))

    @property
    def new(self) -> Mapping[str, Any]:
        """Its new properties."""
        return dict(self.after.get("Properties", {}))

    @property
    def is_retained(self) -> bool:
        """Whether the deployed resource stays in the account without the stack.

        CloudFormation removes by the deployed template's policy, and replaces by the new one's.
        """
        if self.action == "replace":
            return self.after.get("UpdateReplacePolicy") in RETAINED
        return self.action == "remove" and self.before.get("DeletionPolicy") in RETAINED

    @property
    def deletes(self) -> bool:
        """Whether the deployed resource is deleted."""
        return self.action in ("replace", "remove") and not self.is_retained


def template_changes(old: Template, new: Template) -> list[ResourceChange]:
    """Return the changes of a deployment, in the order of the new template, removals last.

    A resource is replaced where a property changes that it can have at its creation only, and then every one whose
    such property refers to it. A value follows the mappings and the conditions that it names, too. A parameter is taken
    as unchanged: CloudFormation keeps its deployed value.
    """
    before, after = old.get("Resources", {}), new.get("Resources", {})
    pairs = {id: (before[id], after[id]) for id in after if id in before}
    replaced, found = _updates(pairs, changed_values(old, new))
    changes = []
    for id in dict.fromkeys([*after, *before]):
        paths = found.get(id, {})
        action: Action = "create" if id not in before else "remove" if id not in after else "update"
        if action != "update" or paths or id in replaced:
            definitions = {"before": before.get(id, {}), "after": after.get(id, {})}
            change = ResourceChange(
                logical_id=id,
                kind=(after.get(id) or before[id])["Type"],
                action="replace" if id in replaced else action,
                paths=tuple(paths),
                followed=tuple(path for path, causes in paths.items() if causes),
                causes=tuple(dict.fromkeys(cause for causes in paths.values() for cause in causes)),
                **definitions,
            )
            changes.append(change)
    return changes


def changed_values(old: Template, new: Template) -> set[str]:
    """Return the mappings and conditions that change, as `Mappings/Zones`, and the conditions that follow these."""
    found: set[str] = set()
    for section in ("Mappings", "Conditions"):
        before, after = old.get(section, {}), new.get(section, {})
        found |= {f"{section}/{name}" for name in before.keys() & after.keys() if before[name] != after[name]}
    conditions = {f"Conditions/{name}": each for name, each in new.get("Conditions", {}).items()}
    while True:
        more = {name for name, each in conditions.items() if any(id in found for id, _ in _references(each))}
        if more <= found:
            return found
        found |= more


def _updates(
    pairs: Mapping[str, tuple[Any, Any]], values: Set[str]
) -> tuple[set[str], dict[str, dict[str, tuple[str, ...]]]]:
    """Return the resources that are replaced, and by id the properties that change, each with its causes."""
    replaced = {id for id, (old, new) in pairs.items() if old["Type"] != new["Type"]}
    updated: set[str] = set()
    while True:
        # What is found in one round changes what others refer to.
        found = {id: dict(_different(old, new, replaced | values, updated)) for id, (old, new) in pairs.items()}
        changed = {id for id, paths in found.items() if paths}
        more = {id for id in changed if any(_is_create_only(pairs[id][1]["Type"], path) for path in found[id])}
        if more <= replaced and changed == updated:
            return replaced, found
        replaced, updated = replaced | more, changed


def value_at(properties: Any, path: str) -> Any:
    """Return the value at a path such as `ScalingConfig/MaxSize`; None where there is none."""
    for key in path.split("/"):
        properties = properties.get(key) if isinstance(properties, Mapping) else None
    return properties


@cache
def _create_only() -> dict[str, list[str]]:
    types: dict[str, list[str]] = json.loads(resources.files(__package__).joinpath(_FILE).read_text())["types"]
    return types | {name: [*types.get(name, ()), *paths] for name, paths in _BY_HAND.items()}


def _is_create_only(kind: str, path: str) -> bool:
    """Return whether a change at a path replaces a resource: of the property itself, of one in it, or around it."""
    return any(f"{path}/".startswith(f"{each}/") for each in _create_only().get(kind, ()))


def _different(
    old: Mapping[str, Any], new: Mapping[str, Any], replaced: Set[str], updated: Set[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the path of each property that changes, and the resources whose change alone changes it."""
    pending: list[tuple[tuple[str, ...], Any, Any]] = [((), old.get("Properties", {}), new.get("Properties", {}))]
    while pending:
        path, one, other = pending.pop()
        # Of a mapping that only one of the two has, each value changes.
        inside = [each for each in (other, one) if each is not None]
        if inside and all(map(_is_plain, inside)):
            names = dict.fromkeys(name for each in inside for name in each)
            pending += [((*path, name), (one or {}).get(name), (other or {}).get(name)) for name in names]
        elif one != other:
            yield "/".join(path), ()
        elif followed := [id for id, attribute in _references(other) if _changes(id, attribute, replaced, updated)]:
            yield "/".join(path), tuple(followed)


def _is_plain(value: Any) -> bool:
    """Return whether a value is a mapping, and not a function of CloudFormation."""
    is_function = isinstance(value, Mapping) and len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::"))
    return isinstance(value, Mapping) and not is_function


def _changes(id: str, attribute: str, replaced: Set[str], updated: Set[str]) -> bool:
    """Return whether a deployment changes the value of a reference."""
    return id in replaced or (attribute in _OF_THE_VERSION and id in updated)


def _references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the id and the attribute of each reference in a value; the attribute of a `Ref` is empty."""
    if isinstance(value, list):
        for each in value:
            yield from _references(each)
    elif isinstance(value, Mapping):
        if isinstance(value.get("Ref"), str):
            yield value["Ref"], ""
        elif isinstance(value.get("Condition"), str) and len(value) == 1:
            yield f"Conditions/{value['Condition']}", ""
        elif "Fn::GetAtt" in value:
            given = value["Fn::GetAtt"]
            id, attribute = (*(given.split(".", 1) if isinstance(given, str) else sequence(given)), "", "")[:2]
            yield str(id), str(attribute)
        elif "Fn::Sub" in value:
            text, *names = sequence(value["Fn::Sub"]) or [value["Fn::Sub"]]
            yield from _IN_TEXT.findall(str(text))
            yield from _references(names)
        else:
            # The first argument of these is the name of a mapping, and of a condition.
            for function, section in (("Fn::FindInMap", "Mappings"), ("Fn::If", "Conditions")):
                for name in sequence(value.get(function))[:1]:
                    yield f"{section}/{name}", ""
            for each in value.values():
                yield from _references(each)
