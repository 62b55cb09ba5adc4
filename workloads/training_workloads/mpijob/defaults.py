"""The fields of a pod template that the definition of MPIJobs gives a default."""

from collections.abc import Iterator
from typing import Any

from training_workloads.mpijob.pod_schema import pod_template_schema
from training_workloads.validation import Path

__all__ = ["omitted_defaults"]


def omitted_defaults(template: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the default of each field that a pod template omits, where the object around it exists.

    Args:
        template: A PodTemplateSpec of any shape.
        path: Where it is.
    """
    yield from _omitted(pod_template_schema(), template, path)


def _omitted(schema: dict[str, Any], value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    fields = schema.get("properties", {})
    if isinstance(value, dict):
        for name, field in fields.items():
            if value.get(name) is not None:
                yield from _omitted(field, value[name], (*path, name))
            elif "default" in field:
                yield (*path, name), field["default"]
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _omitted(schema.get("items", {}), item, (*path, number))
