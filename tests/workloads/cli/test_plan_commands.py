import errno
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.workloads.cli.conftest import Command
from tests.workloads.planning.one_v100 import ONE_V100

P4D = "--instance-type=p4d.24xlarge"
P3DN = "--instance-type=p3dn.24xlarge"
WITHOUT_EFA = f"--instance-type={ONE_V100}"


def test_a_plan_has_a_line_for_each_subject(command: Command) -> None:
    code, output, errors = command("plan", P4D, "--nodes", "2")
    assert (code, errors) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in output.splitlines())
    assert list(lines) == [
        *("plan", "batch", "speed", "step", "all-reduce", "input", "storage", "epoch", "price", "limit", "source")
    ]
    assert lines["plan"] == "resnet50 on 2 x p4d.24xlarge, 16 GPUs, EFA, not measured"
    assert lines["speed"].startswith("33,861 images/s, efficiency 89.1% against one GPU, 98.3% against one node")
    assert lines["limit"] == "GPU"


def test_a_bandwidth_that_bursts_is_named_where_it_decides(command: Command) -> None:
    said = "10 Gb/s is a burst, which a long run does not keep: with several nodes it is slower"
    small = ("plan", WITHOUT_EFA)
    assert [said in command(*small, *options).out for options in (["--nodes=2"], ["--sweep"], ["--nodes=1"])] == [
        True,
        True,
        False,
    ]
    assert "is a burst" not in command("plan", P3DN, "--nodes=2").out


def test_json_has_the_units_in_its_names(command: Command) -> None:
    found = json.loads(command("plan", P4D, "--json").out)
    assert found["setup"]["instance_type"] == "p4d.24xlarge"
    assert found["gpus"] == 8
    step = found["step"]
    parts = sum(value for name, value in step.items() if name != "total_seconds")
    assert step["total_seconds"] == pytest.approx(parts)
    assert found["images_per_second"] == pytest.approx(2048 / step["total_seconds"])
    assert found["usd_to_accuracy"] == pytest.approx(90 * found["usd_per_epoch"])


def test_a_sweep_is_a_table_and_a_chart(tmp_path: Path, command: Command) -> None:
    code, output, errors = command("plan", P3DN, "--no-efa", "--sweep", "--chart", "sweep.svg")
    assert (code, errors) == (0, "")
    table, _, notes = output.partition("\n\n")
    assert notes == "Calculated from published figures, not measured.\n"
    rows = [line.split() for line in table.splitlines()]
    assert [row[0] for row in rows] == ["nodes", "1", "2", "4", "8", "16", "32", "64", "128", "256", "512"]
    assert rows[1][-1] == "GPU"
    assert rows[-1][-1] == "all-reduce"
    assert ElementTree.parse(tmp_path / "sweep.svg").getroot().tag.endswith("svg")
    assert len(json.loads(command("plan", P3DN, "--sweep", "--json").out)) == 10


