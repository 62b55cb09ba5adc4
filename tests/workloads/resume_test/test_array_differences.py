"""What differs between the files of two runs."""

import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training_workloads.resume_test.lives import Life
from training_workloads.resume_test.verdict import compare


def of_npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def of_checkpoint(**arrays: Any) -> bytes:
    body = of_npz(**arrays, metadata=np.array('{"seconds": 3.1}'))
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def of_safetensors(**arrays: Any) -> bytes:
    header, data = {}, b""
    for name, each in arrays.items():
        begin = len(data)
        data += each.astype("f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(each.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


FORMATS = {"a.npz": of_npz, "step-00000010.checkpoint": of_checkpoint, "model.safetensors": of_safetensors}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    return first, second


def compared(folders: tuple[Path, Path]) -> dict[str, Any]:
    undisturbed, killed = (Life(name=folder.name, folder=folder) for folder in folders)
    (found,) = compare(sys.executable, undisturbed, [killed])
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_one_element_of_one_array(name: str, folders: tuple[Path, Path]) -> None:
    one, other = np.zeros((2, 3), "f4"), np.zeros((2, 3), "f4")
    other[1, 2] = 0.25
    for folder, fc in zip(folders, (one, other), strict=True):
        (folder / name).write_bytes(FORMATS[name](fc=fc, bias=np.ones(3)))
    assert compared(folders) == {name: {"in": [True, True], "arrays": ["bias", "fc"], "differ": {"fc": 0.25}}}


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_bits(name: str, folders: tuple[Path, Path]) -> None:
    for folder in folders:
        (folder / name).write_bytes(FORMATS[name](fc=np.full(3, np.nan)))
    assert compared(folders)[name]["differ"] == {}


def test_minus_zero_is_another_number(folders: tuple[Path, Path]) -> None:
    for folder, value in zip(folders, (0.0, -0.0), strict=True):
        np.save(folder / "w.npy", np.array([value]))
    assert compared(folders)["w.npy"]["differ"] == {"": 0.0}


def test_files_of_one_run_and_files_that_are_no_arrays(folders: tuple[Path, Path]) -> None:
    np.save(folders[0] / "only.npy", np.ones(1))
    np.save(folders[0] / "w.npy", np.ones(1))
    np.save(folders[1] / "w.npy", np.ones(2))
    for folder in folders:
        (folder / "log.txt").write_text(folder.name)
        (folder / "damaged.npz").write_text("no archive")
    found = compared(folders)
    assert found["only.npy"]["in"] == [True, False]
    assert found["w.npy"]["differ"] == {"": None}
    assert found.keys() == {"only.npy", "w.npy"}
