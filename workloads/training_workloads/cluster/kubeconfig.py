"""Connect to the cluster of the user's kubeconfig."""

import logging
import os
import re
import ssl
import sys
from binascii import Error as Base64Error
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

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
_SERVER_SCHEMES = ("http", "https")
_SOCKS_SCHEMES = ("socks4", "socks4a", "socks5", "socks5h")


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
        chosen = _read_kubeconfig(context, settings)
        if messages and not settings.api_key and not settings.cert_file:
            raise _no_credentials(messages)
        _check_proxy(settings)
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


def _read_kubeconfig(context: str | None, settings: "Configuration") -> dict[str, Any]:
    """Set the server and the credentials of a context; return the context."""
    path = os.environ.get("KUBECONFIG") or _DEFAULT_KUBECONFIG
    with _mistakes(path):
        loader = _loader(path, context)
        loader.load_and_set(settings)  # type: ignore[no-untyped-call]
        # The client rejects the line's end of a file with a token, which kubectl removes.
        if token := getattr(loader, "token", ""):
            loader.token = token.strip()
            if not (loader.token.isascii() and loader.token.isprintable()):
                raise _unusable(path, "its token has characters that no token has")
        _check_server(path, settings)
        _check_certificates(path, settings)
        return dict(loader.current_context["context"])


def _loader(path: str, context: str | None) -> "KubeConfigLoader":
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

    merged = KubeConfigMerger(path).config  # type: ignore[no-untyped-call]
    if merged is None:
        raise ClusterError(f"there is no kubeconfig at {path}", _WRITE_ONE)
    names = [each["name"] for each in merged.value.get("contexts") or []]
    if context is not None and context not in names:
        raise InputError(*unknown("context", context, names)) if names else _unusable(path, "it has no context")
    return KubeConfigLoader(config_dict=merged, active_context=context)  # type: ignore[no-untyped-call]


@contextmanager
def _mistakes(path: str) -> Iterator[None]:
    """Report the exceptions of the client for a damaged kubeconfig, and for files that it names."""
    from kubernetes.config import ConfigException

    try:
        yield
    except InputError:
        raise
    except Base64Error as error:
        raise _unusable(path, f"a '...-data' value in it is not base64 ({error})") from error
    except OSError as error:
        raise _unusable(path, f"{error.filename} cannot be read ({error.strerror})") from error
    except (ConfigException, yaml.YAMLError, UnicodeDecodeError) as error:
        raise _unusable(path, " ".join(str(error).split())) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise _unusable(path, "it does not have the form of a kubeconfig") from error


def _check_server(path: str, settings: "Configuration") -> None:
    if not settings.host:
        raise _unusable(path, "it has no server for this context")
    if not _is_address(settings.host, _SERVER_SCHEMES):
        example = "https://<id>.<region>.eks.amazonaws.com"
        raise _unusable(path, f"its server is {settings.host!r}, and not an address such as {example}")


def _check_proxy(settings: "Configuration") -> None:
    from kubernetes.client.rest import should_bypass_proxies

    if not settings.proxy or should_bypass_proxies(settings.host, settings.no_proxy or ""):
        settings.proxy = None
        return
    # urllib3 needs PySocks for them.
    schemes = (*_SERVER_SCHEMES, *(_SOCKS_SCHEMES if find_spec("socks") else ()))
    if not _is_address(settings.proxy, schemes):
        raise ClusterError(
            f"the proxy is {_without_password(settings.proxy)!r}, and not an address that begins with {':// or '.join(schemes)}://",
            "give one such as http://proxy.example.com:3128 in HTTPS_PROXY, or as proxy-url in the kubeconfig",
        )


def _without_password(address: str) -> str:
    return re.sub(r"[^/]*@", "", address)


def _is_address(value: Any, schemes: tuple[str, ...]) -> bool:
    """Return whether the client can connect to an address."""
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    try:
        url = parse_url(str(value))
    except LocationParseError:
        return False
    return url.scheme in schemes and bool(url.host) and url.port != 0


def _check_certificates(path: str, settings: "Configuration") -> None:
    """Reject files that the client would only read with the first request, and then name none of them."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    name, form = "certificate-authority", "it is not a certificate in PEM form"
    try:
        if settings.ssl_ca_cert:
            tls.load_verify_locations(settings.ssl_ca_cert)
        name = "client-certificate or client-key"
        form = "they are not a certificate and its key, without a password, in PEM form"
        if settings.cert_file:
            # Without a password OpenSSL would prompt for that of an encrypted key.
            tls.load_cert_chain(settings.cert_file, settings.key_file, password="")
    except OSError as error:
        why = form if isinstance(error, ssl.SSLError) else error.strerror
        raise _unusable(path, f"its {name} cannot be used ({why})") from error


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
    """Collect the log of the client instead of showing it: the failure of a program for credentials is in it."""
    messages: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            # On a terminal the client lets the program print its errors there, and then fails to read them.
            is_shown = isinstance(sys.exception(), AttributeError) and sys.stdout.isatty()
            messages.append("its output is above" if is_shown else record.getMessage())

    collector = Collector()
    logging.getLogger().addHandler(collector)
    try:
        yield messages
    finally:
        logging.getLogger().removeHandler(collector)
