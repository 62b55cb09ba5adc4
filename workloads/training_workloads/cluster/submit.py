"""Submit manifests: every check first, then what a job needs, such as its NetworkPolicy, then the jobs."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ConflictError, ForbiddenError, RejectedError
from training_workloads.cluster.job_pods import job_pods
from training_workloads.cluster.jobs import try_find_job
from training_workloads.cluster.resources import BATCH_JOBS, CLAIMS, MPI_JOBS, NAMESPACES, PODS, TRAIN_JOBS, Resource
from training_workloads.jobs.train_job import NODES_SUFFIX
from training_workloads.jobs.volumes import EFS_CLAIM, LUSTRE_CLAIM
from training_workloads.manifests.documents import Document
from training_workloads.manifests.values import amount_of, mapping, value_at
from training_workloads.mpijob.decoding import decoding_problems
from training_workloads.names import DNS_LABEL, DNS_LABEL_RULE
from training_workloads.platform.platform_spec import SYSTEM_NAMESPACES
from training_workloads.validation import MISSING, Path, Problem, Problems, enforce, known_names

__all__ = ["Submission", "check_objects", "plan_submission", "submit"]

# The options of `platform` that write the claims of the cluster's file systems.
_CLAIM_OPTIONS = {LUSTRE_CLAIM: "--lustre-…", EFS_CLAIM: "--efs-…"}

# Objects that a pod names, and that must exist when the API server gets the pod.
_NAMED_BY_PODS = {"ServiceAccount": "serviceAccountName", "PriorityClass": "priorityClassName"}

# A webhook that writes elsewhere rejects every dry run, and says nothing about the pod.
_NO_DRY_RUN = "does not support dry run"

# https://github.com/kubernetes/apiserver/blob/v0.35.0/pkg/admission/plugin/resourcequota/controller.go
_EXCEEDED = "exceeded quota"
_QUOTA = re.compile(r"requested: (?P<requested>\S+), used: \S+, limited: (?P<limited>\S+)")

# How the API server begins what it says about a pod.
_ABOUT_THE_POD = re.compile(r'^pods? "[^"]*" is (forbidden|invalid): ', re.IGNORECASE)

# Podman's name for images that were built on this machine.
_LOCAL_REGISTRY = "localhost/"

_NAMESPACE = ("metadata", "namespace")

# The fields that make the address of an object, and what they may be at most for any kind:
# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names
_ADDRESS = (
    (
        ("apiVersion",),
        rf"([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?{DNS_LABEL}",
        "the version of an API, such as kubeflow.org/v2beta1",
    ),
    (("kind",), r"[A-Za-z][A-Za-z0-9]*", "a kind of object, such as MPIJob"),
    (("metadata", "name"), r"(?!\.{1,2}$)[^/%]+", "text, such as digits, without '/' and '%'"),
    (_NAMESPACE, DNS_LABEL, DNS_LABEL_RULE),
)


# Kinds of objects that come with a job. Others, such as a ClusterRoleBinding, change what people and pods may do.
_WITH_A_JOB = {
    *("ConfigMap", "Deployment", "NetworkPolicy", "PersistentVolumeClaim", "PodDisruptionBudget", "Secret", "Service"),
    *("ServiceAccount", "StatefulSet", "TrainingRuntime"),
}


_TOKEN = "kubernetes.io/service-account-token"


class PodTemplate:
    """Stands for a whole pod template in a problem, which would show its pages otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """An object to create, and where.

    Attributes:
        document: The object in its manifest.
        resource: Its kind.
        cluster: The cluster, in the object's namespace.
    """

    document: Document
    resource: Resource
    cluster: Cluster

    @property
    def content(self) -> dict[str, Any]:
        """The object."""
        return dict(self.document.content)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.content["metadata"]["name"])

    @property
    def name_for_logs(self) -> str:
        """The name by which `logs` and `status` find a job: that of a TrainJob's workers."""
        return self.name + NODES_SUFFIX if self.resource.kind == TRAIN_JOBS.kind else self.name

    @property
    def title(self) -> str:
        """Its kind, name and namespace: `MPIJob 'digits' in namespace 'team'`."""
        where = f" in namespace {self.cluster.namespace!r}" if self.resource.namespaced else ""
        return f"{self.resource.kind} {self.name!r}{where}"

    @property
    def is_job(self) -> bool:
        """Whether it runs ranks or stages data, rather than being something that a job needs."""
        kinds = [(each.api_version, each.kind) for each in (MPI_JOBS, BATCH_JOBS, TRAIN_JOBS)]
        return (self.resource.api_version, self.resource.kind) in kinds

    def problem(self, path: Path, given: Any, *, fix: str, allowed: str = "") -> Problem:
        """Return the problem of a value in the manifest, with its line."""
        return Problem(path=path, given=given, allowed=allowed, fix=fix, source=self.document.where(path))

    def create(self, *, dry_run: bool) -> None:
        """Create it; neither a job nor a field of another manager is overwritten."""
        request = self.cluster.create if self.is_job else self.cluster.apply
        try:
            request(self.resource, self.content, dry_run=dry_run)
        except ConflictError as error:
            raise ConflictError(f"{self.title} cannot be created: {error.event}", error.fix) from error


