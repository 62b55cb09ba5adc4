"""The answers of the fake cluster, in the form and the words of the real API server."""

import json
import re
import ssl
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.workloads.cluster.fake_admission import admit
from tests.workloads.cluster.fake_cluster import FakeCluster

_PATH = re.compile(
    r"/(?:api|apis)/(?P<version>v1|[^/]+/[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?(?:/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?P<log>/log)?)?)?"
)
_PATCHES = ("application/merge-patch+json", "application/apply-patch+yaml", "application/strategic-merge-patch+json")


def status(code: int, reason: str, message: str, **details: str) -> tuple[int, dict[str, Any]]:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return code, body | {"reason": reason, "details": details, "code": code}


class Handler(BaseHTTPRequestHandler):
    """One request; `cluster` is set by `serve`."""

    protocol_version = "HTTP/1.1"
    cluster: FakeCluster
    warning: str | None = None

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output clean."""

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PATCH = do_DELETE = do_GET

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        address = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        self.cluster.requests.append(f"{self.command} {self.path}")
        if self.cluster.page:
            return self._send(*self.cluster.page, "text/html")
        if self._fail(address.path):
            return None
        if self.command == "GET" and (steps := self.cluster.before_get.get(address.path)):
            steps.pop(0)()
        match = _PATH.fullmatch(address.path)
        if match is None or match["version"] not in self.cluster.kinds:
            self._send(404, b"404 page not found\n", "text/plain")
        elif match["log"]:
            self._send_log(match, query)
        else:
            body = yaml.safe_load(raw) if raw else None
            code, answer = getattr(self, f"_{self.command.lower()}")(match, address.path, query, body)
            self._send(code, json.dumps(answer).encode())
        return None

    def _fail(self, path: str) -> bool:
        for failure in self.cluster.failures:
            if failure.times and failure.path in path and failure.method in self.command:
                if failure.skipped:
                    failure.skipped -= 1
                    continue
                failure.times -= 1
                if failure.what == "hang":
                    self.cluster.released.wait(20)
                elif isinstance(failure.what, int):
                    reason = HTTPStatus(failure.what).phrase
                    code, answer = status(failure.what, reason, failure.message or reason)
                    self._send(code, json.dumps(answer).encode())
                # A failed request does not end the connection; the next one of the client uses it.
                self.close_connection = not isinstance(failure.what, int)
                return True
        return False

    def _get(self, match: re.Match[str], path: str, query: dict[str, str], body: Any) -> tuple[int, dict[str, Any]]:
        if match["plural"] is None:
            rows = self.cluster.kinds[match["version"]]
            entries = [{"name": plural, "kind": kind, "namespaced": inside} for plural, kind, inside in rows]
            entries += [{"name": f"{row[0]}/status", "kind": row[1], "namespaced": row[2]} for row in rows]
            return 200, {"kind": "APIResourceList", "groupVersion": match["version"], "resources": entries}
        kind = self._kind(match)
        if kind is None:
            return status(404, "NotFound", "the server could not find the requested resource")
        if match["name"]:
            return self._found(match, path)
        items = [each for each in self.cluster.objects.values() if self._is_listed(each, kind, match, query)]
        # As in the real one, the items have no kind.
        bare = [{key: value for key, value in each.items() if key not in ("kind", "apiVersion")} for each in items]
        return 200, {"kind": f"{kind}List", "apiVersion": match["version"], "items": bare}

    def _post(self, match: re.Match[str], path: str, query: dict[str, str], body: Any) -> tuple[int, dict[str, Any]]:
        kind = self._kind(match)
        place = match["namespace"]
        if body["kind"] != kind or body["metadata"].get("namespace", place) != place:
            return status(400, "BadRequest", "the object does not match the address that it was sent to")
        if f"/api/v1/namespaces/{place}" not in self.cluster.objects:
            return status(404, "NotFound", f'namespaces "{place}" not found', name=place, kind="namespaces")
        warning = None
        if kind == "Pod":
            body["metadata"].setdefault("name", f"{body['metadata'].get('generateName')}x7k2f")
            rejected, warning = admit(body, place, self.cluster.objects)
            if rejected:
                return status(*rejected, name=body["metadata"]["name"], kind="pods")
        # The client shows no warning, as for a namespace that only warns.
        self.warning = warning
        name = body["metadata"]["name"]
        if f"{path}/{name}" in self.cluster.objects:
            return status(409, "AlreadyExists", f'{self._title(match)} "{name}" already exists', name=name)
        if query.get("dryRun") != "All":
            self.cluster.add(body, namespace=place)
        return 201, body

    def _patch(self, match: re.Match[str], path: str, query: dict[str, str], body: Any) -> tuple[int, dict[str, Any]]:
        form = self.headers["Content-Type"]
        if form not in _PATCHES:
            return status(415, "UnsupportedMediaType", f"the body of the request was in an unknown format - {form}")
        if form == "application/apply-patch+yaml":
            if not query.get("fieldManager"):
                return status(422, "Invalid", "fieldManager is required for apply patch")
            if query.get("dryRun") != "All":
                self.cluster.add(body, namespace=match["namespace"])
            return 200, body
        if path not in self.cluster.objects:
            return self._found(match, path)
        _merge(self.cluster.objects[path], body)
        return 200, self.cluster.objects[path]

    def _delete(self, match: re.Match[str], path: str, query: dict[str, str], body: Any) -> tuple[int, dict[str, Any]]:
        code, answer = self._found(match, path)
        if code == 200:
            if query.get("propagationPolicy") != "Background":
                return status(400, "BadRequest", "the pods of this job would stay")
            del self.cluster.objects[path]
        return code, answer

    def _found(self, match: re.Match[str], path: str) -> tuple[int, dict[str, Any]]:
        if found := self.cluster.objects.get(path):
            return 200, found
        return status(404, "NotFound", f'{self._title(match)} "{match["name"]}" not found', name=match["name"])

    def _kind(self, match: re.Match[str]) -> str | None:
        rows = self.cluster.kinds[match["version"]]
        return next((kind for plural, kind, _ in rows if plural == match["plural"]), None)

    def _title(self, match: re.Match[str]) -> str:
        group, slash, _ = match["version"].rpartition("/")
        return f"{match['plural']}.{group}" if slash else str(match["plural"])

    def _is_listed(self, each: dict[str, Any], kind: str, match: re.Match[str], query: dict[str, str]) -> bool:
        if each["kind"] != kind or match["namespace"] not in (None, each["metadata"].get("namespace")):
            return False
        labels = each["metadata"].get("labels") or {}
        wanted = [term.split("=") for term in query.get("labelSelector", "").split(",") if term]
        fields = [term.split("=") for term in query.get("fieldSelector", "").split(",") if term]
        return all(labels.get(key) == value for key, value in wanted) and all(each[key] == v for key, v in fields)

    def _send(self, code: int, body: bytes, form: str = "application/json") -> None:
        self.send_response(code)
        self.send_header("Content-Type", form)
        self.send_header("Content-Length", str(len(body)))
        if self.warning:
            self.send_header("Warning", f'299 - "{self.warning}"')
            self.warning = None
        self.end_headers()
        self.wfile.write(body)

    def _send_log(self, match: re.Match[str], query: dict[str, str]) -> None:
        pod = self.cluster.objects.get(self.path.partition("/log")[0])
        log = self.cluster.logs.get(match["name"])
        if pod is None or log is None:
            code, answer = status(404, "NotFound", f'pods "{match["name"]}" not found', name=match["name"])
            return self._send(code, json.dumps(answer).encode())
        if query.get("container") not in [each["name"] for each in pod["spec"]["containers"]]:
            code, answer = status(400, "BadRequest", "container is not valid for pod")
            return self._send(code, json.dumps(answer).encode())
        if reason := waits(pod, query["container"]):
            code, answer = status(400, "BadRequest", f'container "{query["container"]}" in pod {reason}')
            return self._send(code, json.dumps(answer).encode())
        # The kubelet knows this time to the second only.
        since = query.get("sinceTime", "")[:19]
        lines = [line for line in log.lines if line[0][:19] >= since]
        lines = lines[len(lines) - int(query["tailLines"]) :] if "tailLines" in query else lines
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        left = int(query.get("limitBytes", 2**40))
        for number, (time, text) in enumerate(lines):
            if log.breaks and log.break_after and log.break_after == number:
                log.breaks -= 1
                self.close_connection = True
                return None
            line = f"{time} {text}\n".encode()[:left]
            left -= len(line)
            # In two pieces: a line may arrive in parts.
            for piece in (line[:7], line[7:]):
                # An empty one would end the answer.
                if piece:
                    self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if query.get("follow") and log.open_for:
            log.open_for.wait(20)
        if log.at_end:
            log.at_end()
        with suppress(OSError):
            self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that closed its connection."""


def serve(cluster: FakeCluster, certificate: Path | None = None) -> Server:
    """Start the server on a free port; with TLS if there is a certificate (with its key in the same file)."""
    server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"cluster": cluster}))
    if certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server


def waits(pod: dict[str, Any], container: str) -> str | None:
    """Return why a container has no log yet, as the kubelet says it."""
    for each in (pod.get("status") or {}).get("containerStatuses") or []:
        if each["name"] == container and "waiting" in each.get("state", {}) and not each.get("restartCount"):
            return f'"{pod["metadata"]["name"]}" is waiting to start: {each["state"]["waiting"]["reason"]}'
    return None


def _merge(target: dict[str, Any], change: dict[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict):
            _merge(target.setdefault(key, {}), value)
        else:
            target[key] = value
