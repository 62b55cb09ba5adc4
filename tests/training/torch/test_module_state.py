from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from training.runtime.errors import UserError
from training.torch.module_state import ModuleState, OptimizerState, adds_in_another_order, placed_like, unwrapped
from training.torch.state_arrays import pack, unpack

OUTPUT = Path("out")


def captured(module: nn.Module) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    ModuleState(module, "model").capture(arrays, copies=True)
    return arrays


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))


def trained(module: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 3) -> None:
    torch.manual_seed(5)
    for _ in range(steps):
        optimizer.zero_grad()
        dtype = next(module.parameters()).dtype
        module(torch.randn(8, 4, dtype=dtype)).square().mean().backward()
        optimizer.step()


def test_a_compiled_module_has_the_names_of_the_one_that_the_user_wrote() -> None:
    plain = network()
    names = list(captured(plain))
    assert names[:3] == ["model/0.weight", "model/0.bias", "model/1.weight"]
    assert list(captured(torch.compile(plain))) == names
    plain[2] = torch.compile(plain[2])
    assert list(captured(plain)) == names
    assert unwrapped(nn.DataParallel(torch.compile(plain))) is plain


def test_restores_every_bit_in_place() -> None:
    source, target = network().bfloat16(), network().bfloat16()
    weight = target[0].weight
    trained(source, torch.optim.SGD(source.parameters(), lr=0.1))
    ModuleState(torch.compile(target), "model").restore(OUTPUT, captured(source))
    one, other = captured(source), captured(target)
    assert {name: each.tobytes() for name, each in one.items()} == {
        name: each.tobytes() for name, each in other.items()
    }
    assert target[0].weight is weight


def test_tied_weights_stay_tied() -> None:
    def tied() -> nn.ModuleDict:
        module = nn.ModuleDict({"embedding": nn.Embedding(5, 3), "head": nn.Linear(3, 5, bias=False)})
        module["head"].weight = module["embedding"].weight
        return module

    source, target = tied(), tied()
    ModuleState(target, "model").restore(OUTPUT, captured(source))
    assert target["head"].weight is target["embedding"].weight
    assert torch.equal(target["head"].weight, source["head"].weight)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (nn.Sequential(nn.Linear(4, 3)), "model/1.weight is missing, and float32 of 3 there"),
        (nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(3), nn.Linear(3, 2)), "model/0.weight is float32 of 5x4"),
        (network().half(), "model/0.weight is float16 of 3x4, and float32 of 3x4 there"),
    ],
)
def test_rejects_the_checkpoint_of_another_model(other: nn.Module, words: str) -> None:
    with pytest.raises(UserError) as error:
        ModuleState(other, "model").restore(OUTPUT, captured(network()))
    assert words in str(error.value)
    assert "give another output folder" in str(error.value)


def test_rejects_a_state_that_is_no_tensor() -> None:
    class Counting(nn.Linear):
        def get_extra_state(self) -> Any:
            return {"calls": 3}

        def set_extra_state(self, state: Any) -> None:
            pass

    with pytest.raises(
        UserError, match=r"'model' keeps 0._extra_state in its state, which is no tensor; keep it in a bu"
    ):
        captured(nn.Sequential(Counting(2, 2)))


def optimizer_state(optimizer: torch.optim.Optimizer, module: nn.Module) -> OptimizerState:
    return OptimizerState(optimizer, {"model": module}, "optimizer")


def saved(optimizer: torch.optim.Optimizer, module: nn.Module) -> Any:
    arrays: dict[str, Any] = {}
    packed = pack(optimizer_state(optimizer, module).state_dict(), "optimizer", arrays)
    assert all(name.startswith("optimizer/") for name in arrays)
    return unpack(packed, arrays)


@pytest.mark.parametrize(
    "make",
    [
        lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
        lambda parameters: torch.optim.AdamW(parameters, lr=0.1, amsgrad=True),
        lambda parameters: torch.optim.Adagrad(parameters, lr=0.1),
        lambda parameters: torch.optim.RMSprop(parameters, lr=0.1, centered=True),
    ],
)
def test_any_optimizer_continues_with_the_same_bits(make: Any) -> None:
    torch.manual_seed(0)
    source = network()
    optimizer = make(source.parameters())
    trained(source, optimizer)
    target = network()
    other = make(torch.compile(target).parameters())
    ModuleState(target, "model").restore(OUTPUT, captured(source))
    optimizer_state(other, target).load_state_dict(OUTPUT, saved(optimizer, source))
    trained(source, optimizer)
    trained(target, other)
    assert all(torch.equal(one, two) for one, two in zip(source.parameters(), target.parameters(), strict=True))


def test_the_parameters_are_found_by_their_names_where_their_order_is_another() -> None:
    module = network()
    parameters = dict(module.named_parameters())
    first = torch.optim.Adam(list(parameters.values()), lr=0.1)
    trained(module, first)
    second = torch.optim.Adam(list(reversed(parameters.values())), lr=0.2)
    optimizer_state(second, module).load_state_dict(OUTPUT, saved(first, module))
    assert second.param_groups[0]["lr"] == 0.1
    for parameter in parameters.values():
        assert torch.equal(second.state[parameter]["exp_avg"], first.state[parameter]["exp_avg"])


def test_a_state_keeps_its_type_where_the_parameter_has_another() -> None:
    module = nn.Linear(4, 2).bfloat16()
    optimizer = torch.optim.Adam(module.parameters())
    trained(module, optimizer)
    precise = torch.full((2, 4), 1 / 3)
    optimizer.state[module.weight]["exp_avg"] = precise
    target = nn.Linear(4, 2).bfloat16()
    other = torch.optim.Adam(target.parameters())
    optimizer_state(other, target).load_state_dict(OUTPUT, saved(optimizer, module))
    assert torch.equal(other.state[target.weight]["exp_avg"], precise)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda module: torch.optim.AdamW(module.parameters(), lr=0.1),
            "than AdamW of this script: only one of them has the option '",
        ),
        (
            lambda module: torch.optim.SGD(list(module.parameters())[1:], lr=0.1),
            "than SGD of this script: the parameter model/0.weight is only there; give the optimizer of that run",
        ),
        (
            lambda module: torch.optim.SGD([{"params": [each]} for each in module.parameters()], lr=0.1),
            "than SGD of this script: it has 6 groups, and 1 there; give the optimizer of that run, or another output",
        ),
    ],
)
def test_rejects_the_state_of_another_optimizer(make: Any, words: str) -> None:
    module = network()
    written = saved(torch.optim.SGD(module.parameters(), lr=0.1), module)
    with pytest.raises(UserError) as error:
        optimizer_state(make(module), module).load_state_dict(OUTPUT, written)
    assert words in str(error.value)


@pytest.mark.parametrize(("ranks", "finds_unused", "expected"), [(2, False, False), (3, False, True), (3, True, False)])
def test_knows_when_gradients_are_added_in_another_order(ranks: int, finds_unused: bool, expected: bool) -> None:
    wrapped = nn.parallel.DistributedDataParallel.__new__(nn.parallel.DistributedDataParallel)
    nn.Module.__init__(wrapped)
    wrapped.find_unused_parameters = finds_unused
    assert adds_in_another_order(torch.compile(wrapped), ranks) == expected
    assert not adds_in_another_order(network(), ranks)


def test_a_value_gets_the_order_of_the_parameter_in_memory() -> None:
    weight = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    placed = placed_like(weight, torch.randn(2, 3, 4, 5))
    assert placed.is_contiguous(memory_format=torch.channels_last)