def check_objects(file: str, documents: Iterable[Document]) -> Problems:
    """Yield the problems of a file without objects, of an object's address, and of MPIJobs that stop the operator."""
    objects = [document for document in documents if document.content is not None]
    if not objects:
        fix = "give a manifest, such as one that 'trainctl render' wrote"
        yield Problem(path=("file",), given=file, allowed="it contains no object", fix=fix)
    for document in objects:
        for path, form, rule in _ADDRESS:
            value = value_at(document.content, path)
            is_optional = value is None and path == _NAMESPACE
            if not is_optional and not (isinstance(value, str) and re.fullmatch(form, value)):
                given = MISSING if value is None else value
                yield Problem(path=path, given=given, fix=f"give {rule}", source=document.where(path))
        yield from _undecodable(document)


def plan_submission(
    cluster: Cluster,
    documents: Iterable[Document],
    note: Callable[[str], None],
    *,
    namespace: str | None,
    any_kind: bool = False,
) -> list[Submission]:
    """Check whether every object can be created, and return them in the order in which to create them.

    `check_objects` comes first. `note` takes what delays a job, and is no mistake in it; `any_kind` admits objects of
    kinds that no job needs.

    Raises:
        InputError: An object contradicts `namespace`, or something that it needs is missing in its namespace.
        ClusterError: A request failed, or the cluster would reject an object.
    """
    objects = list(documents)
    enforce((objects, namespace), [_namespaces_agree])
    submissions = [_submission(cluster, document) for document in objects]
    submissions.sort(key=lambda each: each.is_job)
    enforce(submissions, [_there_is_a_job])
    if not any_kind:
        enforce(submissions, [_come_with_a_job])
    # Each check asks the cluster about what the one before has found in order.
    for rule in (_images_can_be_pulled, _namespaces_exist, _names_are_free, _claims_exist):
        enforce(submissions, [rule])
    for each in submissions:
        each.create(dry_run=True)
    enforce(submissions, [partial(_pods_are_allowed, note=note)])
    return submissions


def submit(submissions: Iterable[Submission], created: Callable[[Submission], None]) -> None:
    """Create every object of a plan.

    Raises:
        ClusterError: A request failed; the objects before it exist.
    """
    for each in submissions:
        each.create(dry_run=False)
        created(each)


def _submission(cluster: Cluster, document: Document) -> Submission:
    namespace = document.content["metadata"].get("namespace") or cluster.namespace
    place = dataclasses.replace(cluster, namespace=namespace)
    return Submission(document=document, resource=place.resource_of(document.content), cluster=place)


def _undecodable(document: Document) -> Problems:
    """Yield the values of an MPIJob that stop the operator for everyone, which an older definition accepts."""
    content = mapping(document.content)
    if (content.get("apiVersion"), content.get("kind")) == (MPI_JOBS.api_version, MPI_JOBS.kind):
        for problem in decoding_problems(document.content):
            yield dataclasses.replace(problem, source=document.where(problem.path))


