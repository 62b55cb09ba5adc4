"""The text of each failure, once: other tests assert exit codes and fragments."""

import json
from http.client import BadStatusLine, RemoteDisconnected
from typing import Any

import pytest
from urllib3 import HTTPConnectionPool, exceptions

from training_workloads.cluster.failures import (
    ClusterError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    TransientError,
    rejection,
    transport_failure,
    unknown_resource,
)
from training_workloads.cluster.resources import MPI_JOBS, PODS, Resource

SERVER = "https://cluster"
POOL = HTTPConnectionPool("cluster")
UPDATE = "'aws eks update-kubeconfig --region <region> --name <cluster>'"
NO_OPERATOR = (
    "the cluster does not know MPIJobs; install the operator with 'trainctl platform render' and "
    "'kubectl apply -f dist/platform/'"
)
FORBIDDEN = 'pods is forbidden: User "u" cannot list resource "pods"'
NOT_KUBERNETES = (
    "the answer of https://cluster is not from Kubernetes, but for example from a login page; check the VPN, the proxy "
    "(HTTPS_PROXY, NO_PROXY) and the server in the kubeconfig"
)


def status(message: str, **details: str) -> str:
    return json.dumps({"kind": "Status", "message": message, "details": details})


@pytest.mark.parametrize(
    ("code", "body", "kind", "text"),
    [
        (
            401,
            status("Unauthorized"),
            ClusterError,
            "the cluster rejects your credentials, or they have expired; renew them ('aws sso login', or the profile "
            "in AWS_PROFILE), check with 'aws sts get-caller-identity' who you are, and that the cluster knows this "
            "role (admin_arns in cluster.yaml, or an access entry)",
        ),
        (
            403,
            status(FORBIDDEN),
            ForbiddenError,
            f"you may not list mpijobs.kubeflow.org in namespace 'team' ({FORBIDDEN}); ask an administrator of the "
            "cluster for the permission: the role 'edit' can submit and cancel jobs, 'view' can show them",
        ),
        (
            403,
            status("admission webhook denied the request: an image cannot be :latest"),
            RejectedError,
            "the cluster rejects the request to list mpijobs.kubeflow.org in namespace 'team': admission webhook "
            "denied the request: an image cannot be :latest",
        ),
        (404, "404 page not found", ClusterError, NO_OPERATOR),
        (404, status('mpijobs "a" not found', name="a"), NotFoundError, 'mpijobs "a" not found'),
        (409, status('mpijobs "a" already exists'), ConflictError, 'mpijobs "a" already exists'),
        (429, status("too many"), TransientError, "the cluster is overloaded (too many); retry"),
        (500, "oops", TransientError, "the cluster answered with an internal error (500: oops); retry"),
        (
            502,
            "<html>Bad gateway</html>",
            TransientError,
            "the cluster answered with an internal error (502: <html>Bad gateway</html>); retry",
        ),
        (
            503,
            "",
            TransientError,
            "the cluster answered with an internal error (503: Service Unavailable); retry",
        ),
        (302, "moved", ClusterError, NOT_KUBERNETES),
        (403, "\n<html>Blocked</html>", ClusterError, NOT_KUBERNETES),
    ],
)
def test_a_rejection_says_what_happened_and_what_to_do(
    code: int, body: str, kind: type[ClusterError], text: str
) -> None:
    error = rejection(code, body, verb="list", resource=MPI_JOBS, namespace="team", server=SERVER)
    assert (type(error), str(error)) == (kind, text)


