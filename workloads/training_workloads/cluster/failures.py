"""What can go wrong between this machine and a cluster, each in a sentence that says what to do.

How the API server words its refusals: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

import json
from http import HTTPStatus
from typing import Any

from training_workloads.cluster.resources import MPI_JOBS, Resource

__all__ = [
    "ClusterError",
    "ConflictError",
    "ForbiddenError",
    "NotFoundError",
    "TransientError",
    "is_web_page",
    "not_kubernetes",
    "refusal",
    "transport_failure",
    "unknown_resource",
]

_CREDENTIALS = (
    "renew them ('aws sso login', or the profile in AWS_PROFILE), see with 'aws sts get-caller-identity' who you are, "
    "and that the cluster knows this role (admin_arns in cluster.yaml, or an access entry)"
)


class ClusterError(Exception):
    """The cluster could not be reached or refused; the text is what the user reads."""


class ConflictError(ClusterError):
    """An object of that name exists, or somebody else owns the field that would change."""


class ForbiddenError(ClusterError):
    """The user's role does not have that right."""


class NotFoundError(ClusterError):
    """The object does not exist."""


class TransientError(ClusterError):
    """What may be over in a moment: no connection, no answer, or an error of the server's own."""

    @property
    def event(self) -> str:
        """What happened, without what to do about it."""
        return str(self).partition("; ")[0]


def transport_failure(error: Exception, server: str) -> ClusterError:
    """Says why no answer came.

    Args:
        error: What the client raised.
        server: The API server's address, as it stands in the kubeconfig.
    """
    from urllib3 import exceptions

    text = " ".join(str(getattr(error, "reason", None) or error).split())
    if "CERTIFICATE_VERIFY_FAILED" in text or "SSLError" in text or isinstance(error, exceptions.SSLError):
        return ClusterError(
            f"the certificate of {server} cannot be verified ({_without_addresses(text)}); the kubeconfig may be of "
            "an older cluster: write it again with 'aws eks update-kubeconfig --region <region> --name <cluster>'"
        )
    if isinstance(error, exceptions.NameResolutionError):
        return TransientError(
            f"the name of {server} cannot be resolved; check this machine's network, and that the cluster still exists"
        )
    if isinstance(error, exceptions.ConnectTimeoutError | exceptions.NewConnectionError):
        return TransientError(
            f"no connection to {server}; check the network or VPN, that the cluster still exists, and that this "
            "address may reach it (public_access_cidrs in cluster.yaml)"
        )
    if isinstance(error, exceptions.TimeoutError):
        return TransientError(f"{server} did not answer in time; check the network, or try again")
    return TransientError(f"the connection to {server} broke ({_without_addresses(text)}); try again")


def is_web_page(body: bytes) -> bool:
    """Whether an answer is HTML, which the API server never sends."""
    return body.lstrip()[:1] == b"<"


def not_kubernetes(server: str) -> ClusterError:
    """Says that something else answered: a captive portal, the login page of a VPN, a proxy.

    Args:
        server: The API server's address, as it stands in the kubeconfig.
    """
    return ClusterError(
        f"{server} answered with something that is not Kubernetes, such as a login page; check the VPN and the proxy "
        "(HTTPS_PROXY, NO_PROXY), and the server in the kubeconfig"
    )


def refusal(status: int, body: bytes, *, verb: str, resource: Resource, namespace: str | None) -> ClusterError:
    """Says why the API server answered with an error.

    Args:
        status: HTTP status, 400 or more.
        body: What it sent: a Status as JSON, or plain text.
        verb: What was tried: get, list, create, patch, delete.
        resource: On what.
        namespace: Where; `None`: in all namespaces.
    """
    answer = _status(body)
    message = str(answer.get("message") or body.decode(errors="replace").strip() or HTTPStatus(status).phrase)
    where = f"in namespace {namespace!r}" if namespace else "in all namespaces"
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return ClusterError(f"the cluster does not accept your credentials, or they have expired; {_CREDENTIALS}")
        case HTTPStatus.FORBIDDEN if " cannot " in message:
            return ForbiddenError(
                f"you may not {verb} {resource.title} {where} ({message}); ask who administers the cluster for it: "
                "the role 'edit' has what jobs need, 'view' what looking at them needs"
            )
        case HTTPStatus.NOT_FOUND if not (answer.get("details") or {}).get("name"):
            return unknown_resource(resource)
        case HTTPStatus.NOT_FOUND:
            return NotFoundError(message)
        case HTTPStatus.CONFLICT:
            return ConflictError(message)
        case HTTPStatus.TOO_MANY_REQUESTS | HTTPStatus.REQUEST_TIMEOUT:
            return TransientError(f"the cluster has no time now ({message}); try again")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TransientError(f"the cluster answered with an error of its own ({status}: {message}); try again")
    return ClusterError(f"the cluster refuses to {verb} {resource.title} {where}: {message}")


def unknown_resource(resource: Resource) -> ClusterError:
    """Says that the cluster does not have a kind of object."""
    if resource.kind == MPI_JOBS.kind:
        return ClusterError(
            "the cluster knows no MPIJob: install the operator with 'training-workloads platform' and "
            "'kubectl apply -f dist/'"
        )
    return ClusterError(
        f"the cluster knows no {resource.kind_and_version}; install what defines it, or leave it out of the file"
    )


def _status(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _without_addresses(text: str) -> str:
    """The client's errors begin with the object that raised them, whose address in memory helps nobody."""
    return text.partition(">: ")[2] or text.removeprefix("SSLError ")
