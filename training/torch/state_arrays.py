"""State dicts as arrays with names, and as JSON for the rest.

There is no pickle: one that another user has changed would run that user's code.
"""

import io
import json
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..runtime.errors import UserError

# NumPy has no such types: their bits are kept as whole numbers of the same size.
_BITS = {1: torch.uint8, 2: torch.int16}

# Types that `json` gives back as they were.
_PLAIN = (str, int, float, bool, type(None))

# Dicts that are more than one, such as the milestones of `MultiStepLR`.
_DICTS: dict[str, type[dict[Any, Any]]] = {"dict": dict, "Counter": Counter, "OrderedDict": OrderedDict}

_JSON = "json"


def pack(value: Any, name: str, arrays: dict[str, NDArray[Any]], *, copies: bool = True) -> Any:
    """Return a value in JSON's types, and add its tensors to the arrays; every rank must call it for a sharded model.

    Args:
        value: Numbers, texts, tensors and arrays in lists, tuples and dicts.
        name: Name of the value, with which the names of its arrays begin.
        arrays: Gets the arrays.
        copies: Whether the arrays get the values; otherwise they have the names, and nothing in them.

    Raises:
        UserError: A value has another type.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, torch.Tensor):
        arrays[name] = to_array(value) if copies else _taken_part(value)
        return {"tensor": name, "type": str(value.dtype).removeprefix("torch.")}
    if isinstance(value, np.ndarray | np.generic):
        arrays[name] = np.array(value, order="C")
        return {"array": name}
    if isinstance(value, Mapping):
        kind = type(value).__name__ if type(value).__name__ in _DICTS else "dict"
        items = [[_key(key, name), pack(each, f"{name}/{key}", arrays, copies=copies)] for key, each in value.items()]
        return {"items": items, "kind": kind}
    if isinstance(value, list | tuple):
        values = [pack(each, f"{name}/{place}", arrays, copies=copies) for place, each in enumerate(value)]
        return {"tuple": values} if isinstance(value, tuple) else values
    raise UserError(
        f"the state '{name}' is of the type {type(value).__name__}; a checkpoint keeps numbers, texts, tensors and "
        "arrays, in lists, tuples and dicts: give an object whose 'state_dict()' has only these"
    )


def unpack(packed: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the value that `pack` got, with tensors on the CPU."""
    if isinstance(packed, list):
        return [unpack(each, arrays) for each in packed]
    if not isinstance(packed, Mapping):
        return packed
    if "tensor" in packed:
        return to_tensor(arrays[packed["tensor"]], getattr(torch, packed["type"]))
    if "array" in packed:
        return arrays[packed["array"]][()]
    if "tuple" in packed:
        return tuple(unpack(each, arrays) for each in packed["tuple"])
    return _DICTS[packed["kind"]]({key: unpack(each, arrays) for key, each in packed["items"]})


def to_bytes(value: Any) -> bytes:
    """Return a value as bytes, for a state that each rank has for itself."""
    arrays: dict[str, NDArray[Any]] = {}
    packed = pack(value, "state", arrays)
    stream = io.BytesIO()
    np.savez(stream, **{_JSON: np.array(json.dumps(packed))}, **arrays)
    return stream.getvalue()


def from_bytes(content: bytes) -> Any:
    """Return the value of `to_bytes`."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return unpack(json.loads(str(arrays.pop(_JSON))), arrays)


def is_sharded(tensor: torch.Tensor) -> bool:
    """Return whether each rank has a part of the tensor, as `fully_shard` deals them out."""
    # Without an import of DTensor, which takes a second of each start.
    return hasattr(tensor, "full_tensor")


def to_array(tensor: torch.Tensor) -> NDArray[Any]:
    """Return a copy of the values, of all ranks' parts where the tensor is sharded."""
    whole: Any = (tensor.full_tensor() if is_sharded(tensor) else tensor).detach().cpu()
    if _has_no_numpy_type(whole.dtype):
        whole = whole.contiguous().view(_BITS[whole.element_size()])
    return np.array(whole.numpy(), order="C")


def to_tensor(array: NDArray[Any], dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor with the values of `to_array`."""
    # A copy: what reads a checkpoint may give the array to others.
    tensor = torch.from_numpy(np.array(array, order="C"))
    return tensor.view(dtype) if _has_no_numpy_type(dtype) else tensor


def empty_array(tensor: torch.Tensor) -> NDArray[Any]:
    """Return an array of the shape and type of `to_array`, without its memory."""
    dtype = _BITS[tensor.element_size()] if _has_no_numpy_type(tensor.dtype) else tensor.dtype
    return np.broadcast_to(torch.empty((), dtype=dtype).numpy(), tuple(tensor.shape))


def _has_no_numpy_type(dtype: torch.dtype) -> bool:
    return bool(dtype.is_floating_point and dtype.itemsize <= 2 and dtype != torch.float16)


def _taken_part(tensor: torch.Tensor) -> NDArray[Any]:
    """Return nothing, after this rank has sent its part of a sharded tensor."""
    if is_sharded(tensor):
        tensor.full_tensor()
    return np.empty(0)


def _key(key: Any, name: str) -> Any:
    if type(key) in _PLAIN:
        return key
    raise UserError(
        f"the state '{name}' has the key {key!r} of the type {type(key).__name__}; a checkpoint keeps texts and "
        "numbers as keys: give an object whose 'state_dict()' has only these"
    )
