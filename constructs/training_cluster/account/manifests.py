"""The Kubernetes objects of a manifest in a template."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

__all__ = ["HELM_CHART", "MANIFEST", "documents", "object_identity", "volume_source"]

#: Types of resources with which the CDK changes a cluster.
MANIFEST: Final = "Custom::AWSCDK-EKS-KubernetesResource"
HELM_CHART: Final = "Custom::AWSCDK-EKS-HelmChart"


def volume_source(volume: Mapping[str, Any]) -> Any:
    """Return the source of a PersistentVolume."""
    return volume["spec"].get("csi")


def documents(properties: Mapping[str, Any], replaced: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the objects of a manifest; a value that only the deployment knows is the text of its function.

    Args:
        properties: The properties of the manifest's resource.
        replaced: Logical ids of resources that are replaced: a function of one of them has another text.

    Raises:
        ValueError: It is not as the CDK writes one.
    """
    found = json.loads(_text(properties.get("Manifest", "[]"), replaced))
    if not isinstance(found, list) or not all(isinstance(each, dict) and "kind" in each for each in found):
        raise ValueError("it is no list of objects")
    return found


def _text(manifest: Any, replaced: Collection[str]) -> str:
    match manifest:
        case str():
            return manifest
        case {"Fn::Join": [str(), [*parts]]}:
            return "".join(part if isinstance(part, str) else _placeholder(part, replaced) for part in parts)
    raise ValueError("it is no text")


def _placeholder(function: Any, replaced: Collection[str]) -> str:
    """Return the text of a function, as a part of a text in JSON."""
    text = json.dumps(function, sort_keys=True)
    changed = " (new)" if any(f'"{each}"' in text for each in replaced) else ""
    return json.dumps(f"{text}{changed}")[1:-1]


def object_identity(document: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the kind, the namespace and the name of an object."""
    metadata = document.get("metadata", {})
    return document.get("kind"), metadata.get("namespace"), metadata.get("name")
