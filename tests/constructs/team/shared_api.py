"""The API server, the network and the queue of a shared cluster, decided from the objects of its template.

Authorization: access entries with the contents of EKS's policies
(https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html), and roles. Admission: Pod Security,
quotas and the admission policies.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.workloads.platform.admission import Request, denials
from tests.workloads.pod_security import broken

__all__ = ["SharedApi", "manifests"]

READ = {"get", "list", "watch"}
WRITE = READ | {"create", "update", "patch", "delete", "deletecollection"}

_EDITED = {
    ("", "configmaps"),
    ("", "persistentvolumeclaims"),
    ("", "pods"),
    ("", "pods/attach"),
    ("", "pods/exec"),
    ("", "pods/portforward"),
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("", "services"),
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
    ("networking.k8s.io", "ingresses"),
    ("networking.k8s.io", "networkpolicies"),
    ("policy", "poddisruptionbudgets"),
}
_VIEWED = {("", name) for name in ("endpoints", "events", "limitranges", "namespaces", "pods/log", "resourcequotas")}
_EDIT = {kind: WRITE for kind in _EDITED} | {kind: READ for kind in _VIEWED}
_EDIT[("", "serviceaccounts")] = WRITE | {"impersonate"}


def manifests(template: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of Kubernetes of a template."""
    for resource in template["Resources"].values():
        if resource["Type"] == "Custom::AWSCDK-EKS-KubernetesResource":
            text = resource["Properties"]["Manifest"]
            parts = [text] if isinstance(text, str) else text["Fn::Join"][1]
            yield from json.loads("".join(part if isinstance(part, str) else "late" for part in parts))


@dataclass(frozen=True)
class _Rights:
    groups: tuple[str, ...]
    namespaces: tuple[str, ...]
    policy: str