def _namespaces_agree(given: tuple[list[Document], str | None]) -> Problems:
    documents, namespace = given
    for document in documents:
        metadata = document.content["metadata"]
        if namespace and (metadata.get("namespace") or namespace) != namespace:
            allowed = f"'--namespace' is {namespace!r}"
            fix = "omit the option, or render the job with that namespace"
            yield Problem(
                path=_NAMESPACE,
                given=metadata["namespace"],
                allowed=allowed,
                fix=fix,
                source=document.where(_NAMESPACE),
            )


def _there_is_a_job(submissions: list[Submission]) -> Problems:
    if not any(each.is_job for each in submissions):
        files = ", ".join(dict.fromkeys(each.document.yaml.source for each in submissions))
        kinds = ", ".join(each.resource.kind for each in submissions)
        allowed = f"it contains {kinds}, and only an MPIJob, a Job or a TrainJob runs"
        yield Problem(path=("file",), given=files, allowed=allowed, fix="use 'kubectl apply -f' for other objects")


def _come_with_a_job(submissions: list[Submission]) -> Problems:
    fix = "read it, and create it with 'kubectl apply -f' or add '--any-kind'"
    for each in submissions:
        if not each.is_job and each.resource.kind not in _WITH_A_JOB:
            allowed = "no job needs such an object"
            yield each.problem(("kind",), each.resource.kind, allowed=allowed, fix=fix)
        if each.cluster.namespace not in {job.cluster.namespace for job in submissions if job.is_job}:
            allowed = "no job of the file is in that namespace"
            yield each.problem(_NAMESPACE, each.cluster.namespace, allowed=allowed, fix=fix)
        if each.cluster.namespace.startswith(SYSTEM_NAMESPACES):
            allowed = "pods of the cluster run there, with rights that a job does not need"
            yield each.problem(_NAMESPACE, each.cluster.namespace, allowed=allowed, fix=fix)
        if each.resource.kind == "Secret" and each.content.get("type") == _TOKEN:
            allowed = "it gives who reads it the rights of a service account"
            yield each.problem(("type",), _TOKEN, allowed=allowed, fix=fix)


def _images_can_be_pulled(submissions: list[Submission]) -> Problems:
    """Reject local images: nodes would start for them, and remain."""
    for each in submissions:
        for path, image in _found(each.content, ("containers", "initContainers"), "image"):
            if image.startswith(_LOCAL_REGISTRY):
                fix = "push it to a registry, and render the job with '--image <its address>'"
                yield each.problem(path, image, allowed="only this machine has it", fix=fix)


def _namespaces_exist(submissions: list[Submission]) -> Problems:
    for name, cluster in _places(submissions).items():
        try:
            found = cluster.get(NAMESPACES, name)
        except ForbiddenError:
            # A user of one namespace may not read namespaces; the dry run shows then whether it exists.
            continue
        if found is None:
            allowed = "the cluster does not have it"
            fix = f"run 'kubectl create namespace {name}', or give another one"
            named = (each for each in submissions if each.content["metadata"].get("namespace") == name)
            if first := next(named, None):
                yield first.problem(_NAMESPACE, name, allowed=allowed, fix=fix)
            else:
                yield Problem(path=("namespace",), given=name, allowed=allowed, fix=fix)


def _names_are_free(submissions: list[Submission]) -> Problems:
    for each in submissions:
        if each.is_job and (job := try_find_job(each.cluster, each.name)):
            allowed = f"namespace {each.cluster.namespace!r} has a job of that name, which is {job.summary.state}"
            fix = f"delete that one with 'trainctl cancel {each.name}', or render this one with another '--name'"
            yield each.problem(("metadata", "name"), each.name, allowed=allowed, fix=fix)


