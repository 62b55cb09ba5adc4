"""The effects of a deployment on the objects of Kubernetes that its manifests and charts have."""

from collections.abc import Iterator
from typing import Any

from training_cluster.account.manifests import HELM_CHART, MANIFEST, documents, object_identity, volume_source
from training_cluster.changes.findings import LOST, REJECTED, SEPARATE, STOPS, UNKNOWN, Finding, Live, ending_jobs
from training_cluster.changes.planned_stack import PlannedStack
from training_cluster.changes.template_changes import ResourceChange
from training_workloads.catalog import versions

__all__ = [
    "drivers_are_removed",
    "namespaces_and_definitions_are_deleted",
    "objects_move",
    "queues_are_removed",
    "releases_are_uninstalled",
    "volumes_change",
]

_ADDON = "AWS::EKS::Addon"
_DRIVER = "-csi-driver"
_QUEUE = "LocalQueue"

# The other charts of the platform define no kinds.
_OTHERS = (versions.NVIDIA_DEVICE_PLUGIN, versions.EFA_DEVICE_PLUGIN, versions.CLUSTER_AUTOSCALER)
_WITHOUT_DEFINITIONS = {each.chart for each in (*_OTHERS, versions.DCGM_EXPORTER)}


def namespaces_and_definitions_are_deleted(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A namespace takes every object in it with it, and a definition every object of its kind."""
    for change in stack.of_kind(MANIFEST):
        if change.action == "create" or change.is_retained:
            continue
        kept = {object_identity(each) for each in documents(change.new)}
        for document in documents(change.old):
            kind, name = document.get("kind"), document.get("metadata", {}).get("name")
            if object_identity(document) in kept or not _is_deleted(change, kind):
                continue
            jobs: tuple[str, ...] = ()
            if kind == "Namespace":
                note, jobs = ending_jobs(live, name)
                effect = f"deleted, with every job, claim and object in it{note}"
            elif kind == "CustomResourceDefinition":
                effect = "deleted, with every object of its kind in all namespaces"
            else:
                continue
            remedy = "keep it in the app, or let the jobs end first"
            yield Finding(outcome=LOST, subject=f"{kind} {name!r}", effect=effect, remedy=remedy, jobs=jobs)


def _is_deleted(change: ResourceChange, kind: Any) -> bool:
    """Return whether the CDK deletes an object that a manifest has no longer: by its label, and of some kinds only.

    `kubectl apply --prune` has no definitions in its list:
    https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#allow-list
    """
    return change.action == "remove" or (bool(change.new.get("PruneLabel")) and kind == "Namespace")


def releases_are_uninstalled(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """Helm deletes the definitions in the templates of a chart, and with these every object of their kinds."""
    for change in stack.of_kind(HELM_CHART):
        release = change.old.get("Release") or change.logical_id
        if change.action != "remove" or change.is_retained or release in _WITHOUT_DEFINITIONS:
            continue
        subject = f"Helm release {release!r}"
        if release == versions.KUEUE.chart:
            effect = "uninstalled, with every queue and workload of Kueue: jobs that wait in a queue stay suspended"
            remedy = "let the jobs of the queue end first; 'kubectl get workloads -A' lists them"
            yield Finding(outcome=LOST, subject=subject, effect=effect, keys=("job_queue",), remedy=remedy)
        else:
            effect = "uninstalled; definitions in its templates go, with every object of their kinds"
            remedy = (
                f"find them in the output of 'helm get manifest {release} -n {change.old.get('Namespace', 'default')}'"
            )
            yield Finding(outcome=UNKNOWN, subject=subject, effect=effect, remedy=remedy)


def queues_are_removed(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """Kueue starts no job whose queue is gone, such as that of a team which has another name."""
    kept = {object_identity(each) for change in stack.of_kind(MANIFEST) for each in documents(change.new)}
    if any(change.action == "remove" and _is_kueue(change) for change in stack.of_kind(HELM_CHART)):
        return
    for change in (each for each in stack.of_kind(MANIFEST) if each.action == "remove" and not each.is_retained):
        for kind, namespace, name in map(object_identity, documents(change.old)):
            if kind != _QUEUE or (kind, namespace, name) in kept:
                continue
            effect = "removed: jobs that wait in it stay suspended, and no job of its namespace starts through it"
            yield Finding(
                outcome=STOPS,
                subject=f"{kind} {name!r} in {namespace}",
                effect=effect,
                remedy=f"let its jobs end first; 'kubectl get workloads -n {namespace}' lists them",
                jobs=ending_jobs(live, namespace)[1],
            )


def _is_kueue(change: ResourceChange) -> bool:
    return bool(change.old.get("Release") == versions.KUEUE.chart)


def drivers_are_removed(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """Without its driver a volume is neither mounted nor deleted, and AWS bills it on."""
    for change in stack.of_kind(_ADDON):
        name = str(change.old.get("AddonName", ""))
        if change.action == "remove" and name.endswith(_DRIVER):
            effect = "removed: pods that mount its volumes do not start any more, and volumes of deleted claims stay"
            steps = ("delete the claims of its volumes: 'kubectl get pvc -A' lists them", "deploy")
            subject, keys = f"add-on {name}", stack.keys(change)
            yield Finding(outcome=STOPS, subject=subject, effect=effect, keys=keys, steps=steps)


def volumes_change(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """Kubernetes changes the source of no volume; the apply fails, and with it the deployment."""
    replaced = {each.logical_id for each in stack.changes if each.action == "replace"}
    for change in stack.of_kind(MANIFEST):
        if change.action != "update":
            continue
        new = {object_identity(each): each for each in documents(change.new, replaced)}
        for document in documents(change.old):
            after = new.get(object_identity(document))
            if document.get("kind") == "PersistentVolume" and after and volume_source(after) != volume_source(document):
                name = document["metadata"]["name"]
                steps = (
                    "let the jobs that mount it end",
                    f"run 'kubectl delete pvc {name}' in each namespace that has it, and 'kubectl delete pv {name}'",
                    "deploy",
                )
                effect = "has another source, and Kubernetes does not change that of a volume that exists"
                yield Finding(outcome=REJECTED, subject=f"PersistentVolume {name!r}", effect=effect, steps=steps)


def objects_move(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A new manifest makes its objects before the deployed manifest that has them is deleted, with them.

    It creates them, and fails for one that exists, or with `Overwrite` applies them:
    https://github.com/aws/aws-cdk/pull/12053 and https://github.com/aws/aws-cdk/issues/33406
    """
    owners = {
        object_identity(document): change
        for change in stack.of_kind(MANIFEST)
        if change.action == "remove"
        for document in documents(change.old)
    }
    for change in (each for each in stack.of_kind(MANIFEST) if each.action == "create"):
        for identity in filter(owners.__contains__, map(object_identity, documents(change.new))):
            subject = f"{identity[0]} {identity[2]!r}"
            if change.new.get("Overwrite") not in (True, "true"):
                effect = "a new manifest creates it, which fails: the deployed one has it until it is deleted"
                yield Finding(outcome=REJECTED, subject=subject, effect=effect, steps=SEPARATE)
            elif owners[identity].deletes:
                effect = "a new manifest applies it, and then it is deleted with the deployed manifest"
                yield Finding(outcome=LOST, subject=subject, effect=effect, steps=SEPARATE)
