"""Compare the arrays in the files of two runs; runs in the environment of the program, which can read its files.

usage: python array_differences.py FOLDER OTHER...

Prints one JSON document, a list with an entry for each other folder: for each file that has arrays in either of the
two, by its path inside it, the names of its arrays, and for each array that differs the largest difference of two
elements; `null` where there is none, as for another shape. Imports nothing of this library: the environment does not
have it.
"""

import io
import json
import math
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# SHA-256 in hexadecimal and a newline: the checkpoints of this project.
_CHECKSUM = 65

_TORCH = (".pt", ".pth", ".bin", ".ckpt", ".tar", ".distcp")
_HDF5 = (".h5", ".hdf5")

# https://huggingface.co/docs/safetensors: other types are compared byte by byte.
_SAFE_TYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1"}

_Arrays = dict[str, Any]


def _arrays(path: Path) -> _Arrays:
    """Return the arrays of a file by name; none of a file of another kind."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return {"": np.load(path, allow_pickle=False)}
    if suffix == ".npz":
        return _of_npz(path.read_bytes())
    if suffix == ".checkpoint":
        return _of_npz(path.read_bytes()[_CHECKSUM:])
    if suffix == ".safetensors":
        return _of_safetensors(path.read_bytes())
    if suffix in _HDF5:
        return _of_hdf5(path)
    if suffix == ".keras":
        with zipfile.ZipFile(path) as archive:
            return _of_hdf5(io.BytesIO(archive.read("model.weights.h5")))
    if ".data-" in path.name:
        # TensorFlow's own checkpoints: their names are in another file.
        return {"": np.frombuffer(path.read_bytes(), np.uint8)}
    return _of_torch(path) if suffix in _TORCH else {}


def _of_npz(content: bytes) -> _Arrays:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        # Texts are metadata: times and speeds.
        return {name: stored[name] for name in stored.files if stored[name].dtype.kind not in "US"}


def _of_safetensors(content: bytes) -> _Arrays:
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    return {
        name: np.frombuffer(data[slice(*each["data_offsets"])], _SAFE_TYPES.get(each["dtype"], "u1"))
        for name, each in header.items()
    }


def _of_hdf5(file: Any) -> _Arrays:
    import h5py

    found: _Arrays = {}

    def add(name: str, each: Any) -> None:
        if isinstance(each, h5py.Dataset) and each.dtype.kind in "biufc":
            found[name] = np.asarray(each[()])

    with h5py.File(file, "r") as stored:
        stored.visititems(add)
    return found


def _of_torch(path: Path) -> _Arrays:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        # With objects that weights_only does not build: the bytes of its tensors, which have no names then.
        if not zipfile.is_zipfile(path):
            return {}
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if "/data/" in name]
            return {name.partition("/")[2]: np.frombuffer(archive.read(name), np.uint8) for name in names}
    return dict(_tensors(content, torch))


def _tensors(content: Any, torch: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(content, torch.Tensor):
        tensor = content.detach()
        yield path, (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    elif isinstance(content, dict):
        for name, each in content.items():
            yield from _tensors(each, torch, f"{path}.{name}" if path else str(name))
    elif isinstance(content, (list, tuple)):
        for index, each in enumerate(content):
            yield from _tensors(each, torch, f"{path}.{index}")


def _readable(folder: Path) -> dict[str, _Arrays]:
    """Return the arrays of all files in a folder, by the file's path inside it; a damaged file has none."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            try:
                named = _arrays(path)
            except Exception as error:
                print(f"{path} cannot be read: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            if named:
                found[str(path.relative_to(folder))] = named
    return found


def _difference(own: Any, other: Any) -> float | None:
    """Return the largest difference of two elements; None where they are not of two arrays of fractions."""
    if own.shape != other.shape or own.dtype != other.dtype or own.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        largest = float(np.max(np.abs(own.astype(np.float64) - other.astype(np.float64)), initial=0.0))
    return largest if math.isfinite(largest) else None


def _same(own: Any, other: Any) -> bool:
    return (own.shape, own.dtype, own.tobytes()) == (other.shape, other.dtype, other.tobytes())


def _compared(own: _Arrays, other: _Arrays) -> dict[str, float | None]:
    differ: dict[str, float | None] = dict.fromkeys(sorted(own.keys() ^ other.keys()))
    for name in sorted(own.keys() & other.keys()):
        if not _same(own[name], other[name]):
            differ[name] = _difference(own[name], other[name])
    return differ


def main(folder: str, *others: str) -> None:
    """Compare a folder with each of others, and print what differs."""
    first = _readable(Path(folder))
    compared = [_files(first, _readable(Path(other))) for other in others]
    print()
    print(json.dumps(compared))


def _files(first: dict[str, _Arrays], second: dict[str, _Arrays]) -> dict[str, Any]:
    return {
        name: {
            "in": [name in first, name in second],
            "arrays": sorted(first.get(name) or second[name]),
            "differ": _compared(first[name], second[name]) if name in first and name in second else {},
        }
        for name in sorted(first.keys() | second.keys())
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
