"""The hosts of a job without a launcher: they report to the first one, which decides when ranks start and how all end.

Every host sends the first one a report each second, an HTTP request, and gets the decision so far as the answer. So
each host ends with the same exit code and the same reason, whichever is lost:

- A host that does not report at the start is named after a limit, and no rank starts.
- A host whose ranks have failed ends the others' ranks.
- A host that is lost without a word, such as by its network, ends the job after `LOST_SECONDS`. Gloo's and NCCL's
  connections to it would stay open, and its ranks' watchdogs would take ten minutes.
- Without the first host the others end by themselves: after `GONE_SECONDS` if its machine rejects connections, which
  its ended program does, else after `LOST_SECONDS`.

Every host may reach every port of the others: the ranks need that too. So may the hosts of other jobs, which share the
security group. Reports and answers are signed with a key that the hosts of one job have.
"""

import hashlib
import hmac
import http.client
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from training.pods import first_process
from training.pods.failure_reason import is_of_others
from training.pods.reminder import Reminder
from training.runtime import listing
from training.runtime.errors import USER_ERROR

#: The first host's port for reports. It and those after it are below the ports of outgoing connections (from 32768).
PORT = 23400

#: A host that has been silent for so long is lost.
LOST_SECONDS = 60.0

#: The first host is lost if it rejects connections for so long.
GONE_SECONDS = 10.0

# After the first failure, the time for the ranks of other hosts to fail too: the cause may be there.
_SETTLE_SECONDS = 10.0

_PAUSE_SECONDS = 1.0

# The first host's own limit comes first, with the names of those that are missing.
_MARGIN_SECONDS = 15.0

#: The variable with the key of a job, in any form.
KEY = "TRAINING_REPORT_KEY"

_SIGNATURE = "X-Signature"

_REQUEST_SECONDS = 5.0
_MOST_BYTES = 65536
_NAMED = 3

