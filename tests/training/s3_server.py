"""S3 on the loopback: moto's S3 behind an HTTP server, with faults that a test can enable."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from botocore.config import Config
from moto.core.botocore_stubber import BotocoreStubber
from moto.s3.models import s3_backends

# It keeps the model of S3, which is read in 0.2 s.
_SESSION = boto3.Session()
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}


class S3Server:
    """The server, a client for its content, and counters of its requests."""

    def __init__(self) -> None:
        self.gets: Counter[str] = Counter()
        """The number of requests for the content of each key."""
        self.seconds_per_get = 0.0
        self.flipped: set[str] = set()
        """Keys whose content arrives with one bit changed."""
        self.broken: Counter[str] = Counter()
        """Keys and how many times their connection breaks."""
        self.denied: dict[str, str] = {}
        """Error codes by key, or by the bucket's name."""
        self.most_at_once = 0
        self._at_once = 0
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def environment(self) -> Mapping[str, str]:
        return {**_CREDENTIALS, "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self._server.server_port}"}

    @cached_property
    def client(self) -> Any:
        return _SESSION.client(
            "s3",
            endpoint_url=self.environment["AWS_ENDPOINT_URL_S3"],
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            # No checksum but where a test asks for one: objects from before 2025 have none.
            config=Config(request_checksum_calculation="when_required"),
        )

    def close(self) -> None:
        self.client.close()
        self._server.shutdown()
        self._server.server_close()
        for backends in s3_backends.values():
            for backend in backends.values():
                backend.reset()

    def enter(self, key: str) -> None:
        with self.lock:
            self.gets[key] += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        time.sleep(self.seconds_per_get)
        with self.lock:
            self._at_once -= 1


def _handler(server: S3Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            key = self.path.partition("?")[0].lstrip("/").partition("/")[2]
            if code := server.denied.get(key or self.path.lstrip("/").partition("?")[0]):
                return self.deny(code)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = HTTPHeaders()
            for name, value in self.headers.items():
                headers[name] = value
            # HEAD as GET without its content: moto's HEAD has no number of parts of a checksum, and its GET has no
            # parts.
            method = "GET" if self.command == "HEAD" and "partNumber=" not in self.path else self.command
            url = f"https://s3.us-east-1.amazonaws.com{self.path}"
            response = BotocoreStubber().process_request(AWSPreparedRequest(method, url, headers, body, False))
            assert response is not None
            status, answer, content = response
            content = content.encode() if isinstance(content, str) else content
            self.send(status, answer, content, key)

        def send(self, status: int, answer: Mapping[str, Any], content: bytes, key: str) -> None:
            is_content = self.command == "GET" and key and status in (200, 206)
            self.send_response(status)
            for name, value in answer.items():
                if name.lower() not in ("content-length", "connection", "date", "server"):
                    self.send_header(name, str(value))
            length = len(content) or next((v for name, v in answer.items() if name.lower() == "content-length"), 0)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            if is_content:
                server.enter(key)
                if key in server.flipped:
                    content = bytes([content[0] ^ 1]) + content[1:]
                if server.broken[key] > 0:
                    server.broken[key] -= 1
                    self.wfile.write(content[: len(content) // 2])
                    self.close_connection = True
                    return
            if self.command != "HEAD":
                self.wfile.write(content)

        def deny(self, code: str) -> None:
            status = {"NoSuchBucket": 404}.get(code, 403)
            content = f"<Error><Code>{code}</Code><Message>from the test</Message></Error>".encode()
            self.send(status, {"Content-Type": "application/xml"}, content, "")

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    return Handler
