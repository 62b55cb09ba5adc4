"""Add a type of resource to the emulator's CloudFormation, or something to a type that it has."""

import json
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

from ministack.services.cloudformation import provisioners

Properties = dict[str, Any]
Attributes = dict[str, str]

#: (logical id, properties, stack name) -> what Ref and GetAtt return.
Create = Callable[[str, Properties, str], tuple[str, Attributes]]
#: (physical id, old properties, new properties) -> what GetAtt returns.
Update = Callable[[str, Properties, Properties], Attributes]
Delete = Callable[[str, Properties], None]


def register(
    type_name: str,
    *,
    create: Create,
    delete: Delete,
    update: Update | None = None,
    replacing: Iterable[str] = (),
) -> None:
    """Add a type.

    Args:
        type_name: Such as AWS::EC2::EIP. The emulator must not have it: a newer one that does is the better one.
        create: Create a resource.
        delete: Delete it.
        update: Change it in place. Default: every change replaces it.
        replacing: Properties, by dotted paths, whose change replaces the resource, as AWS's reference of the type says.
    """
    handlers = provisioners._RESOURCE_HANDLERS
    if type_name in handlers:
        raise SystemExit(f"the emulator has {type_name} now; remove the one of this project")
    paths = tuple(replacing)
    attributes: dict[str, Attributes] = {}

    def make(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
        physical_id, attributes[physical_id] = create(logical_id, properties, stack_name)
        return physical_id, attributes[physical_id]

    def change(
        physical_id: str, old: Properties, new: Properties, stack_name: str, logical_id: str
    ) -> tuple[str, Attributes]:
        if update is None and _without_tags(old) == _without_tags(new):
            # AWS changes tags in place; the emulator leaves those of types without updates as they are.
            return physical_id, attributes[physical_id]
        if update is None or any(value_at(old, path) != value_at(new, path) for path in paths):
            created: tuple[str, Attributes] = provisioners._seeded_create(make, logical_id, new, stack_name)
            provisioners._delete_predecessor(delete, physical_id, old)
            return created
        return physical_id, update(physical_id, old, new)

    handlers[type_name] = {"create": make, "update": change, "update_with_logical_id": True, "delete": delete}


def _without_tags(properties: Properties) -> Properties:
    return {key: value for key, value in properties.items() if key != "Tags"}


def extend(
    type_name: str,
    *,
    after: Callable[[str, Properties], None],
    before_update: Callable[[str, Properties, Properties], None] | None = None,
    before_deletion: Delete | None = None,
) -> None:
    """Do more with a type that the emulator has.

    Args:
        type_name: Such as AWS::EKS::Cluster.
        after: Called after a resource was created or updated.
        before_update: Called with the physical id, the old and the new properties; raises what rejects the update.
        before_deletion: Called before a resource is deleted.
    """
    handlers = dict(provisioners._RESOURCE_HANDLERS[type_name])

    def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
        physical_id, attributes = handlers["create"](logical_id, properties, stack_name)
        after(physical_id, properties)
        return physical_id, attributes

    def update(physical_id: str, old: Properties, *rest: Any) -> tuple[str, Attributes]:
        if before_update:
            before_update(physical_id, old, rest[0])
        new_id, attributes = handlers["update"](physical_id, old, *rest)
        after(new_id, rest[0])
        return new_id, attributes

    def delete(physical_id: str, properties: Properties) -> None:
        if before_deletion:
            before_deletion(physical_id, properties)
        handlers["delete"](physical_id, properties)

    provisioners._RESOURCE_HANDLERS[type_name] |= {"create": create, "update": update, "delete": delete}


def value_at(properties: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, None if there is none."""
    value: Any = properties
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def existing(store: MutableMapping[str, Any], name: str, what: str) -> Any:
    """Return the object that a resource refers to, and fail as AWS does if it does not exist (yet, or any more)."""
    if name not in store:
        raise ValueError(f"{what} '{name}' does not exist")
    return store[name]


def answer(response: tuple[int, Any, Any]) -> Any:
    """Return the content of an answer of one of the emulator's services, and fail if it is an error."""
    status, _, body = response
    if status >= 400:
        raise ValueError(body.decode() if isinstance(body, bytes) else str(body))
    text = body.decode() if isinstance(body, bytes) else body
    return json.loads(text) if text.startswith("{") else text


def camel(value: Any) -> Any:
    """Return properties of a template with the names of the service's API: the first letter is small."""
    return provisioners._pascal_to_camel(value)


def tag_map(properties: Properties) -> dict[str, str]:
    """Return the property Tags as a map."""
    tags: dict[str, str] = provisioners._tag_map(properties.get("Tags"))
    return tags
