"""Arrays by name and JSON values as bytes: the state that a rank has for itself. Nothing in them is executed."""

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_VALUES = "values"


def pack(arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> bytes:
    """Return the bytes of arrays and of values in JSON's types."""
    stream = io.BytesIO()
    # Numbers in place of the names, which may have characters that a zip file's may not.
    numbered = {f"array_{number}": array for number, array in enumerate(arrays.values())}
    content = json.dumps({"names": list(arrays), "values": values})
    np.savez(stream, **{_VALUES: np.array(content)}, **numbered)
    return stream.getvalue()


def unpack(content: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the values of `pack`."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        written = json.loads(str(stored[_VALUES]))
        return {name: stored[f"array_{number}"] for number, name in enumerate(written["names"])}, written["values"]
