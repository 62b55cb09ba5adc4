import json
import math
from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import pytest
import torch

from training.runtime.errors import UserError
from training.torch.state_arrays import empty_array, from_bytes, pack, to_array, to_bytes, to_tensor, unpack


def packed_and_back(value: Any) -> Any:
    arrays: dict[str, Any] = {}
    return unpack(json.loads(json.dumps(pack(value, "state", arrays))), arrays)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, "text", None, True], 3: {"b": ()}},
        (1, (2, [3])),
        0.1 + 0.2,
        math.inf,
        Counter({30: 1, 60: 2}),
        OrderedDict(a=1),
    ],
)
def test_a_value_comes_back_with_its_types(value: Any) -> None:
    found = packed_and_back(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.bool, torch.uint8]
)
def test_a_tensor_of_each_type_comes_back_with_its_bits(dtype: torch.dtype) -> None:
    tensor = (torch.randn(3, 5) * 4).to(dtype)
    found = packed_and_back({"weight": tensor})["weight"]
    assert found.dtype == dtype
    assert found.shape == (3, 5)
    assert torch.equal(found.view(torch.uint8), tensor.view(torch.uint8))
    assert empty_array(tensor).dtype == to_array(tensor).dtype
    assert empty_array(tensor).shape == (3, 5)


def test_scalars_and_arrays_come_back() -> None:
    found = packed_and_back({"step": torch.tensor(7.0), "array": np.arange(3), "number": np.float32(0.1)})
    assert found["step"].shape == ()
    assert found["step"].item() == 7.0
    assert found["array"].tolist() == [0, 1, 2]
    assert found["number"] == np.float32(0.1)


def test_an_array_is_a_copy() -> None:
    tensor = torch.zeros(2)
    array = to_array(tensor)
    tensor.add_(1)
    assert array.tolist() == [0, 0]
    to_tensor(array, torch.float32).add_(1)
    assert array.tolist() == [0, 0]


def test_without_copies_only_the_names_are_there() -> None:
    arrays: dict[str, Any] = {}
    pack({"a": torch.zeros(1000)}, "state", arrays, copies=False)
    assert {name: each.size for name, each in arrays.items()} == {"state/a": 0}


def test_bytes_hold_a_value() -> None:
    value = {"random": (1, torch.arange(4, dtype=torch.bfloat16))}
    found = from_bytes(to_bytes(value))
    assert found["random"][0] == 1
    assert torch.equal(found["random"][1], value["random"][1])


def test_rejects_what_only_a_pickle_could_keep() -> None:
    with pytest.raises(
        UserError, match=r"the state 'ema/seen' is of the type set; a checkpoint keeps numbers, .* give an"
    ):
        pack({"seen": {1, 2}}, "ema", {})
    with pytest.raises(
        UserError, match=r"the state 'ema' has the key \(1, 2\) of the type tuple; .* texts and numbers"
    ):
        pack({(1, 2): 1}, "ema", {})
