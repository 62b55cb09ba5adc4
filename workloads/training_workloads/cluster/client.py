"""Read and change the objects of a cluster, as plain dicts, and read the logs of its pods."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from training_workloads.cluster.failures import (
    NotFoundError,
    not_kubernetes,
    rejection,
    transport_failure,
    unknown_resource,
)
from training_workloads.cluster.resources import PODS, Resource

if TYPE_CHECKING:
    from kubernetes.dynamic import DynamicClient
    from urllib3 import BaseHTTPResponse

__all__ = ["Cluster"]

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 30

# A launcher that compiles or evaluates writes nothing for minutes, and so does a connection that was lost unnoticed:
# after this time the log is requested again.
_SILENT_LOG_SECONDS = 60

_FIELD_MANAGER = "trainctl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """A connection to a cluster.

    Every method raises ClusterError where the cluster cannot be reached or rejects the request.

    Attributes:
        dynamic: The client of Kubernetes, without its discovery: docs/adr/0013-requests-without-discovery.md.
        namespace: The namespace of objects that name none.
        server: The API server's address.
    """

    dynamic: "DynamicClient"
    namespace: str
    server: str

    def get(self, resource: Resource, name: str) -> dict[str, Any] | None:
        """Return one object, or `None` if it does not exist."""
        try:
            return self._ask("get", resource, "get", name=_quoted(name))
        except NotFoundError:
            return None

    def objects(
        self, resource: Resource, *, all_namespaces: bool = False, labels: str | None = None, fields: str | None = None
    ) -> list[dict[str, Any]]:
        """Return every object of a kind that the selectors of labels and fields allow."""
        selectors = {"label_selector": labels, "field_selector": fields}
        return list(self._ask("list", resource, "get", everywhere=all_namespaces, **selectors)["items"])

    def create(self, resource: Resource, document: dict[str, Any], *, dry_run: bool = False) -> None:
        """Create an object; an object of that name must not exist. A dry run only validates it."""
        self._ask("create", resource, "create", body=document, **_change(dry_run))

    def apply(self, resource: Resource, document: dict[str, Any], *, dry_run: bool = False) -> None:
        """Create or change an object by server-side apply; a dry run only validates it."""
        name = _quoted(document["metadata"]["name"])
        self._ask("patch", resource, "server_side_apply", name=name, body=document, **_change(dry_run))

    def merge(self, resource: Resource, name: str, change: dict[str, Any]) -> None:
        """Change fields of an object."""
        form = "application/merge-patch+json"
        self._ask("patch", resource, "patch", name=_quoted(name), body=change, content_type=form)

    def delete(self, resource: Resource, name: str) -> bool:
        """Delete an object, and in the background what it owns; return whether it existed."""
        try:
            # With the server's default the pods of a batch Job would remain.
            self._ask("delete", resource, "delete", name=_quoted(name), propagation_policy="Background")
        except NotFoundError:
            return False
        return True

    def resource_of(self, document: dict[str, Any]) -> Resource:
        """Return the kind of a manifest's document, as the cluster knows it."""
        api_version, kind = document["apiVersion"], document["kind"]
        wanted = Resource(api_version=api_version, kind=kind, plural=f"{kind.lower()}s")
        with self._failures("get", wanted, self.namespace):
            path = f"/{_prefix(wanted)}/{api_version}"
            answer = self.dynamic.request("get", path, serializer=_plain, _request_timeout=_timeout())
        for entry in self._checked(answer)["resources"]:
            if entry["kind"] == kind and "/" not in entry["name"]:
                return Resource(
                    api_version=api_version, kind=kind, plural=entry["name"], namespaced=entry["namespaced"]
                )
        raise unknown_resource(wanted)

    def log(self, pod: str, container: str, *, follow: bool, query: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of a container's log, each after its time.

        With `follow` this waits for more lines, and ends with the container, and after a minute of silence.
        """
        from urllib3.exceptions import ReadTimeoutError

        options = {"container": container, "timestamps": "true", **({"follow": "true"} if follow else {}), **query}
        with self._failures("get", PODS, self.namespace):
            response = self.dynamic.request(
                "get",
                f"{_address(PODS).path(_quoted(pod), self.namespace)}/log",
                query_params=list(options.items()),
                header_params={"Accept": "application/json, */*"},
                serialize=False,
                _request_timeout=_timeout(_SILENT_LOG_SECONDS if follow else _ANSWER_SECONDS),
            )
            with suppress(ReadTimeoutError) if follow else nullcontext():
                yield from _lines(response)

    def _ask(
        self, verb: str, resource: Resource, method: str, *, everywhere: bool = False, **options: Any
    ) -> dict[str, Any]:
        """Call a method of the client with its options, and return the answer; the verb is that of RBAC."""
        namespace = None if everywhere else self.namespace
        with self._failures(verb, resource, namespace):
            answer = getattr(self.dynamic, method)(
                _address(resource), namespace=namespace, serializer=_plain, _request_timeout=_timeout(), **options
            )
        return self._checked(answer)

    def _checked(self, answer: Any) -> dict[str, Any]:
        if not isinstance(answer, dict) or "kind" not in answer:
            raise not_kubernetes(self.server)
        return answer

    @property
    def _proxy(self) -> str | None:
        proxy: str | None = self.dynamic.configuration.proxy
        return proxy

    @contextmanager
    def _failures(self, verb: str, resource: Resource, namespace: str | None) -> Iterator[None]:
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            yield
        except UnicodeDecodeError as error:
            raise not_kubernetes(self.server) from error
        except HTTPError as error:
            raise transport_failure(error, self.server, self._proxy) from error
        except ApiException as error:
            if not error.status:
                raise transport_failure(error, self.server, self._proxy) from error
            raise rejection(
                error.status, error.body or "", verb=verb, resource=resource, namespace=namespace, server=self.server
            ) from error


def _address(resource: Resource) -> Any:
    """Return a kind in the client's own type."""
    from kubernetes.dynamic.resource import Resource as Address

    return Address(  # type: ignore[no-untyped-call]
        prefix=_prefix(resource),
        group=resource.group,
        api_version=resource.api_version.rpartition("/")[2],
        kind=resource.kind,
        name=resource.plural,
        namespaced=resource.namespaced,
    )


def _prefix(resource: Resource) -> str:
    return "apis" if resource.group else "api"


def _quoted(name: str) -> str:
    """Return a name as one segment of an address: the client does not quote, and reads an empty name as all objects."""
    if not name:
        raise ValueError("an object's name is empty")
    return quote(name, safe="")


def _change(dry_run: bool) -> dict[str, Any]:
    return {"field_manager": _FIELD_MANAGER, **({"dry_run": "All"} if dry_run else {})}


def _timeout(seconds: float | None = None) -> tuple[float, float]:
    return _CONNECT_SECONDS, seconds or _ANSWER_SECONDS


def _plain(_: "DynamicClient", answer: Any) -> Any:
    """Keep the client from wrapping an answer in its own type."""
    return answer


def _lines(response: "BaseHTTPResponse") -> Iterator[str]:
    """Yield the lines of an answer as they arrive."""
    rest = b""
    try:
        for chunk in response.stream(amt=None, decode_content=True):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
        if rest:
            yield rest.decode(errors="replace")
    finally:
        response.close()
