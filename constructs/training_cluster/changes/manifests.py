"""The Kubernetes objects of a manifest in a template."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["documents", "object_identity", "volume_source"]


def volume_source(volume: Mapping[str, Any]) -> Any:
    """Return the source of a PersistentVolume."""
    return volume["spec"].get("csi")


def documents(properties: Mapping[str, Any], replaced: set[str] | None = None) -> list[dict[str, Any]]:
    """Return the objects of a manifest; a value that only the deployment knows is its function's text."""
    manifest = properties.get("Manifest", "[]")
    if isinstance(manifest, Mapping):
        parts = manifest.get("Fn::Join", ["", []])[1]
        manifest = "".join(part if isinstance(part, str) else _placeholder(part, replaced or set()) for part in parts)
    found: list[dict[str, Any]] = json.loads(manifest)
    return found


def _placeholder(function: Any, replaced: set[str]) -> str:
    text = json.dumps(function, sort_keys=True).replace('"', "'")
    return f"{text} (new)" if any(f"'{each}'" in text for each in replaced) else text


def object_identity(document: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the kind, the namespace and the name of an object."""
    metadata = document.get("metadata", {})
    return document.get("kind"), metadata.get("namespace"), metadata.get("name")
