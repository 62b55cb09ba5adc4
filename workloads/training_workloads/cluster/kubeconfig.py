"""Connect to the cluster of the user's kubeconfig."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import yaml

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.validation import InputError, unknown

if TYPE_CHECKING:
    from kubernetes.client import Configuration
    from kubernetes.config.kube_config import KubeConfigLoader

__all__ = ["connect"]

# https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
_DEFAULT_KUBECONFIG = "~/.kube/config"
_DEFAULT_NAMESPACE = "default"
_WRITE_ONE = (
    "write one with 'aws eks update-kubeconfig --region <region> --name <cluster>', "
    "the stack's output KubeconfigCommand"
)


@contextmanager
def connect(context: str | None = None, namespace: str | None = None) -> Iterator[Cluster]:
    """Connect to the cluster of the user's kubeconfig; no request is sent yet.

    Args:
        context: Name of a context in the kubeconfig. Default: its current one.
        namespace: Default: that of the context, else `default`.

    Raises:
        InputError: The kubeconfig has no such context.
        ClusterError: The kubeconfig is missing or damaged, or its program for credentials fails.
    """
    # Half a second to import: only the commands that need a cluster pay for it.
    from kubernetes import client
    from kubernetes.dynamic import DynamicClient

    settings = client.Configuration()
    # urllib3's own retries would write to the terminal; the commands that wait retry themselves.
    settings.retries = False
    with _messages_of_the_client() as messages:
        loader = _load_kubeconfig(context)
        chosen = loader.current_context["context"]
        loader.load_and_set(settings)  # type: ignore[no-untyped-call]
        if messages and not settings.api_key and not settings.cert_file:
            raise _no_credentials(messages)
        _silence_the_users_choice(settings)
        api = client.ApiClient(settings)
        try:
            yield Cluster(
                dynamic=DynamicClient(api, discoverer=_no_discovery),  # type: ignore[no-untyped-call]
                namespace=namespace or chosen.get("namespace") or _DEFAULT_NAMESPACE,
                server=settings.host,
            )
        finally:
            api.close()  # type: ignore[no-untyped-call]


def _no_discovery(*_: object) -> None:
    """Replace the client's discovery: docs/adr/0013-requests-without-discovery.md."""


def _silence_the_users_choice(settings: "Configuration") -> None:
    """Print no warning with every request if the kubeconfig has insecure-skip-tls-verify."""
    from urllib3 import disable_warnings
    from urllib3.exceptions import InsecureRequestWarning

    if not settings.verify_ssl:
        disable_warnings(InsecureRequestWarning)


def _load_kubeconfig(context: str | None) -> "KubeConfigLoader":
    from kubernetes.config import ConfigException
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

    path = os.environ.get("KUBECONFIG") or _DEFAULT_KUBECONFIG
    try:
        merged = KubeConfigMerger(path).config  # type: ignore[no-untyped-call]
        if merged is None:
            raise ClusterError(f"there is no kubeconfig at {path}", _WRITE_ONE)
        names = [each["name"] for each in merged.value.get("contexts") or []]
        if context is not None and context not in names:
            raise InputError(*unknown("context", context, names)) if names else _unusable(path, "it has no context")
        return KubeConfigLoader(config_dict=merged, active_context=context)  # type: ignore[no-untyped-call]
    except (ConfigException, yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        raise _unusable(path, " ".join(str(error).split())) from error
    except (AttributeError, KeyError, TypeError) as error:
        raise _unusable(path, "it does not have the form of a kubeconfig") from error


def _unusable(path: str, why: str) -> ClusterError:
    return ClusterError(f"the kubeconfig {path} cannot be used: {why}", _WRITE_ONE)


def _no_credentials(messages: list[str]) -> ClusterError:
    why = " ".join(" ".join(messages).split())
    return ClusterError(
        f"the kubeconfig's program for credentials failed: {why}",
        "check that it is installed (for EKS: the AWS CLI), and that you are logged in ('aws sso login', AWS_PROFILE)",
    )


@contextmanager
def _messages_of_the_client() -> Iterator[list[str]]:
    """Collect what the client logs instead of showing it; it logs the failure of a program for credentials."""
    messages: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    collector = Collector()
    logging.getLogger().addHandler(collector)
    try:
        yield messages
    finally:
        logging.getLogger().removeHandler(collector)
