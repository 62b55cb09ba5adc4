"""Failures between this machine and a cluster, each with its event and its fix.

The form of an error of the API server: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

import json
import re
from http import HTTPStatus
from http.client import BadStatusLine
from typing import Any

from training_workloads.cluster.resources import MPI_JOBS, TRAIN_JOBS, Resource

__all__ = [
    "ClusterError",
    "ConflictError",
    "ForbiddenError",
    "NotFoundError",
    "RejectedError",
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

# How urllib3 begins what it says about a connection.
_CONNECTION = re.compile(r"^HTTPS?Connection\(.*?\): ")

# How the API server begins what it says about a missing permission.
_NO_PERMISSION = re.compile(r'User "[^"]*" cannot ')

_ASK_FOR_PERMISSION = (
    "ask an administrator of the cluster for the permission: the role 'edit' can submit and cancel jobs, 'view' can "
    "show them"
)


class ClusterError(Exception):
    """The cluster cannot be reached, or it rejected a request.

    Attributes:
        event: The failure, as a clause.
        fix: The remedy, in the imperative; empty where `event` has it.
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


class RejectedError(ClusterError):
    """The cluster rejects the object: by its validation, or by a rule of the namespace, such as a quota.

    Attributes:
        message: The API server's own words.
    """

    def __init__(self, event: str, message: str) -> None:
        super().__init__(event)
        self.message = message


class TransientError(ClusterError):
    """A failure that may be over in a moment: no connection, no answer, or an internal error of the server."""


def transport_failure(error: Exception, server: str, proxy: str | None = None) -> ClusterError:
    """Return the reason why no answer came from a server, or from the proxy before it."""
    from urllib3 import exceptions

    text = " ".join(str(getattr(error, "reason", None) or error).split())
    if isinstance(error, exceptions.ProxyError):
        return _proxy_failure(error, server, proxy)
    if "SSLError" in text or isinstance(error, exceptions.SSLError):
        return _tls_failure(_without_addresses(text), server)
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
    way = f" through the proxy {_without_password(proxy)}" if proxy else ""
    reason = error.args[-1] if isinstance(error.args[-1], Exception) else _without_addresses(text)
    if isinstance(reason, BadStatusLine) and not isinstance(reason, ConnectionError):
        return not_kubernetes(server)
    return TransientError(f"the connection to {server}{way} broke ({reason})", "retry")


def _proxy_failure(error: Exception, server: str, proxy: str | None) -> ClusterError:
    reason = _without_addresses(" ".join(str(error.args[-1]).split()))
    fix = "check HTTPS_PROXY and NO_PROXY, or proxy-url in the kubeconfig"
    if "WRONG_VERSION_NUMBER" in reason:
        fix = "write its address with http:// instead of https:// in HTTPS_PROXY, or as proxy-url in the kubeconfig"
    return TransientError(f"no connection to {server} through the proxy {_without_password(proxy)} ({reason})", fix)


def _tls_failure(reason: str, server: str) -> ClusterError:
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return ClusterError(
            f"the certificate of {server} cannot be verified ({reason})",
            "the kubeconfig may be of an older cluster: write it again with "
            "'aws eks update-kubeconfig --region <region> --name <cluster>'",
        )
    if "WRONG_VERSION_NUMBER" in reason:
        return ClusterError(
            f"{server} answers without TLS",
            "check the server in the kubeconfig: its port, or http:// instead of https:// for a local proxy",
        )
    return ClusterError(
        f"no TLS connection to {server} ({reason})",
        "check the server in the kubeconfig, the VPN and the proxy (HTTPS_PROXY, NO_PROXY)",
    )


def _without_password(proxy: str | None) -> str:
    from urllib3.util import parse_url

    return parse_url(proxy or "")._replace(auth=None).url


def not_kubernetes(server: str) -> ClusterError:
    """Return the error of another program that answers: a captive portal, the login page of a VPN, a proxy."""
    return ClusterError(
        f"the answer of {server} is not from Kubernetes, but for example from a login page",
        "check the VPN, the proxy (HTTPS_PROXY, NO_PROXY) and the server in the kubeconfig",
    )


def rejection(
    status: int, body: str, *, verb: str, resource: Resource, namespace: str | None, server: str
) -> ClusterError:
    """Return the reason why the API server answered with an error; its body is a Status as JSON, or plain text."""
    # A proxy or load balancer before the cluster may be down for a moment, and answer with a page too.
    if status < HTTPStatus.BAD_REQUEST or (status < HTTPStatus.INTERNAL_SERVER_ERROR and body.lstrip()[:1] == "<"):
        return not_kubernetes(server)
    answer = _status(body)
    message = " ".join(str(answer.get("message") or body.strip() or HTTPStatus(status).phrase).split())
    where = f"in namespace {namespace!r}" if namespace else "in all namespaces"
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return ClusterError("the cluster rejects your credentials, or they have expired", _RENEW_CREDENTIALS)
        case HTTPStatus.FORBIDDEN if _NO_PERMISSION.search(message):
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
    return RejectedError(f"the cluster rejects the request to {verb} {resource.title} {where}: {message}", message)


def unknown_resource(resource: Resource) -> ClusterError:
    """Return the error of a kind of object that the cluster does not know."""
    if resource.kind == MPI_JOBS.kind:
        return ClusterError(
            "the cluster does not know MPIJobs",
            "install the operator with 'trainctl platform render' and 'kubectl apply -f dist/platform/'",
        )
    if resource.kind == TRAIN_JOBS.kind:
        fix = "install Kubeflow Trainer 2.2 or newer, or render the job without kind"
        return ClusterError("the cluster does not know TrainJobs", fix)
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
    named = _CONNECTION.sub("", text)
    return named.partition(">: ")[2] or named.removeprefix("SSLError ")
