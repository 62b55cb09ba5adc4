"""What the API server rejects of a pod, in its words: its validation, ServiceAccount and PodSecurity `restricted`.

https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
"""

from collections.abc import Iterator
from typing import Any

_LABEL = "pod-security.kubernetes.io/"


def admit(
    pod: dict[str, Any], namespace: str, objects: dict[str, dict[str, Any]]
) -> tuple[tuple[int, str, str] | None, str | None]:
    """Return code, reason and message of a rejection, and the warning about a pod."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    # The API server fills in the account of the namespace, which a controller creates with it.
    account = spec.get("serviceAccountName", "default")
    if account != "default" and f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}" not in objects:
        missing = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
        return (403, "Forbidden", f'pods "{name}" is forbidden: {missing}'), None
    violations = ", ".join(_violations(spec))
    labels = objects[f"/api/v1/namespaces/{namespace}"]["metadata"].get("labels") or {}
    if violations and labels.get(f"{_LABEL}enforce") == "restricted":
        reason = f'violates PodSecurity "restricted:latest": {violations}'
        return (403, "Forbidden", f'pods "{name}" is forbidden: {reason}'), None
    if invalid := list(_invalid(spec)):
        text = invalid[0] if len(invalid) == 1 else f"[{', '.join(invalid)}]"
        return (422, "Invalid", f'Pod "{name}" is invalid: {text}'), None
    if violations and labels.get(f"{_LABEL}warn") == "restricted":
        return None, f'would violate PodSecurity "restricted:latest": {violations}'
    return None, None


def _violations(spec: dict[str, Any]) -> Iterator[str]:
    pod = spec.get("securityContext") or {}
    containers = [(each["name"], each.get("securityContext") or {}) for each in spec["containers"]]
    for name, context in containers:
        if context.get("allowPrivilegeEscalation") is not False:
            rule = "must set securityContext.allowPrivilegeEscalation=false"
            yield f'allowPrivilegeEscalation != false (container "{name}" {rule})'
        if (context.get("capabilities") or {}).get("drop") != ["ALL"]:
            rule = 'must set securityContext.capabilities.drop=["ALL"]'
            yield f'unrestricted capabilities (container "{name}" {rule})'
        if not (pod | context).get("runAsNonRoot"):
            rule = "must set securityContext.runAsNonRoot=true"
            yield f'runAsNonRoot != true (pod or container "{name}" {rule})'
        if (pod | context).get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
            rule = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
            yield f'seccompProfile (pod or container "{name}" {rule})'


def _invalid(spec: dict[str, Any]) -> Iterator[str]:
    volumes = [each["name"] for each in spec.get("volumes") or []]
    for number, name in enumerate(volumes):
        if name in volumes[:number]:
            yield f'spec.volumes[{number}].name: Duplicate value: "{name}"'
    for place, container in enumerate(spec["containers"]):
        mounts = container.get("volumeMounts") or []
        paths = [mount["mountPath"] for mount in mounts]
        for number, mount in enumerate(mounts):
            where = f"spec.containers[{place}].volumeMounts[{number}]"
            if mount["name"] not in volumes:
                yield f'{where}.name: Not found: "{mount["name"]}"'
            if mount["mountPath"] in paths[:number]:
                yield f'{where}.mountPath: Invalid value: "{mount["mountPath"]}": must be unique'
