import pytest

from training_workloads.manifests.torchrun import torchrun


@pytest.mark.parametrize(
    ("argv", "ranks", "nodes"),
    [
        (["torchrun", "--nnodes=2", "--nproc-per-node=8", "train.py", "--nnodes=9"], 8, 2),
        (["/opt/bin/torchrun", "--nnodes", "2", "--nproc_per_node", "8", "train.py"], 8, 2),
        (["torchrun", "--standalone", "--nproc-per-node", "gpu", "train.py"], None, 1),
        (["torchrun", "--nnodes", "1:4", "train.py"], None, None),
        (["torchrun", "--nnodes=$(NODES)", "train.py"], None, None),
        (["python", "-m", "torch.distributed.run", "--nproc-per-node=4", "train.py"], 4, 1),
        (["bash", "-c", "cd /x\ntorchrun --nnodes 2 \\\n  --nproc-per-node 8 train.py"], 8, 2),
        (["torchrun"], None, 1),
        (["python", "-m", "agent", "--", "torchrun", "--nnodes=2", "train.py", "--", "torchrun"], None, 2),
    ],
)
def test_the_numbers_of_a_command_line_are_read(argv: list[str], ranks: int | None, nodes: int | None) -> None:
    found = torchrun(argv)
    assert found is not None
    assert (found.ranks, found.nodes) == (ranks, nodes)


def test_the_program_keeps_its_words() -> None:
    found = torchrun(["torchrun", "--nnodes=2", "--no-python", "sh", "-c", "echo --nnodes=3 torchrun"])
    assert found is not None
    assert (found.nodes, found.program) == (2, ("sh", "-c", "echo --nnodes=3 torchrun"))
    watched = torchrun(["python", "-m", "agent", "--", "torchrun", "--no-python", "sh", "-c", "echo torchrun"])
    assert watched is not None
    assert watched.program == ("sh", "-c", "echo torchrun")
    script = torchrun(["bash", "-c", "torchrun --nproc-per-node 8 train.py --epochs 3"])
    assert script is not None
    assert script.program == ("train.py", "--epochs", "3")


@pytest.mark.parametrize(
    ("nodes", "bounds"), [("1:4", (1, 4)), ("2:2", (2, 2)), ("2", None), ("1:$(MOST)", None), (":4", None)]
)
def test_the_bounds_of_an_elastic_job_are_read(nodes: str, bounds: tuple[int, int] | None) -> None:
    found = torchrun(["torchrun", f"--nnodes={nodes}", "train.py"])
    assert found is not None
    assert found.bounds == bounds


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["python", "train.py"],
        ["bash", "-c", "torchrun a.py; torchrun b.py"],
        ["bash", "-c", "echo 'torchrun"],
        ["python", "torch.distributed.run"],
        ["bash", "-c", "# torchrun train.py"],
    ],
)
def test_other_command_lines_have_no_torchrun(argv: list[str]) -> None:
    assert torchrun(argv) is None
