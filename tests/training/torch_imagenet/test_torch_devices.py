"""Which GPU a rank takes: this machine has none, so PyTorch is asked for numbers only."""

import pytest
import torch

from training.runtime import ranks
from training.runtime.errors import LostProcessError, RankError
from training.torch_imagenet import torch_devices


class _OneOfTwo(ranks.Ranks):
    def local_rank(self) -> int:
        return 1

    def local_size(self) -> int:
        return 2


@pytest.fixture(autouse=True)
def _ranks() -> None:
    ranks.use(_OneOfTwo())


def test_each_rank_takes_the_gpu_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    assert torch_devices.choose() == torch.device("cuda", 1)
    assert taken == [torch.device("cuda", 1)]


def test_two_ranks_on_one_gpu_are_a_user_s_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(
        RankError, match=r"^it sees 1 of the machine's GPUs, and LOCAL_RANK is 1, counted from 0; give "
    ):
        torch_devices.choose()


def test_a_process_that_was_ended_is_named_with_what_to_do() -> None:
    with pytest.raises(LostProcessError) as caught, torch_devices.losses_reported("give less"):
        raise RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed. ")
    assert str(caught.value) == (
        "a process that decodes images has ended (DataLoader worker (pid 7) is killed by signal: Killed.), as the "
        "kernel ends one when memory runs out; start this run again, and where it repeats, give fewer '--data-workers' "
        "or more memory"
    )


def test_a_memory_that_does_not_suffice_says_what_to_lower() -> None:
    with pytest.raises(RankError, match=r"^the memory does not suffice \(CUDA\); give less$"):
        with torch_devices.losses_reported("give less"):
            raise torch.OutOfMemoryError("CUDA\nmore")


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(RuntimeError, match=r"^other$"), torch_devices.losses_reported("give less"):
        raise RuntimeError("other")