_WHETHER = (
    "whether its container has started, and whether the security group lets the hosts reach each other on every port"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The state of a host, as it reports it."""

    host: str
    code: int | None = None
    """Exit code of its ranks; None before their end."""
    reason: str = ""
    """Reason of a code that is not 0."""

    @classmethod
    def read(cls, text: bytes) -> Self:
        """Return the report that a request has.

        Raises:
            ValueError, TypeError, RecursionError: It is not a report.
        """
        found = cls(**json.loads(text))
        if not isinstance(found.reason, str) or type(found.code) not in (int, type(None)):
            raise ValueError(text)
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """The state of the job, as the first host answers it."""

    missing: tuple[str, ...] = ()
    """Hosts that have not reported yet; the ranks start when there is none."""
    code: int | None = None
    """Exit code of every host; None as long as the job runs."""
    reason: str = ""


@dataclass(slots=True)
class HostReports:
    """The reports of all hosts, as the first one gets them."""

    hosts: Sequence[str]
    start_seconds: float
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)
    _last: dict[str, float] = field(default_factory=dict, init=False)
    _ended: dict[str, Report] = field(default_factory=dict, init=False)
    _started: bool = field(default=False, init=False)
    _failed_at: float | None = field(default=None, init=False)
    _decision: Decision = field(default_factory=Decision, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        """Begin the time in which the hosts must report."""
        self._began = self.clock()

    def take(self, report: Report) -> Decision:
        """Return the decision after a report."""
        with self._lock:
            now = self._last[report.host] = self.clock()
            if report.code is not None:
                self._ended.setdefault(report.host, report)
            if self._decision.code is None:
                self._decision = self._decide(now)
            return self._decision

    def listening(self) -> set[str]:
        """Return the hosts that will ask for the decision: they have reported lately, or still have time to come."""
        with self._lock:
            now = self.clock()
            # A host that has reported its end is alive; one whose ranks still run may be the lost one.
            limit = {host: LOST_SECONDS if host in self._ended else _SETTLE_SECONDS / 2 for host in self._last}
            lately = {host for host, last in self._last.items() if now - last <= limit[host]}
            in_time = now - self._began <= self.start_seconds
            return lately | {host for host in self.hosts if host not in self._last and in_time}

    def _decide(self, now: float) -> Decision:
        missing = tuple(host for host in self.hosts if host not in self._last)
        failed = [report for report in self._ended.values() if report.code]
        self._started = self._started or not (missing or failed)
        if failed:
            return self._after_failure(failed, now) or Decision(missing=missing)
        if len(self._ended) == len(self.hosts):
            return Decision(code=0)
        if missing and now - self._began > self.start_seconds:
            return Decision(code=1, reason=self._too_late(missing))
        lost = self._silent(now, LOST_SECONDS)
        return Decision(code=1, reason=_lost(lost)) if lost else Decision(missing=missing)

    def _after_failure(self, failed: Sequence[Report], now: float) -> Decision | None:
        """Return the end of the job; None while the ranks of other hosts have time to fail too."""
        if not self._started:
            return self._failure(failed, {})
        self._failed_at = now if self._failed_at is None else self._failed_at
        if len(self._ended) < len(self.hosts) and now - self._failed_at <= _SETTLE_SECONDS:
            return None
        return self._failure(failed, self._silent(now, _SETTLE_SECONDS / 2))

    def _silent(self, now: float, seconds: float) -> dict[str, float]:
        """Return for how long each host has been silent that runs, if for longer than some seconds."""
        running = [host for host in self.hosts if host in self._last and host not in self._ended]
        return {host: now - self._last[host] for host in running if now - self._last[host] > seconds}

    def _failure(self, failed: Sequence[Report], lost: dict[str, float]) -> Decision:
        """Return the end by the report that names the cause, not by those of ranks that have lost others."""
        # A mistake that all ranks see is printed by rank zero alone, so by the first host.
        rejected = sorted(
            (report for report in failed if report.code == USER_ERROR), key=lambda report: self.hosts.index(report.host)
        )
        own = [report for report in failed if not is_of_others(report.reason)]
        cause = (rejected or own or failed)[0]
        reason = f"{cause.host}: {cause.reason}"
        if lost and not rejected:
            return Decision(code=1, reason=f"{_lost(lost)}; {reason}")
        return Decision(code=cause.code, reason=reason)

    def _too_late(self, missing: Sequence[str]) -> str:
        named = listing.first(list(missing), _NAMED, ", ")
        return (
            f"{len(missing)} of {len(self.hosts)} hosts did not report within {self.start_seconds:g} s: {named}. "
            f"Check in the job's log of such a host {_WHETHER}"
        )


def _lost(hosts: dict[str, float]) -> str:
    return (
        f"lost: {listing.first([f'{host}, silent for {since:.0f} s' for host, since in hosts.items()], _NAMED, '; ')}"
    )


def _signature(key: str, *parts: bytes) -> str:
    """Return the signature of a report; or of an answer, with the report before it, whose answer it is."""
    return hmac.new(key.encode(), b"\0".join(parts), hashlib.sha256).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    """Answers a report with the decision."""

    server: "_Server"
    timeout = _REQUEST_SECONDS

    def do_POST(self) -> None:
        """Take a report."""
        try:
            length = int(self.headers.get("Content-Length", 0))
            # A negative number would read without an end, before the signature is known.
            if not 0 <= length <= _MOST_BYTES:
                raise ValueError(length)
            text = self.rfile.read(length)
            # In bytes: compare_digest takes no other text than ASCII.
            given = self.headers.get(_SIGNATURE, "").encode()
            if not hmac.compare_digest(given, _signature(self.server.key, text).encode()):
                self.send_error(403)
                return
            report = Report.read(text)
            if report.host not in self.server.reports.hosts:
                raise ValueError(report.host)
        except (ValueError, TypeError, RecursionError):
            self.send_error(400)
            return
        # Always the address of its first report: which of its addresses a host sends from, its name does not say.
        if self.server.senders.setdefault(report.host, self.client_address[0]) != self.client_address[0]:
            self.send_error(403)
            return
        decision = self.server.reports.take(report)
        body = json.dumps(asdict(decision)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header(_SIGNATURE, _signature(self.server.key, text, body))
        self.end_headers()
        self.wfile.write(body)
        if decision.code is not None:
            self.server.told.add(report.host)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the log is that of the ranks."""


class _Server(ThreadingHTTPServer):
    """The first host's server; all hosts may ask at once."""

    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, reports: HostReports, key: str) -> None:
        super().__init__(("", PORT), _Handler)
        self.reports, self.key = reports, key
        # The first host's own reports do not come over the network.
        self.senders = {reports.hosts[0]: ""}
        self.told = set[str]()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a host that is lost within a report: it is silent from now on, or reports again."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@dataclass(slots=True)
