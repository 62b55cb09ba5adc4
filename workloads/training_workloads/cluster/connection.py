"""From the user's kubeconfig to a connection with its cluster."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import yaml

from training_workloads.cluster.cluster import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.validation import unknown_name

if TYPE_CHECKING:
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
    """Opens a connection to the cluster of the user's kubeconfig; the first request goes out when something is asked.

    Args:
        context: Name of a context in the kubeconfig. Default: its current one.
        namespace: Default: that of the context, else `default`.

    Raises:
        InputError: The kubeconfig has no such context.
        ClusterError: There is no kubeconfig, it is broken, or its program for credentials fails.
    """
    # A second to import: only the commands that need a cluster pay for it.
    from kubernetes import client
    from urllib3 import disable_warnings
    from urllib3.exceptions import InsecureRequestWarning

    settings = client.Configuration()
    # One try each: urllib3's own retries would write to the terminal; the commands that wait try again themselves.
    settings.retries = False
    with _messages_of_the_client() as messages:
        loader = _load_kubeconfig(context)
        chosen = loader.current_context["context"]
        loader.load_and_set(settings)  # type: ignore[no-untyped-call]
        if not settings.verify_ssl:
            # The user's own choice (insecure-skip-tls-verify): not to be told again with every request.
            disable_warnings(InsecureRequestWarning)
        if messages and not settings.api_key and not settings.cert_file:
            raise _no_credentials(messages)
        api = client.ApiClient(settings)
        try:
            yield Cluster(
                api=api, namespace=namespace or chosen.get("namespace") or _DEFAULT_NAMESPACE, server=settings.host
            )
        finally:
            api.close()  # type: ignore[no-untyped-call]


def _load_kubeconfig(context: str | None) -> "KubeConfigLoader":
    from kubernetes.config import ConfigException
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

    path = os.environ.get("KUBECONFIG") or _DEFAULT_KUBECONFIG
    try:
        merged = KubeConfigMerger(path).config  # type: ignore[no-untyped-call]
        if merged is None:
            raise ClusterError(f"there is no kubeconfig at {path}; {_WRITE_ONE}")
        names = [each["name"] for each in merged.value.get("contexts") or []]
        if context is not None and context not in names:
            raise unknown_name("--context", context, names) if names else _broken(path, "it has no context")
        return KubeConfigLoader(config_dict=merged, active_context=context)  # type: ignore[no-untyped-call]
    except (ConfigException, yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        raise _broken(path, " ".join(str(error).split())) from error
    except (AttributeError, KeyError, TypeError) as error:
        raise _broken(path, "it has not the form of one") from error


def _broken(path: str, why: str) -> ClusterError:
    return ClusterError(f"the kubeconfig {path} cannot be used: {why}; {_WRITE_ONE}")


def _no_credentials(messages: list[str]) -> ClusterError:
    why = " ".join(" ".join(messages).split())
    return ClusterError(
        f"the program that the kubeconfig names for credentials failed: {why}; is it installed (for EKS: the AWS CLI), "
        "and are you logged in ('aws sso login', AWS_PROFILE)?"
    )


@contextmanager
def _messages_of_the_client() -> Iterator[list[str]]:
    """Keeps what the client logs off the terminal; it logs the failures of a program for credentials, and goes on."""
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