def _claims_exist(submissions: list[Submission]) -> Problems:
    """Reject a claim that does not exist: the pods would wait for it without an end."""
    for namespace, cluster in _places(submissions).items():
        here = [each for each in submissions if each.cluster.namespace == namespace]
        created = {each.name for each in here if each.resource.kind == CLAIMS.kind}
        needed = {claim: (each, path) for each in here for path, claim in _claims(each)}
        missing = sorted(set(needed) - created)
        existing = [claim["metadata"]["name"] for claim in cluster.objects(CLAIMS)] if missing else []
        for claim in sorted(set(missing) - set(existing)):
            each, path = needed[claim]
            hint = known_names(claim, existing) if existing else "it has none"
            allowed = f"namespace {namespace!r} does not have this PersistentVolumeClaim ({hint})"
            yield each.problem(path, claim, allowed=allowed, fix=_claim_advice(claim))


def _pods_are_allowed(submissions: list[Submission], note: Callable[[str], None]) -> Problems:
    """Reject pods that the API server would: the operator would get that answer, and retry without an end."""
    created = {(each.resource.kind, each.name) for each in submissions}
    for each in (each for each in submissions if each.is_job):
        later = ""
        for path, reason in _rejections(each, created):
            if _EXCEEDED in reason and not _is_above_the_quota(reason):
                later = later or reason
            else:
                allowed = f"namespace {each.cluster.namespace!r} rejects its pods: {reason}"
                yield each.problem(path, PodTemplate(), allowed=allowed, fix=_pod_advice(reason))
        if later:
            note(f"the quota rejects pods of {each.title} now ({later}); they start when other jobs have ended")


def _rejections(job: Submission, created: set[tuple[str, str]]) -> Iterator[tuple[Path, str]]:
    """Yield the path of each template whose pod the API server rejects, and its reason."""
    for path, pod in job_pods(job.content):
        for kind, field in _NAMED_BY_PODS.items():
            if (kind, pod["spec"].get(field)) in created:
                del pod["spec"][field]
        try:
            job.cluster.create(PODS, pod, dry_run=True)
        except ForbiddenError:
            # Who may not create pods may still submit jobs: their controllers create the pods.
            return
        except RejectedError as error:
            if _NO_DRY_RUN not in error.message:
                yield path, _ABOUT_THE_POD.sub("", error.message)


def _is_above_the_quota(reason: str) -> bool:
    """Return whether one pod requests more than the whole quota: it is never created, whatever other jobs use."""
    found = _QUOTA.search(reason)
    if not found:
        return False
    requested, limited = (_amounts(found[group]) for group in ("requested", "limited"))
    return any(amount > limited[name] for name, amount in requested.items() if name in limited)


def _amounts(text: str) -> dict[str, Decimal]:
    """Return the amounts of a text such as `limits.memory=8Gi,pods=1`, without invalid ones."""
    pairs = (part.partition("=") for part in text.split(","))
    return {name: amount for name, _, value in pairs if (amount := amount_of(value)) is not None}


def _pod_advice(reason: str) -> str:
    if "violates PodSecurity" in reason:
        return (
            "render the job with this version of trainctl, or use a namespace with another label "
            "pod-security.kubernetes.io/enforce"
        )
    if _EXCEEDED in reason:
        return "request less, or ask for a larger quota"
    return "change the template, or ask an administrator of the cluster"


def _claim_advice(claim: str) -> str:
    if claim not in _CLAIM_OPTIONS:
        return "create it there, or give the namespace that has it with '--namespace'"
    return (
        "use namespace 'default' ('-n default'), for which the cluster's stack creates it, or write it for another "
        f"one with 'trainctl platform render {_CLAIM_OPTIONS[claim]} --namespace <namespace>'"
    )


def _places(submissions: list[Submission]) -> dict[str, Cluster]:
    return {each.cluster.namespace: each.cluster for each in submissions if each.resource.namespaced}


def _claims(submission: Submission) -> Iterator[tuple[Path, str]]:
    return _found(submission.content, ("persistentVolumeClaim",), "claimName")


def _found(value: Any, inside: tuple[str, ...], key: str, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield each text with a key inside some others: an MPIJob has several pod templates, a Deployment or a Job one."""
    if isinstance(value, dict):
        if isinstance(value.get(key), str) and any(part in inside for part in path[-2:]):
            yield (*path, key), value[key]
        for name, each in value.items():
            yield from _found(each, inside, key, (*path, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _found(each, inside, key, (*path, number))