class Host:
    """This host, on its way from its first report to the end of the job."""

    name: str
    hosts: Sequence[str]
    start_seconds: float
    key: str = ""
    """Key of the job; a job of one host has no reports to sign."""
    _server: _Server | None = field(default=None, init=False)
    _answered: float = field(default_factory=time.monotonic, init=False)
    _reached: bool = field(default=False, init=False)
    _started: bool = field(default=False, init=False)
    _alone: bool = field(default=False, init=False)
    _end: Decision | None = field(default=None, init=False)
    _finished: threading.Event = field(default_factory=threading.Event, init=False)
    _watch: threading.Thread | None = field(default=None, init=False)

    @property
    def first(self) -> str:
        """The name of the first host."""
        return self.hosts[0]

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Take the reports of all hosts during the block, if this is the first one."""
        if self.name != self.first:
            yield
            return
        self._server = _Server(HostReports(self.hosts, self.start_seconds), self.key)
        with self._server:
            with first_process.signals_blocked():
                threading.Thread(target=self._server.serve_forever, name="host-reports", daemon=True).start()
            yield
            self._server.shutdown()

    def wait_for_start(self) -> bool:
        """Wait until every host has reported; return whether all have before the job ended."""
        reminder = Reminder()
        while True:
            decision = self._follow(Report(host=self.name))
            if decision.code is not None:
                return False
            if not decision.missing:
                self._started = True
                return True
            waiting = len(decision.missing)
            if reminder.is_due(waiting):
                print(f"waiting for {waiting} of {len(self.hosts)} hosts, such as {decision.missing[0]}", flush=True)
            time.sleep(_PAUSE_SECONDS)

    def watch(self, end_ranks: Callable[[], None]) -> None:
        """Report from now on that the ranks run; end them, again and again, when the job ends without them."""

        def watch() -> None:
            while not self._finished.wait(_PAUSE_SECONDS):
                if self._follow(Report(host=self.name)).code is not None:
                    end_ranks()

        self._watch = threading.Thread(target=watch, name="host-watch", daemon=True)
        with first_process.signals_blocked():
            self._watch.start()

    def finish(self, code: int | None = None, reason: str = "") -> Decision:
        """Report the end of this host's ranks and return the end of the job, when it is decided.

        Args:
            code: Exit code of the ranks; None if none has started.
            reason: Reason of a code that is not 0.
        """
        self._finished.set()
        if self._watch:
            self._watch.join()
        report = Report(host=self.name, code=code, reason=reason)
        while (decision := self._follow(report)).code is None:
            time.sleep(_PAUSE_SECONDS / 2)
        if self._server:
            self._wait_for_others(self._server)
        if code and decision.code == 0:
            # The first host has this host's report, so this answer is not from it.
            decision = Decision(code=code, reason=reason)
        # The first host does not know why the ranks of this one have failed.
        return replace(decision, reason=f"{decision.reason}; {reason}") if self._alone and reason else decision

    def _wait_for_others(self, server: _Server) -> None:
        """Return when the others that are not lost know the end; they ask each second."""
        while server.reports.listening() - server.told - {self.name}:
            time.sleep(_PAUSE_SECONDS / 10)

    def _follow(self, report: Report) -> Decision:
        """Return the decision of the first host, or that of this host where the first one is lost."""
        if self._end is None:
            try:
                decision = self._ask(report)
            except (OSError, http.client.HTTPException, ValueError) as error:
                return self._without_first(error)
            self._answered, self._reached = time.monotonic(), True
            if decision.code is None:
                return decision
            # Not asked for again: the first host ends when each host knows it.
            self._end = decision
        return self._end

    def _ask(self, report: Report) -> Decision:
        if self._server:
            return self._server.reports.take(report)
        connection = http.client.HTTPConnection(self.first, PORT, timeout=_REQUEST_SECONDS)
        try:
            text = json.dumps(asdict(report)).encode()
            connection.request("POST", "/", text, {_SIGNATURE: _signature(self.key, text)})
            response = connection.getresponse()
            body = response.read(_MOST_BYTES)
            given = response.headers.get(_SIGNATURE, "").encode()
            if not hmac.compare_digest(given, _signature(self.key, text, body).encode()):
                raise ValueError(f"it rejects this host's report, or is another job's host: HTTP {response.status}")
            answer = json.loads(body)
        finally:
            with suppress(OSError):
                connection.close()
        return Decision(**answer | {"missing": tuple(answer["missing"])})

    def _without_first(self, error: Exception) -> Decision:
        limit = GONE_SECONDS if isinstance(error, ConnectionRefusedError) else LOST_SECONDS
        if not self._reached:
            limit = self.start_seconds + _MARGIN_SECONDS
        if time.monotonic() - self._answered > limit:
            reason = f"lost: {self.first}, the first host, does not answer ({_words(error)})"
            if not self._reached:
                reason = (
                    f"{self.first}, the first of {len(self.hosts)} hosts, did not answer within {limit:g} s "
                    f"({_words(error)}). Check in the job's log of that host {_WHETHER}"
                )
            self._alone, self._end = True, Decision(code=1, reason=reason)
            return self._end
        return Decision(missing=() if self._started else (self.first,))


def _words(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