def test_a_chart_is_png_by_the_name_of_its_file(tmp_path: Path, command: Command) -> None:
    assert command("plan", P3DN, "--sweep", "--chart", "sweep.png").code == 0
    assert (tmp_path / "sweep.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("form", ["svg", "png"])
def test_without_matplotlib_a_chart_is_an_error_that_names_the_extra(
    form: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "training_workloads.planning.chart", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, output, errors = command("plan", P3DN, "--sweep", f"--chart=a.{form}")
    assert (code, output) == (2, "")
    assert errors == "error: 'matplotlib' is missing; run pip install 'cdk-training-cluster[charts]'\n"
    assert list(tmp_path.iterdir()) == []


def test_what_if_shows_both(command: Command) -> None:
    output = command("plan", P4D, "--nodes=8", "--what-if=efa=0", "--what-if=batch-size=128").out
    assert "64 GPUs, EFA, not measured\n          -> resnet50 on 8 x p4d.24xlarge, 64 GPUs, TCP" in output
    assert "128 images a GPU" in output
    before, after = json.loads(command("plan", P4D, "--nodes=8", "--what-if=efa=0", "--json").out)
    assert before["images_per_second"] > after["images_per_second"]


def test_a_search_names_type_and_nodes(command: Command) -> None:
    found = json.loads(command("plan", "--target-epoch-minutes=10", "--json").out)
    assert found["epoch_seconds"] <= 600
    assert found["setup"]["instance_type"] == "p4d.24xlarge"
    on_p3dn = json.loads(command("plan", P3DN, "--budget=120", "--json").out)
    assert (on_p3dn["setup"]["instance_type"], on_p3dn["usd_to_accuracy"] <= 120) == ("p3dn.24xlarge", True)


def test_a_search_recommends_no_ceiling(command: Command) -> None:
    # By MXNet's rate p5.48xlarge would be the fastest for this budget.
    found = json.loads(command("plan", "--budget=2000", "--json").out)
    assert found["setup"]["instance_type"] == "p4d.24xlarge"
    named = command("plan", "--instance-type=p5.48xlarge", "--budget=2000").out
    assert "images/s at most (a ceiling), " in named


def test_the_input_of_a_model_without_a_measurement_is_not_known(command: Command) -> None:
    output = command("plan", "--model=mask-rcnn", "--instance-type=p3dn.24xlarge").out
    assert "84 images/s" in output
    assert "was not measured for this model" in output
    assert (
        json.loads(command("plan", "--model=mask-rcnn", "--instance-type=p3dn.24xlarge", "--json").out)["supply"] == {}
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "'--instance-type' is missing; give one of p3dn.24xlarge, p4d.24xlarge"),
        (["--instance-type=p4d"], "'--instance-type' is 'p4d', but it is not known; did you mean p4d.24xlarge?"),
        ([P4D, "--model=vgg"], "'--model' is 'vgg', but it is not known; known: mask-rcnn, resnet50"),
        ([P4D, "--nodes=two"], "'--nodes' is 'two'; give a whole number, such as 2"),
        ([P4D, "--batch-size=0"], "'--batch-size' is 0; give 1 or more"),
        ([P4D, "--budget=0"], "'--budget' is 0.0; give a number above 0"),
        ([P4D, "--what-if=efa"], "'--what-if' is 'efa'; give OPTION=VALUE with one of model, instance_type"),
        ([P4D, "--what-if=efa=maybe"], "'--what-if' is 'efa=maybe'; give efa=0 or efa=1"),
        ([P4D, "--what-if=node=2"], "'--what-if' is 'node=2'; did you mean nodes"),
        ([P4D, "--what-if=nodes=x"], "'--what-if' is 'nodes=x'; give a whole number, such as 2"),
        ([P4D, "--chart=a.svg"], "'--chart' is 'a.svg'; give a file that ends in .svg or .png, with --sweep"),
        ([P4D, "--sweep", "--chart=a.pdf"], "'--chart' is 'a.pdf'; give a file that ends in .svg or .png, with"),
        (["--model=vgg", "--budget=9"], "'--model' is 'vgg', but it is not known"),
        (["--model=mask-rcnn", "--precision=float32", "--budget=9"], "'--precision' is 'float32', but no rate of"),
        (
            [P4D, "--sweep", "--chart=no/a.svg"],
            "'--chart' is 'no/a.svg', but No such file or directory; give another file, in a folder that exists",
        ),
        ([P4D, "--sweep", "--nodes=2"], "'--nodes' is 2, but --sweep compares 1 to 512 nodes; omit one of them"),
        ([P4D, "--sweep", "--what-if=efa=0"], "'--what-if' is 'efa=0', but it cannot be combined with --sweep"),
        ([P4D, "--sweep", "--budget=0"], "'--sweep' is True, but it cannot be combined with --budget"),
        (
            [P3DN, "--what-if=batch-size=64", "--what-if=batch_size=32"],
            "'--what-if' is 'batch_size=32', but another '--what-if' is 'batch-size=64'; omit one of them",
        ),
        (
            ["--instance-type=p5.48xlarge", "--nodes=512"],
            "'--nodes' is 512, but the global batch would be 1,671,168 images, and an epoch has 1,281,167; give 392 or",
        ),
        ([P4D, "--sweep", f"--chart={'a' * 300}.svg"], f"'--chart' is '{'a' * 300}.svg', but File name too long; give"),
    ],
)
def test_a_mistake_is_one_line_with_the_option(arguments: list[str], error: str, command: Command) -> None:
    code, output, errors = command("plan", *arguments)
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: {error}")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("--instance-type", ["--instance-type=p3.16xlarge"]),
        ("--what-if", ["--instance-type=p4d.24xlarge", "--what-if=instance-type=p3.16xlarge"]),
    ],
)
def test_a_retired_type_is_planned_with_a_warning(option: str, arguments: list[str], command: Command) -> None:
    code, output, errors = command("plan", *arguments, "--nodes=2")
    assert code == 0
    assert "2 x p3.16xlarge" in output
    assert errors == (
        f"warning: '{option}' is 'p3.16xlarge', but AWS retired it on 2025-12-20 "
        "(https://github.com/zalando-incubator/kubernetes-on-aws/pull/8685) and EC2 offers it in no region; "
        "choose p3dn.24xlarge or p4d.24xlarge\n"
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--efa"], f"'--efa' is True, but {ONE_V100} has no EFA; choose another type, or omit it"),
        (["--budget=90", "--efa"], f"'--efa' is True, but {ONE_V100} has no EFA"),
        (["--what-if=nodes=2", "--what-if=efa=1"], f"'--what-if' is 'efa=1', but {ONE_V100} has no EFA"),
        (
            ["--nodes=8", "--storage=memory", "--what-if=nodes=1"],
            "'--what-if' is 'nodes=1', but the images are 131 GiB",
        ),
    ],
)
def test_a_mistake_beside_a_retired_type_is_one_line_too(arguments: list[str], error: str, command: Command) -> None:
    code, output, errors = command("plan", WITHOUT_EFA, *arguments)
    assert (code, output) == (2, "")
    warning, mistake = errors.splitlines()
    assert warning.startswith(f"warning: '--instance-type' is '{ONE_V100}', but AWS retired it")
    assert mistake.startswith(f"error: {error}")