def test_a_rejection_in_all_namespaces_names_them() -> None:
    error = rejection(403, status(FORBIDDEN), verb="list", resource=PODS, namespace=None, server=SERVER)
    assert error.event == f"you may not list pods in all namespaces ({FORBIDDEN})"


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            exceptions.SSLError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"),
            ClusterError,
            "the certificate of https://cluster cannot be verified ([SSL: CERTIFICATE_VERIFY_FAILED] self-signed "
            f"certificate); the kubeconfig may be of an older cluster: write it again with {UPDATE}",
        ),
        (
            exceptions.SSLError("[SSL: WRONG_VERSION_NUMBER] wrong version number"),
            ClusterError,
            "https://cluster answers without TLS; check the server in the kubeconfig: its port, or http:// instead of "
            "https:// for a local proxy",
        ),
        (
            exceptions.SSLError("[SSL: TLSV1_ALERT_ACCESS_DENIED] tlsv1 alert access denied"),
            ClusterError,
            "no TLS connection to https://cluster ([SSL: TLSV1_ALERT_ACCESS_DENIED] tlsv1 alert access denied); check "
            "the server in the kubeconfig, the VPN and the proxy (HTTPS_PROXY, NO_PROXY)",
        ),
        (
            exceptions.NameResolutionError("cluster", POOL, OSError()),  # type: ignore[arg-type]
            TransientError,
            "the name of https://cluster cannot be resolved; check the network of this machine, and that the cluster "
            "still exists",
        ),
        (
            exceptions.ConnectTimeoutError("slow"),
            TransientError,
            "no connection to https://cluster; check the network or VPN, that the cluster still exists, and that your "
            "address may connect to it (public_access_cidrs in cluster.yaml)",
        ),
        (
            exceptions.ReadTimeoutError(POOL, "/", "slow"),
            TransientError,
            "https://cluster did not answer in time; check the network, or retry",
        ),
        (
            exceptions.ProtocolError("<object at 0x1>: Connection aborted."),
            TransientError,
            "the connection to https://cluster broke (Connection aborted.); retry",
        ),
        (
            exceptions.ProtocolError("Connection aborted.", ConnectionResetError(104, "Connection reset by peer")),
            TransientError,
            "the connection to https://cluster broke ([Errno 104] Connection reset by peer); retry",
        ),
        (exceptions.ProtocolError("Connection aborted.", BadStatusLine("SSH-2.0")), ClusterError, NOT_KUBERNETES),
    ],
)
def test_a_broken_connection_says_what_happened_and_what_to_do(
    error: Exception, kind: type[ClusterError], text: str
) -> None:
    failure = transport_failure(error, SERVER)
    assert (type(failure), str(failure)) == (kind, text)
    assert text == f"{failure.event}; {failure.fix}"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            exceptions.ProxyError("no proxy", OSError("Tunnel connection failed: 403 Forbidden")),
            "no connection to https://cluster through the proxy https://proxy:1 (Tunnel connection failed: 403 "
            "Forbidden); check HTTPS_PROXY and NO_PROXY, or proxy-url in the kubeconfig",
        ),
        (
            exceptions.ProxyError("no proxy", exceptions.SSLError("[SSL: WRONG_VERSION_NUMBER] wrong")),
            "no connection to https://cluster through the proxy https://proxy:1 ([SSL: WRONG_VERSION_NUMBER] wrong); "
            "write its address with http:// instead of https:// in HTTPS_PROXY, or as proxy-url in the kubeconfig",
        ),
        (
            exceptions.ProtocolError("Connection aborted.", RemoteDisconnected("closed")),
            "the connection to https://cluster through the proxy https://proxy:1 broke (closed); retry",
        ),
    ],
)
def test_a_proxy_is_named_without_its_password(error: Exception, text: str) -> None:
    assert str(transport_failure(error, SERVER, "https://me:secret@proxy:1")) == text


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        (MPI_JOBS, NO_OPERATOR),
        (
            Resource(api_version="ray.io/v1", kind="RayCluster", plural="rayclusters"),
            "the cluster does not know RayCluster (ray.io/v1); install its definition, or remove the document from "
            "the file",
        ),
    ],
)
def test_an_unknown_kind_has_the_name_of_the_manifest(resource: Resource, text: str) -> None:
    assert str(unknown_resource(resource)) == text


def test_an_error_without_a_fix_is_its_event() -> None:
    error: Any = ConflictError("it exists")
    assert (str(error), error.fix) == ("it exists", "")