class SharedApi:
    """A shared cluster."""

    def __init__(self, template: Mapping[str, Any]) -> None:
        """Read the objects and the access entries."""
        self.documents = list(manifests(template))
        self._rights = {
            arn: rights
            for each in template["Resources"].values()
            if each["Type"] == "AWS::EKS::AccessEntry"
            and isinstance(arn := each["Properties"]["PrincipalArn"], str)
            and (rights := _rights(each["Properties"]))
        }

        addons = [each["Properties"] for each in template["Resources"].values() if each["Type"] == "AWS::EKS::Addon"]
        (network,) = (json.loads(each["ConfigurationValues"]) for each in addons if each["AddonName"] == "vpc-cni")
        #: How a new pod starts: `strict` is without a network until its policies are in force.
        self.mode = network["env"].get("NETWORK_POLICY_ENFORCING_MODE", "standard")

    def of(self, kind: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """Return the objects of a kind, in a namespace or without one."""
        return [
            each for each in self.documents if (each["kind"], each["metadata"].get("namespace")) == (kind, namespace)
        ]

    def may(self, arn: str, verb: str, kind: tuple[str, str], namespace: str | None = None) -> bool:
        """Return whether a principal has a right, in a namespace or in the cluster."""
        rights = self._rights.get(arn)
        if rights is None:
            return False
        if rights.policy == "AmazonEKSClusterAdminPolicy":
            return True
        assert rights.policy == "AmazonEKSEditPolicy"
        edits = namespace in rights.namespaces and verb in _EDIT.get(kind, set())
        return edits or any(_allows(rule, verb, kind) for rule in self._rules(rights.groups, namespace))

    def _rules(self, groups: tuple[str, ...], namespace: str | None) -> Iterator[dict[str, Any]]:
        roles = {each["metadata"]["name"]: each["rules"] for each in self.of("Role", namespace)}
        for binding in self.of("RoleBinding", namespace):
            if any(subject["kind"] == "Group" and subject["name"] in groups for subject in binding["subjects"]):
                yield from roles[binding["roleRef"]["name"]]

    def create(self, arn: str, kind: tuple[str, str], made: dict[str, Any], namespace: str, user: str = "") -> str:
        """Return `yes`, or what rejects the creation; a controller creates it for a principal with its own user."""
        if not user and not self.may(arn, "create", kind, namespace):
            return "authorization"
        return self._admit(kind, made, None, namespace, user or arn)

    def update(self, arn: str, kind: tuple[str, str], made: dict[str, Any], old: dict[str, Any], namespace: str) -> str:
        """Return `yes`, or what rejects the update."""
        return (
            self._admit(kind, made, old, namespace, arn)
            if self.may(arn, "update", kind, namespace)
            else "authorization"
        )

    def _admit(
        self, kind: tuple[str, str], made: dict[str, Any], old: dict[str, Any] | None, namespace: str, user: str
    ) -> str:
        labels = next(each for each in self.of("Namespace") if each["metadata"]["name"] == namespace)["metadata"][
            "labels"
        ]
        level = labels.get("pod-security.kubernetes.io/enforce")
        if kind == ("", "pods") and level == "restricted" and broken(made["spec"]):
            return "pod security"
        if any(_exceeds(quota["spec"], kind, made) for quota in self.of("ResourceQuota", namespace)):
            return "quota"
        request = Request(resource=kind, labels=labels, user=user, object=made, old=old)
        return "admission policy" if denials(self.documents, request) else "yes"

    def connects(
        self, source: tuple[str, Mapping[str, str]], target: tuple[str, Mapping[str, str]], *more: dict[str, Any]
    ) -> bool:
        """Return whether a pod reaches another: namespaces and labels of both, and policies that users created."""
        namespace, labels = target
        users = [each for each in more if each["metadata"]["namespace"] == namespace]
        closing = [
            each["spec"]
            for each in [*self.of("NetworkPolicy", namespace), *users]
            if "Ingress" in each["spec"]["policyTypes"] and _selects(each["spec"]["podSelector"], labels)
        ]
        rules = [rule for policy in closing for rule in policy.get("ingress", [])]
        return not closing or any(_admits(rule, namespace, source) for rule in rules)

    def quota(self, queue: str, flavor: str, resource: str = "nvidia.com/gpu") -> int:
        """Return the amount that belongs to a queue."""
        (spec,) = (each["spec"] for each in self.of("ClusterQueue") if each["metadata"]["name"] == queue)
        (group,) = spec["resourceGroups"]
        (resources,) = (each["resources"] for each in group["flavors"] if each["name"] == flavor)
        return int(next(each["nominalQuota"] for each in resources if each["name"] == resource))

    def starts(self, queue: str, flavor: str, wanted: int, used: Mapping[str, int]) -> str:
        """Return whether a job starts at once, `preempts`, or `waits`, while queues use GPUs of a flavor.

        https://kueue.sigs.k8s.io/docs/concepts/preemption/: only who borrows has to stop, for the quota of another.
        """
        specs = {each["metadata"]["name"]: each["spec"] for each in self.of("ClusterQueue")}
        cohort = [name for name, spec in specs.items() if spec["cohortName"] == specs[queue]["cohortName"]]
        free = sum(self.quota(name, flavor) - used.get(name, 0) for name in cohort)
        if wanted <= free:
            return "starts"
        reclaims = specs[queue]["preemption"]["reclaimWithinCohort"] == "Any"
        borrowed = sum(max(0, used.get(name, 0) - self.quota(name, flavor)) for name in cohort if name != queue)
        own = used.get(queue, 0) + wanted <= self.quota(queue, flavor)
        return "preempts" if reclaims and own and wanted <= free + borrowed else "waits"


def _rights(properties: dict[str, Any]) -> _Rights | None:
    (policy,) = properties["AccessPolicies"]
    arn = policy["PolicyArn"]["Fn::Join"][1][-1]
    scope = policy["AccessScope"]
    assert scope["Type"] == ("cluster" if arn.endswith("AdminPolicy") else "namespace")
    groups = tuple(properties.get("KubernetesGroups", ()))
    return _Rights(groups, tuple(scope.get("Namespaces", ())), arn.rpartition("/")[2])


def _allows(rule: dict[str, Any], verb: str, kind: tuple[str, str]) -> bool:
    group, resource = kind
    return group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"]


def _exceeds(quota: dict[str, Any], kind: tuple[str, str], made: dict[str, Any]) -> bool:
    """Return whether an object exceeds a quota, all of which are 0."""
    assert set(quota["hard"].values()) == {"0"}
    spec = made["spec"]
    counted = {
        "pods": kind == ("", "pods"),
        "services.loadbalancers": kind == ("", "services") and spec.get("type") == "LoadBalancer",
        "services.nodeports": kind == ("", "services") and spec.get("type") in ("NodePort", "LoadBalancer"),
    }
    in_scope = all(_in_scope(each, spec) for each in quota.get("scopeSelector", {}).get("matchExpressions", ()))
    return in_scope and any(counted[name] for name in quota["hard"])


def _in_scope(scope: dict[str, Any], spec: dict[str, Any]) -> bool:
    match scope:
        case {"scopeName": "PriorityClass", "operator": "In", "values": values}:
            return spec.get("priorityClassName") in values
        case {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}:
            return '"namespaces"' in json.dumps(spec.get("affinity")) or "namespaceSelector" in json.dumps(spec)
    raise AssertionError(scope)


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    assert set(selector) <= {"matchLabels"}
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def _admits(rule: dict[str, Any], namespace: str, source: tuple[str, Mapping[str, str]]) -> bool:
    """Return whether a rule of a policy admits a pod; a selector of pods without one of namespaces means its own."""
    peers = rule.get("from")
    if peers is None:
        return True
    assert all(set(peer) == {"podSelector"} for peer in peers)
    return source[0] == namespace and any(_selects(peer["podSelector"], source[1]) for peer in peers)