@pytest.mark.parametrize("number", [errno.EROFS, errno.ELOOP, errno.EACCES])
def test_a_chart_that_cannot_be_written_is_a_mistake_in_the_option(
    number: int, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fail_writes(monkeypatch, number)
    code, output, errors = command("plan", P3DN, "--sweep", "--chart=a.svg")
    assert (code, output) == (2, "")
    assert errors.startswith(f"error: '--chart' is 'a.svg', but {os.strerror(number)}; give another file")


def test_a_full_disk_is_no_mistake_in_the_option(tmp_path: Path) -> None:
    (tmp_path / "full.svg").symlink_to("/dev/full")
    command = [sys.executable, "-m", "training_workloads", "plan", P3DN, "--sweep", "--chart=full.svg"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (74, "")
    assert "the output cannot be written" in ended.stderr


def test_memory_is_planned_where_one_node_is_too_small(command: Command) -> None:
    small = WITHOUT_EFA
    assert command("plan", small, "--nodes=512", "--storage=memory").code == 0
    output = command("plan", small, "--sweep", "--storage=memory").out
    assert [line.split()[0] for line in output.splitlines()[1:8]] == ["8", "16", "32", "64", "128", "256", "512"]
    assert "without a row: 1, 2, 4 nodes; `--nodes 1` instead" in output
    found = command("plan", small, "--target-epoch-minutes=1", "--storage=memory", "--json").out
    assert json.loads(found)["setup"]["nodes"] >= 5


def test_a_sweep_has_the_note_of_the_rate(command: Command) -> None:
    output = command("plan", "--instance-type=p5.48xlarge", "--sweep").out
    assert "The rate of the GPU is the ceiling: MXNet" in output
    assert "exposed ms" in output.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--nodes=4"], "7.2 ms, in part hidden behind the backward pass"),
        (["--nodes=4", "--gradient-clusters=1"], "7.2 ms, nothing of it is hidden behind the backward pass"),
    ],
)
def test_the_all_reduce_says_what_is_hidden(arguments: list[str], text: str, command: Command) -> None:
    output = command("plan", "--instance-type=p4d.24xlarge", *arguments).out
    assert f"all-reduce   {text}\n" in output


def test_one_gpu_has_no_all_reduce(command: Command) -> None:
    output = command("plan", WITHOUT_EFA).out
    assert ", 1 GPU, " in output
    assert "all-reduce   none: one GPU has all gradients\n" in output


def test_vcpus_needed_may_be_more_than_there_are(command: Command) -> None:
    output = command("plan", "--instance-type=p5.4xlarge", "--nodes=4").out
    assert "input        102 vCPUs needed; there are 56, which give" in output


def test_what_if_says_that_nothing_changes(command: Command) -> None:
    assert command("plan", P4D, "--what-if=efa=1").out.endswith("\nwhat if      the same: nothing changes\n")
    assert "nothing changes" not in command("plan", P4D, "--what-if=efa=0").out


def _fail_writes(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(path: Path, content: bytes) -> int:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "write_bytes", fail)
