"""Submitting a job: every check first, then what comes along with it, then the job itself."""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from training_workloads.cluster.cluster import Cluster
from training_workloads.cluster.failures import ConflictError, ForbiddenError
from training_workloads.cluster.jobs import try_find_job
from training_workloads.cluster.manifests import claims_of, images_of, is_job
from training_workloads.cluster.resources import CLAIMS, NAMESPACES, Resource
from training_workloads.jobs.volumes import EFS_CLAIM, LUSTRE_CLAIM
from training_workloads.validation import InputError, known_names

__all__ = ["Submission", "check_submission", "submit"]

# The options of 'platform' that write the claims of the cluster's own file systems.
_CLAIM_OPTIONS = {LUSTRE_CLAIM: "--lustre-…", EFS_CLAIM: "--efs-…"}

# Podman's name for images that were built here.
_LOCAL_REGISTRY = "localhost/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A document, and where it goes.

    Attributes:
        document: The manifest.
        resource: Its kind.
        cluster: The cluster, in the document's namespace.
    """

    document: dict[str, Any]
    resource: Resource
    cluster: Cluster

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.document["metadata"]["name"])

    @property
    def title(self) -> str:
        """What the user reads: `MPIJob 'digits' in namespace 'team'`."""
        where = f" in namespace {self.cluster.namespace!r}" if self.resource.namespaced else ""
        return f"{self.resource.kind} {self.name!r}{where}"

    @property
    def is_job(self) -> bool:
        """Whether it is what runs."""
        return is_job(self.document)

    def send(self, *, dry_run: bool) -> None:
        """Makes it; a job is never written over, nor a field that somebody else set."""
        make = self.cluster.create if self.is_job else self.cluster.apply
        try:
            make(self.resource, self.document, dry_run=dry_run)
        except ConflictError as error:
            raise ConflictError(f"{self.title} cannot be made: {error}") from error


def check_submission(
    cluster: Cluster, documents: Iterable[dict[str, Any]], *, namespace: str | None
) -> list[Submission]:
    """Finds out whether every document can be made, and makes none.

    Args:
        cluster: The cluster.
        documents: What is to be submitted.
        namespace: What the user gave for `--namespace`; a document that names another is refused.

    Returns:
        The documents in the order in which to make them.

    Raises:
        InputError: A document contradicts what the user gave, or lacks something in its namespace.
        ClusterError: The cluster could not be asked, or would refuse a document.
    """
    submissions = [_submission(cluster, document, namespace) for document in documents]
    submissions.sort(key=lambda each: each.is_job)
    if not any(each.is_job for each in submissions):
        kinds = ", ".join(each.resource.kind for each in submissions)
        raise InputError(f"'file' holds {kinds}, and no MPIJob or Job to run; 'kubectl apply -f' takes such files")
    for check in (_check_images, _check_namespaces, _check_names, _check_claims):
        check(submissions)
    for each in submissions:
        each.send(dry_run=True)
    return submissions


def submit(submissions: Iterable[Submission], made: Callable[[Submission], None]) -> None:
    """Makes every document.

    Args:
        submissions: What `check_submission` returned.
        made: Is told each one after the cluster has it.

    Raises:
        ClusterError: The cluster could not be reached, or refused one; those before it are made.
    """
    for each in submissions:
        each.send(dry_run=False)
        made(each)


def _submission(cluster: Cluster, document: dict[str, Any], namespace: str | None) -> Submission:
    own = document["metadata"].get("namespace")
    if own and namespace and own != namespace:
        raise InputError(
            f"'--namespace' is {namespace!r} but {document['kind']} {document['metadata']['name']!r} says {own!r}; "
            "leave the option out, or render the job with that namespace"
        )
    place = dataclasses.replace(cluster, namespace=own or cluster.namespace)
    return Submission(document=document, resource=place.resource_of(document), cluster=place)


def _places(submissions: list[Submission]) -> dict[str, Cluster]:
    return {each.cluster.namespace: each.cluster for each in submissions if each.resource.namespaced}


def _check_images(submissions: list[Submission]) -> None:
    """Nodes cannot pull what only this machine has; they would be started for it, and held."""
    for each in submissions:
        for image in sorted(images_of(each.document)):
            if image.startswith(_LOCAL_REGISTRY):
                raise InputError(
                    f"{each.title} has the image {image!r}, which only this machine has; push it to a registry, and "
                    "render the job with '--image <its address>'"
                )


def _check_namespaces(submissions: list[Submission]) -> None:
    for name, cluster in _places(submissions).items():
        try:
            found = cluster.get(NAMESPACES, name)
        except ForbiddenError:
            # Who works in one namespace only may not look at namespaces; the dry run shows then whether it exists.
            continue
        if found is None:
            raise InputError(
                f"'namespace' is {name!r}, which the cluster does not have; 'kubectl create namespace {name}' makes "
                "it, or give another with '--namespace'"
            )


def _check_names(submissions: list[Submission]) -> None:
    for each in submissions:
        if each.is_job and (job := try_find_job(each.cluster, each.name)):
            raise InputError(
                f"{each.title} cannot be made: a job of that name exists, and is {job.view.state}; "
                f"'training-workloads cancel {each.name}' removes it, or render this one with another '--name'"
            )


def _check_claims(submissions: list[Submission]) -> None:
    """Pods whose claim does not exist wait for it for ever, and nobody is told."""
    for namespace, cluster in _places(submissions).items():
        here = [each for each in submissions if each.cluster.namespace == namespace]
        needed = {claim for each in here for claim in claims_of(each.document)}
        needed -= {each.name for each in here if each.resource.kind == CLAIMS.kind}
        existing = [claim["metadata"]["name"] for claim in cluster.objects(CLAIMS)] if needed else []
        for claim in sorted(needed - set(existing)):
            hint = known_names(claim, existing) if existing else "it has none"
            raise InputError(
                f"the pods mount the PersistentVolumeClaim {claim!r}, which namespace {namespace!r} does not have, so "
                f"they would never start; {hint}. {_claim_advice(claim)}"
            )


def _claim_advice(claim: str) -> str:
    """What to do about a claim that is not there."""
    if claim not in _CLAIM_OPTIONS:
        return "Make it there, or give the namespace that has it with '--namespace'"
    return (
        "The cluster's stack makes it in namespace 'default' ('-n default'); 'training-workloads platform "
        f"{_CLAIM_OPTIONS[claim]} --namespace <namespace>' writes it for another one"
    )
