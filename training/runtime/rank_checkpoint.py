"""Resume the state of all ranks: rank zero reads it, the others get it by broadcast."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import checkpoint, files, metadata, ranks
from .distributed import assign_flat, flat, on_rank_zero
from .errors import UserError
from .ranks import Variable

#: In the output folder.
FOLDER = "checkpoints"


def resume(
    output: Path,
    variables: Sequence[Variable],
    settings: Mapping[str, Any],
    *,
    per_rank: Sequence[Variable] = (),
    names: Sequence[str] = (),
) -> dict[str, Any]:
    """Set the variables of every rank and return the metadata of the checkpoint; empty without a checkpoint.

    Args:
        output: The folder given as '--output-dir'.
        variables: All that training changes, optimizer slots included: they must exist by now.
        settings: The options that decide what is learned; a run resumes only with the same.
        per_rank: As they were saved: each rank gets its values, or the mean where the number of ranks is another.
        names: Names that the program reads from the metadata, besides `settings` and `world_size`.

    Raises:
        UserError: The checkpoints are those of another run or program, or none can be written; on every rank.
    """
    # Rank zero alone reads, so that no rank resumes from an older file or stops alone at a damaged one.
    written, rows = on_rank_zero(lambda: _read(output, variables, per_rank, settings, names))
    # The values that rank zero has read, or drawn at random, reach the others here.
    ranks.current().copy_variables([*variables, *per_rank])
    if rows is not None:
        own = rows[ranks.rank()] if len(rows) == ranks.size() else rows.mean(axis=0, dtype=np.float64)
        assign_flat(per_rank, own)
    return written


def _read(
    output: Path,
    variables: Sequence[Variable],
    per_rank: Sequence[Variable],
    settings: Mapping[str, Any],
    names: Sequence[str],
) -> tuple[dict[str, Any], NDArray[np.float32] | None]:
    check_folder(output)
    found = checkpoint.newest(output / FOLDER)
    if found is None:
        return {}, None
    if not metadata.is_known(found.metadata, names):
        raise another_program(output)
    check_settings(output, settings, found.metadata["settings"])
    arrays = list(found.arrays)
    rows = arrays.pop() if per_rank and arrays else None
    if len(arrays) != len(found.metadata["names"]) or (per_rank and not _are_rows(rows, flat(per_rank))):
        raise another_program(output)
    named = dict(zip(found.metadata["names"], arrays, strict=True))
    own = dict(zip(names_of(variables), variables, strict=True))
    check_arrays(output, {name: np.asarray(variable.numpy()) for name, variable in own.items()}, named)
    for name, variable in own.items():
        variable.assign(named[name])
    return found.metadata, rows


def names_of(variables: Sequence[Variable]) -> list[str]:
    """Return a name for each variable, with a number where another has it too, such as in two heads of a network."""
    count: Counter[str] = Counter()
    names = []
    for variable in variables:
        count[variable.name] += 1
        number = count[variable.name]
        names.append(f"{variable.name} {number}" if number > 1 else variable.name)
    return names


def check_arrays(output: Path, given: Mapping[str, NDArray[Any]], written: Mapping[str, NDArray[Any]]) -> None:
    """Reject a checkpoint whose arrays have other names, shapes or types than those of the model and its optimizer.

    Args:
        output: The folder of the run.
        given: Arrays of the script, by name.
        written: Arrays of the checkpoint, by name.

    Raises:
        UserError: They differ; with the first names that do.
    """
    kinds = [{name: (each.shape, str(each.dtype)) for name, each in arrays.items()} for arrays in (given, written)]
    if kinds[0] == kinds[1]:
        return
    differing = [name for name in {**kinds[0], **kinds[1]} if kinds[0].get(name) != kinds[1].get(name)]
    words = [f"{name} is {_kind(kinds[0].get(name))}, and {_kind(kinds[1].get(name))} there" for name in differing[:3]]
    more = f", and {len(differing) - 3} others differ" if len(differing) > 3 else ""
    raise UserError(
        f"the checkpoints in {output} hold another model or optimizer than the script: {'; '.join(words)}{more}; "
        "start the script that wrote them, or give another output folder"
    )


def _kind(found: tuple[tuple[int, ...], str] | None) -> str:
    return f"{found[1]} of {'x'.join(map(str, found[0])) or 'one value'}" if found else "missing"


def _are_rows(rows: NDArray[Any] | None, vector: NDArray[np.float32]) -> bool:
    """Return whether the array has a vector for each rank that wrote it."""
    return rows is not None and rows.dtype == vector.dtype and len(rows.shape) == 2 and rows.shape[1:] == vector.shape


def check_folder(output: Path, *, option: str = "--output-dir") -> None:
    """Reject a folder of checkpoints in which none can be written, by the option that names it."""
    for path, kind in ((output / FOLDER, "folder"), (output / FOLDER / checkpoint.POINTER, "file")):
        if path.exists() and path.is_dir() != (kind == "folder"):
            raise UserError(
                f"the output folder is {output}, where {path.relative_to(output)} is not a {kind}; rename it, or give "
                "another one"
            )
    files.make_writable(output, FOLDER, option=option)


def check_settings(output: Path, given: Mapping[str, Any], written: Mapping[str, Any]) -> None:
    """Reject a checkpoint of a run with other options: the result would be neither run's."""
    if missing := [name for name in given if name not in written]:
        if not written.keys() < given.keys():
            raise another_program(output)
        raise UserError(
            f"the checkpoints in {output} are those of a version of this program without {' '.join(missing)}, or of "
            "another program; resume with that one, or give another output folder to start a new run"
        )
    differing = [name for name in given if given[name] != written[name]]
    if differing:
        now = " and ".join(f"'{name}' is {given[name]}" for name in differing)
        then = " ".join(f"{name} {written[name]}" for name in differing)
        raise UserError(
            f"{now}, but the checkpoints in {output} were written with {then}; "
            f"give {then} to resume that run, or another output folder to start a new one"
        )


def another_program(output: Path) -> UserError:
    """Return the error of a folder with checkpoints that this program has not written."""
    return UserError(f"the checkpoints in {output} are those of another program; give another output folder")
