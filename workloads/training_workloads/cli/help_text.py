"""The help, as plain text like kubectl's: Rich needs 0.2 s to start, and cuts titles off in a narrow terminal."""

import shutil
from collections.abc import Iterable, Iterator
from typing import Any, Final

from training_workloads.cli.usage_errors import typed_name

__all__ = [
    "JOBS_HERE",
    "JOBS_ON_A_CLUSTER",
    "MORE",
    "help_width",
    "is_option",
    "usage_of",
    "write_commands",
    "write_parameters",
]

#: The groups of commands in the help, in its order.
JOBS_HERE: Final = "Jobs on this machine"
JOBS_ON_A_CLUSTER: Final = "Jobs on a cluster"
MORE: Final = "More"

# Lines longer than this are hard to read.
_WIDEST = 100


def help_width() -> int:
    """Return the columns of the help in this terminal."""
    return min(shutil.get_terminal_size().columns, _WIDEST)


def is_option(parameter: Any) -> bool:
    """Return whether a parameter is an option, not an argument."""
    return bool(parameter.param_type_name == "option")


def usage_of(argument: Any) -> str:
    """Return an argument as the usage shows it: `NAME`, `[NAME]`, `FILE...`."""
    name = typed_name(argument)
    return f"{name if argument.required else f'[{name}]'}{'...' if argument.nargs != 1 else ''}"


def write_commands(commands: Iterable[tuple[str, Any]], formatter: Any) -> None:
    """Write the commands with their headings."""
    headed: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (JOBS_HERE, JOBS_ON_A_CLUSTER, MORE)}
    for name, command in commands:
        headed.setdefault(_heading(command, "Commands"), []).append((name, _first_sentence(command)))
    _write_sections(headed, formatter)


def write_parameters(parameters: Iterable[Any], ctx: Any, formatter: Any) -> None:
    """Write the arguments, and the options with their headings."""
    headed: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for each in parameters:
        if is_option(each):
            headed.setdefault(_heading(each, "Options"), []).extend(_rows(each.get_help_record(ctx)))
        else:
            headed["Arguments"].append((typed_name(each), each.help or ""))
    _write_sections(headed, formatter)


def _heading(item: Any, otherwise: str) -> str:
    # typer's placeholder for a value that is not given is false.
    heading = getattr(item, "rich_help_panel", None)
    return heading if isinstance(heading, str) else otherwise


def _first_sentence(command: Any) -> str:
    text = command.short_help or command.help or ""
    return " ".join(text.partition("\n\n")[0].split())


def _rows(record: tuple[str, str] | None) -> Iterator[tuple[str, str]]:
    if record:
        yield record


def _write_sections(headed: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for heading, rows in headed.items():
        if rows:
            with formatter.section(heading):
                # In a narrow terminal the explanation is below a long name.
                formatter.write_dl(rows, col_max=min(30, formatter.width // 3))
