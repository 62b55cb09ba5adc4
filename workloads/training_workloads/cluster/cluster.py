"""What the commands ask of a cluster: objects as plain dicts, and the logs of its pods."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from training_workloads.cluster.failures import (
    NotFoundError,
    is_web_page,
    not_kubernetes,
    refusal,
    transport_failure,
    unknown_resource,
)
from training_workloads.cluster.resources import PODS, Resource, api_path

if TYPE_CHECKING:
    from kubernetes.client import ApiClient
    from kubernetes.client.rest import RESTResponse

__all__ = ["Cluster"]

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 30

# A launcher that compiles or evaluates writes nothing for minutes, and so does a connection that died unnoticed: after
# this time the log is asked for again.
_SILENT_LOG_SECONDS = 60

_FIELD_MANAGER = "training-workloads"
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """A connection to a cluster.

    Every method raises ClusterError where the cluster cannot be reached or refuses.

    Attributes:
        api: The Kubernetes client.
        namespace: Where objects are looked for that name none.
        server: The API server's address.
    """

    api: "ApiClient"
    namespace: str
    server: str

    def get(self, resource: Resource, name: str) -> dict[str, Any] | None:
        """One object, or `None` if it does not exist."""
        try:
            return self._ask("GET", "get", resource, name)
        except NotFoundError:
            return None

    def objects(
        self, resource: Resource, *, all_namespaces: bool = False, labels: str = "", fields: str = ""
    ) -> list[dict[str, Any]]:
        """Every object of a kind.

        Args:
            resource: The kind.
            all_namespaces: Not only those of the namespace.
            labels: A label selector.
            fields: A field selector.
        """
        namespace = None if all_namespaces else self.namespace
        query = {"labelSelector": labels, "fieldSelector": fields}
        response = self._send("GET", "list", resource, resource.path(namespace), namespace, query=query)
        return list(self._read(response)["items"])

    def create(self, resource: Resource, document: dict[str, Any], *, dry_run: bool = False) -> None:
        """Makes an object; one of that name must not exist.

        Args:
            resource: The kind.
            document: The object.
            dry_run: The cluster checks everything and keeps nothing.
        """
        path = resource.path(self.namespace)
        query = {"fieldManager": _FIELD_MANAGER, "dryRun": "All" if dry_run else ""}
        self._read(self._send("POST", "create", resource, path, self.namespace, query=query, body=document))

    def apply(self, resource: Resource, document: dict[str, Any], *, dry_run: bool = False) -> None:
        """Makes an object, or brings the one of that name into the document's form (server-side apply).

        Args:
            resource: The kind.
            document: The object.
            dry_run: The cluster checks everything and keeps nothing.
        """
        query = {"fieldManager": _FIELD_MANAGER, "dryRun": "All" if dry_run else ""}
        self._ask("PATCH", "patch", resource, document["metadata"]["name"], query=query, body=document, form=_APPLY)

    def merge(self, resource: Resource, name: str, change: dict[str, Any]) -> None:
        """Changes fields of an object."""
        self._ask("PATCH", "patch", resource, name, query={}, body=change, form=_MERGE)

    def delete(self, resource: Resource, name: str) -> bool:
        """Deletes an object, and what it owns in the background; says whether it existed."""
        try:
            # Left to the server's default, the pods of a batch Job would stay.
            self._ask("DELETE", "delete", resource, name, query={"propagationPolicy": "Background"})
        except NotFoundError:
            return False
        return True

    def resource_of(self, document: dict[str, Any]) -> Resource:
        """The kind of a manifest's document, as the cluster knows it."""
        api_version, kind = document["apiVersion"], document["kind"]
        wanted = Resource(api_version=api_version, kind=kind, plural=f"{kind.lower()}s")
        response = self._send("GET", "get", wanted, api_path(api_version), self.namespace)
        for entry in self._read(response)["resources"]:
            if entry["kind"] == kind and "/" not in entry["name"]:
                return Resource(
                    api_version=api_version, kind=kind, plural=entry["name"], namespaced=entry["namespaced"]
                )
        raise unknown_resource(wanted)

    def log(self, pod: str, container: str, *, follow: bool, query: Mapping[str, str]) -> Iterator[str]:
        """Lines of a container's log, each with its time before it.

        Args:
            pod: Name of the pod.
            container: Name of the container in it.
            follow: Go on as it grows; ends with the container, and after a minute of silence.
            query: `tailLines` or `sinceTime`.
        """
        query = {"container": container, "timestamps": "true", "follow": "true" if follow else "", **query}
        path = f"{PODS.path(self.namespace, pod)}/log"
        patience = _SILENT_LOG_SECONDS if follow else None
        response = self._send("GET", "get", PODS, path, self.namespace, query=query, patience=patience)
        yield from self._lines(response)

    def _lines(self, response: "RESTResponse") -> Iterator[str]:
        from urllib3.exceptions import ReadTimeoutError

        rest = b""
        try:
            with self._failures(), suppress(ReadTimeoutError):
                for chunk in response.response.stream(amt=None, decode_content=True):
                    *lines, rest = (rest + chunk).split(b"\n")
                    yield from (line.decode(errors="replace") for line in lines)
        finally:
            response.response.close()
        if rest:
            yield rest.decode(errors="replace")

    def _ask(
        self,
        method: str,
        verb: str,
        resource: Resource,
        name: str,
        *,
        query: Mapping[str, str] | None = None,
        body: dict[str, Any] | None = None,
        form: str | None = None,
    ) -> dict[str, Any]:
        """Asks for one object by its name."""
        path = resource.path(self.namespace, name)
        return self._read(self._send(method, verb, resource, path, self.namespace, query=query, body=body, form=form))

    def _read(self, response: "RESTResponse") -> dict[str, Any]:
        with self._failures():
            body = response.response.data
        try:
            answer = json.loads(body)
        except ValueError as error:
            raise not_kubernetes(self.server) from error
        if not isinstance(answer, dict) or "kind" not in answer:
            raise not_kubernetes(self.server)
        return answer

    @contextmanager
    def _failures(self) -> Iterator[None]:
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            yield
        except (ApiException, HTTPError) as error:
            raise transport_failure(error, self.server) from error

    def _send(
        self,
        method: str,
        verb: str,
        resource: Resource,
        path: str,
        namespace: str | None,
        *,
        query: Mapping[str, str] | None = None,
        body: dict[str, Any] | None = None,
        form: str | None = None,
        patience: float | None = None,
    ) -> "RESTResponse":
        """Sends a request and returns the answer if it is a success; its body is still to be read."""
        request = self.api.param_serialize(
            method,
            path,
            query_params=[(key, value) for key, value in (query or {}).items() if value],
            header_params={"Accept": "application/json, */*", "Content-Type": form or "application/json"},
            body=body,
            auth_settings=["BearerToken"],
        )
        with self._failures():
            response = self.api.call_api(*request, _request_timeout=(_CONNECT_SECONDS, patience or _ANSWER_SECONDS))
            if response.status < HTTPStatus.BAD_REQUEST:
                return response
            answer = response.response.data
        # What is between here and the cluster may be away for a moment, and say so with a page too.
        if response.status < HTTPStatus.INTERNAL_SERVER_ERROR and is_web_page(answer):
            raise not_kubernetes(self.server)
        raise refusal(response.status, answer, verb=verb, resource=resource, namespace=namespace)
