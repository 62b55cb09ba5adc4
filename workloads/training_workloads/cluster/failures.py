"""What can fail between this machine and a cluster: what happened, and what to do about it.

The form of an error of the API server: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
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
    "not_kubernetes",
    "rejection",
    "transport_failure",
    "unknown_resource",
]

_RENEW_CREDENTIALS = (
    "renew them ('aws sso login', or the profile in AWS_PROFILE), check with 'aws sts get-caller-identity' who you "
    "are, and that the cluster knows this role (admin_arns in cluster.yaml, or an access entry)"
)

_ASK_FOR_PERMISSION = (
    "ask an administrator of the cluster for the permission: the role 'edit' can submit and cancel jobs, 'view' can "
    "show them"
)


class ClusterError(Exception):
    """The cluster cannot be reached, or it rejected a request.

    Attributes:
        event: What happened, as a clause.
        fix: What to do, in the imperative; empty where `event` says it.
    """

    def __init__(self, event: str, fix: str = "") -> None:
        super().__init__(event, fix)
        self.event = event
        self.fix = fix

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.event, self.fix)))


class ConflictError(ClusterError):
    """An object of that name exists, or another manager owns a field that would change."""


class ForbiddenError(ClusterError):
    """The user's role does not have the permission."""


class NotFoundError(ClusterError):
    """The object does not exist."""


class TransientError(ClusterError):
    """A failure that may be over in a moment: no connection, no answer, or an internal error of the server."""


def transport_failure(error: Exception, server: str) -> ClusterError:
    """Return the reason why no answer came.

    Args:
        error: What the client raised.
        server: The API server's address in the kubeconfig.
    """
    from urllib3 import exceptions

    text = " ".join(str(getattr(error, "reason", None) or error).split())
    if "CERTIFICATE_VERIFY_FAILED" in text or "SSLError" in text or isinstance(error, exceptions.SSLError):
        return ClusterError(
            f"the certificate of {server} cannot be verified ({_without_addresses(text)})",
            "the kubeconfig may be of an older cluster: write it again with "
            "'aws eks update-kubeconfig --region <region> --name <cluster>'",
        )
    if isinstance(error, exceptions.NameResolutionError):
        return TransientError(
            f"the name of {server} cannot be resolved",
            "check the network of this machine, and that the cluster still exists",
        )
    if isinstance(error, exceptions.ConnectTimeoutError | exceptions.NewConnectionError):
        return TransientError(
            f"no connection to {server}",
            "check the network or VPN, that the cluster still exists, and that your address may connect to it "
            "(public_access_cidrs in cluster.yaml)",
        )
    if isinstance(error, exceptions.TimeoutError):
        return TransientError(f"{server} did not answer in time", "check the network, or retry")
    return TransientError(f"the connection to {server} broke ({_without_addresses(text)})", "retry")


def not_kubernetes(server: str) -> ClusterError:
    """Return the error of another program that answers: a captive portal, the login page of a VPN, a proxy.

    Args:
        server: The API server's address in the kubeconfig.
    """
    return ClusterError(
        f"the answer of {server} is not from Kubernetes, but for example from a login page",
        "check the VPN, the proxy (HTTPS_PROXY, NO_PROXY) and the server in the kubeconfig",
    )


def rejection(
    status: int, body: str, *, verb: str, resource: Resource, namespace: str | None, server: str
) -> ClusterError:
    """Return the reason why the API server answered with an error.

    Args:
        status: HTTP status, 300 or more.
        body: The answer: a Status as JSON, or plain text.
        verb: The action in the words of RBAC: get, list, create, patch, delete.
        resource: The kind of the object.
        namespace: Its namespace; `None`: all namespaces.
        server: The API server's address in the kubeconfig.
    """
    # What is between here and the cluster may be down for a moment, and answer with a page too.
    if status < HTTPStatus.BAD_REQUEST or (status < HTTPStatus.INTERNAL_SERVER_ERROR and body.lstrip()[:1] == "<"):
        return not_kubernetes(server)
    answer = _status(body)
    message = str(answer.get("message") or body.strip() or HTTPStatus(status).phrase)
    where = f"in namespace {namespace!r}" if namespace else "in all namespaces"
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return ClusterError("the cluster rejects your credentials, or they have expired", _RENEW_CREDENTIALS)
        case HTTPStatus.FORBIDDEN if " cannot " in message:
            return ForbiddenError(f"you may not {verb} {resource.title} {where} ({message})", _ASK_FOR_PERMISSION)
        case HTTPStatus.NOT_FOUND if not (answer.get("details") or {}).get("name"):
            return unknown_resource(resource)
        case HTTPStatus.NOT_FOUND:
            return NotFoundError(message)
        case HTTPStatus.CONFLICT:
            return ConflictError(message)
        case HTTPStatus.TOO_MANY_REQUESTS | HTTPStatus.REQUEST_TIMEOUT:
            return TransientError(f"the cluster is overloaded ({message})", "retry")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TransientError(f"the cluster answered with an internal error ({status}: {message})", "retry")
    return ClusterError(f"the cluster rejects the request to {verb} {resource.title} {where}: {message}")


def unknown_resource(resource: Resource) -> ClusterError:
    """Return the error of a kind of object that the cluster does not know."""
    if resource.kind == MPI_JOBS.kind:
        return ClusterError(
            "the cluster does not know MPIJobs",
            "install the operator with 'trainctl platform render' and 'kubectl apply -f dist/platform/'",
        )
    return ClusterError(
        f"the cluster does not know {resource.kind_and_version}",
        "install its definition, or remove the document from the file",
    )


def _status(body: str) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _without_addresses(text: str) -> str:
    """Return an error of the client without the object that raised it, which it shows with its address in memory."""
    return text.partition(">: ")[2] or text.removeprefix("SSLError ")
