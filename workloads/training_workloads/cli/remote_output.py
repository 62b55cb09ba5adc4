"""What the commands that talk to a cluster have in common: their options, how they print, and how they end."""

import dataclasses
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from training_workloads.cluster.cluster import Cluster
from training_workloads.cluster.connection import connect
from training_workloads.cluster.exit_codes import CLUSTER_FAILED, INTERRUPTED, TIMED_OUT
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.polling import DeadlineError, Progress
from training_workloads.names import check_dns_label, check_dns_subdomain
from training_workloads.validation import InputError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "ContextOption",
    "JsonOption",
    "NameArgument",
    "NamesArgument",
    "NamespaceOption",
    "command_line",
    "note",
    "note_waiting",
    "print_json",
    "print_table",
    "progress",
    "session",
    "short_time",
]


def _check_name(name: str) -> str:
    """Refuses what no job can be called, before a cluster is asked: an unset variable of a script, a path."""
    try:
        check_dns_subdomain("NAME", name)
    except InputError as error:
        message = f"'NAME' is {name!r}; give the name of a job, as 'training-workloads list' shows it"
        raise InputError(message) from error
    return name


def _check_names(names: list[str] | None) -> list[str] | None:
    for name in names or ():
        _check_name(name)
    return names


def _check_namespace(namespace: str | None) -> str | None:
    if namespace is not None:
        check_dns_label("--namespace", namespace)
    return namespace


NameArgument = Annotated[str, typer.Argument(help="Name of the job.", callback=_check_name)]
NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of jobs.", callback=_check_names)
]
ContextOption = Annotated[str | None, typer.Option("--context", help="Context of the kubeconfig. Default: its own.")]
NamespaceOption = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="Namespace of the job. Default: the context's.", callback=_check_namespace),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of text.")]

# Where there is no terminal Rich would cut lines at 80 columns; nothing is as wide as this.
_NO_TERMINAL_COLUMNS = 10_000


@contextmanager
def session(
    context: str | None,
    namespace: str | None,
    *,
    remains: Callable[[], str] = str,
    still_runs: Callable[[], str] = str,
    late: Callable[[], str] = str,
) -> Iterator[Cluster]:
    """Opens a connection, and ends the command with its exit code where something goes wrong.

    Args:
        context: What the user gave for `--context`.
        namespace: What the user gave for `--namespace`.
        remains: What the command has made on the cluster, told when it ends before its time. Default: nothing.
        still_runs: What goes on there without the command, told after Ctrl-C. Default: nothing.
        late: What to say when a deadline is over.
    """
    try:
        with connect(context, namespace) as cluster:
            yield cluster
    except ClusterError as error:
        _end(CLUSTER_FAILED, f"error: {error}", remains())
    except DeadlineError:
        _end(TIMED_OUT, f"error: {late()}")
    except KeyboardInterrupt:
        _end(INTERRUPTED, "interrupted", remains(), still_runs())


def command_line(verb: str, name: str, context: str | None, namespace: str | None) -> str:
    """A command of this program for the same cluster and namespace, to be typed next.

    Args:
        verb: Such as `cancel`.
        name: The job's.
        context: What the user gave for `--context`.
        namespace: What the user gave for `--namespace`.
    """
    given = (("--context", context), ("-n", namespace))
    options = [word for option, value in given if value for word in (option, value)]
    return shlex.join(["training-workloads", *verb.split(), name, *options])


def note(text: str) -> None:
    """Tells the user something beside the result."""
    print(f"note: {text}", file=sys.stderr, flush=True)


def note_waiting() -> Progress:
    """Tells what is waited for in notes, each once, until an empty one says that the waiting is over."""
    told = set()
    over = False

    def tell(text: str) -> None:
        nonlocal over
        over = over or not text
        if not over and text not in told:
            told.add(text)
            note(text)

    return tell


@contextmanager
def progress(otherwise: Progress | None = None) -> Iterator[Progress]:
    """Shows what is going on in a line of standard error, where that is a terminal, and leaves nothing behind.

    Args:
        otherwise: What takes the line where there is no terminal. Default: nobody.

    Yields:
        What takes the line; an empty one clears it.
    """
    console = _console(sys.stderr)
    if not console.is_terminal:
        yield otherwise or (lambda text: None)
        return
    status = console.status("")

    def show(text: str) -> None:
        if text:
            status.update(text)
            status.start()
        else:
            status.stop()

    try:
        yield show
    finally:
        status.stop()


def print_json(value: Any) -> None:
    """Prints one JSON document: dataclasses as objects, times in ISO 8601."""
    print(json.dumps(_plain(value), indent=2))


def print_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Prints rows below the names of their columns."""
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    _console(sys.stdout).print(table)


def short_time(time: timedelta | None) -> str:
    """A time in its two largest units: `45s`, `12m30s`, `3h20m`, `2d4h`; `-` for none."""
    if time is None:
        return "-"
    seconds = max(0, int(time.total_seconds()))
    units = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    parts = []
    for unit, size in units:
        count, seconds = divmod(seconds, size)
        parts.append((count, unit))
    first = next((index for index, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return "".join(f"{count}{unit}" for count, unit in parts[first : first + 2] if count) or "0s"


def _console(stream: Any) -> "Console":
    from rich.console import Console

    width = None if stream.isatty() else _NO_TERMINAL_COLUMNS
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def _end(code: int, *sentences: str) -> None:
    for sentence in filter(None, sentences):
        print(sentence, file=sys.stderr)
    raise typer.Exit(code)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value
