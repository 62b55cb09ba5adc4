from pathlib import Path

import pytest

from tests.workloads.cluster.conftest import Program
from training_workloads.bench.cells import Cell, sweep_cells
from training_workloads.bench.sweep import load_sweep
from training_workloads.validation import InputError

GOOD = """
recipe: resnet50-p3dn
runner: cluster
job: {image: registry/training:1}
axes:
  nodes: [1, 2]
  instance_type: [p3dn.24xlarge, p4d.24xlarge]
  --xla: [on]
budget: 100
planned_hours: 0.5
"""


def cells(folder: Path, text: str, machine: str = "") -> list[Cell]:
    path = folder / "sweep.yaml"
    path.write_text(text)
    return sweep_cells(load_sweep(str(path)), machine)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        cells(folder, text)
    return [str(each).removeprefix(f"{folder}/") for each in error.value.problems]


def test_types_stay_together_and_the_most_nodes_are_first(folder: Path) -> None:
    found = cells(folder, GOOD)
    assert [(each.spec.instance_type, each.nodes) for each in found] == [
        ("p3dn.24xlarge", 2),
        ("p3dn.24xlarge", 1),
        ("p4d.24xlarge", 2),
        ("p4d.24xlarge", 1),
    ]
    assert [(each.ranks, each.usd_per_hour) for each in found[:2]] == [(16, 62.424), (8, 31.212)]
    assert found[0].identity["job"]["command"][-2:] == ["--xla", "on"]


def test_the_name_is_a_hash_of_what_it_is(folder: Path) -> None:
    first = [each.name for each in cells(folder, GOOD)]
    assert len(set(first)) == 4
    assert [each.name for each in cells(folder, GOOD.replace("budget: 100", "budget: 200"))] == first
    assert not set(first) & {each.name for each in cells(folder, GOOD.replace("training:1", "training:2"))}


def test_another_machine_makes_another_cell(folder: Path) -> None:
    local = "{recipe: fake, runner: local, axes: {ranks: [2]}}"
    one, same, other = (cells(folder, local, machine)[0].name for machine in ("here", "here", "there"))
    assert one == same != other


def test_storage_chooses_the_claim_at_the_same_path(folder: Path) -> None:
    (cell,) = cells(folder, GOOD.replace("nodes: [1, 2]", "storage: [efs]").replace(", p4d.24xlarge", ""))
    assert [(each.claim, each.mount_path) for each in cell.make("job").volumes] == [("training-efs", "/fsx")]  # type: ignore[union-attr]


def test_reports_every_mistake_of_a_file_with_its_key(folder: Path) -> None:
    text = "recipes: a\nrunner: laptop\naxes:\n  nodes: 2\n  batch: [1, 1]\nrepeats: 0\nbudget: -1\n"
    assert problems(folder, text) == [
        "sweep.yaml:1: 'recipes' is 'a', but it is not a key of a sweep; did you mean recipe or repeats? known: "
        "arguments, axes, budget, job, planned_hours, recipe, repeats, runner",
        "sweep.yaml:1: 'recipe' is missing; give the name of a recipe, such as resnet50-p4d",
        "sweep.yaml:2: 'runner' is 'laptop'; give one of cluster, local",
        "sweep.yaml:4: 'axes.nodes' is 2; give a list with a text or a number each",
        "sweep.yaml:5: 'axes.batch' is [1, 1], but a value is there twice; omit one of them",
        "sweep.yaml:6: 'repeats' is 0; give 1 or more",
        "sweep.yaml:7: 'budget' is -1; give dollars, such as 500",
        "sweep.yaml:1: 'planned_hours' is missing; give hours of a job, such as 0.5",
    ]


def test_a_local_run_has_ranks_and_no_nodes_or_costs(folder: Path) -> None:
    assert problems(folder, "recipe: fake\nrunner: local\naxes: {nodes: [1]}\nbudget: 1\n") == [
        "sweep.yaml:3: 'axes.ranks' is missing; give numbers of ranks, such as [1, 2]",
        "sweep.yaml:3: 'axes.nodes' is [1], but ranks of this machine have no nodes; omit it, or use runner: cluster",
        "sweep.yaml:4: 'budget' is 1, but ranks of this machine cost nothing; omit it",
    ]


def test_reports_the_jobs_beside_the_file_and_every_axis_beside_an_unknown_one(folder: Path) -> None:
    text = GOOD.replace("[1, 2]", "[0]").replace("  --xla: [on]", "  colour: [red]\n  storage: [s3]\nrepeats: 0")
    assert [each.split(" is ")[0] for each in problems(folder, text)] == [
        "sweep.yaml:9: 'axes.storage'",
        "sweep.yaml:10: 'repeats'",
        "sweep.yaml:8: 'axes.colour'",
        "sweep.yaml:6: 'axes.nodes'",
    ]
    assert [each.split(" is ")[0] for each in problems(folder, text.replace("resnet50-p3dn", "resnet50-p9"))] == [
        "sweep.yaml:9: 'axes.storage'",
        "sweep.yaml:10: 'repeats'",
        "sweep.yaml:2: 'recipe'",
    ]


def test_the_old_name_of_a_recipe_is_answered_with_the_new_one(folder: Path) -> None:
    assert problems(folder, GOOD.replace("resnet50-p3dn", "resnet50-p3")) == [
        "sweep.yaml:2: 'recipe' is 'resnet50-p3', but AWS has retired its instance type; give resnet50-p3dn"
    ]


def test_reports_every_job_that_is_not_possible_once(folder: Path) -> None:
    text = GOOD.replace("p4d.24xlarge", "p4d.17xlarge").replace("[1, 2]", "[0, 2]").replace("registry", "localhost")
    found = problems(folder, text)
    assert [each.split(" is ")[0] for each in found] == [
        "sweep.yaml:6: 'axes.nodes'",
        "sweep.yaml:7: 'axes.instance_type'",
        "sweep.yaml:4: 'job.image'",
    ]
    assert "only this machine has it" in found[2]


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ("storage: [s3]", "'axes.storage' is 's3'; give one of lustre, efs"),
        (
            "batch-size: [64]",
            "'axes.batch-size' is 64, but resnet50-p3dn does not have it; omit it, or write --batch-size for an option "
            "of its program",
        ),
        ("--epochs: [1, null]", "'axes.--epochs' is [1, None]; give a list with a text or a number each"),
        ("bind_to: [core]", "'axes.bind_to' is 'core'; give one of socket, none"),
    ],
)
def test_names_the_axis_of_a_value_that_is_not_possible(folder: Path, axis: str, said: str) -> None:
    (found,) = problems(folder, GOOD.replace("nodes: [1, 2]", axis).replace(", p4d.24xlarge", ""))
    assert found.startswith(f"sweep.yaml:6: {said}")


def test_names_the_axis_of_what_the_type_does_not_have(folder: Path) -> None:
    text = GOOD.replace("nodes: [1, 2]", "efa_interfaces: [1]").replace("p3dn.24xlarge, p4d.24xlarge", "g5.4xlarge")
    (found,) = problems(folder, text)
    assert found.startswith("sweep.yaml:6: 'axes.efa_interfaces' is 1, but g5.4xlarge has 0; lower it, or omit it")


@pytest.mark.parametrize(("axis", "least"), [("--batch-size: [64]", [2]), ("workers: [1, 3]", [3, 1])])
def test_an_elastic_job_waits_for_all_workers_of_its_cell(folder: Path, axis: str, least: list[int]) -> None:
    text = GOOD.replace("resnet50-p3dn", "torch-resnet50-p4d").replace("nodes: [1, 2]", axis)
    text = text.replace("  instance_type: [p3dn.24xlarge, p4d.24xlarge]\n", "")
    assert [each.spec.min_workers for each in cells(folder, text)] == least  # type: ignore[union-attr]


def test_a_train_job_is_not_measured(folder: Path) -> None:
    text = GOOD.replace("resnet50-p3dn", "torch-resnet50-p4d").replace("training:1", "training:1, kind: TrainJob")
    found = problems(folder, text.replace("  instance_type: [p3dn.24xlarge, p4d.24xlarge]\n", ""))
    assert found == ["sweep.yaml:4: 'job.kind' is 'TrainJob', but a sweep waits for MPIJobs and Jobs; omit it"]


@pytest.mark.parametrize(
    ("axis", "first", "second"),
    [
        # What argparse gets is the same text.
        ("--seed: [3, '3']", "--seed 3", "--seed 3"),
        ("--xla: [on, 'on']", "--xla True", "--xla on"),
    ],
)
def test_two_combinations_that_are_one_job_are_rejected(folder: Path, axis: str, first: str, second: str) -> None:
    text = GOOD.replace("  --xla: [on]\n", "").replace("nodes: [1, 2]", axis).replace(", p4d.24xlarge", "")
    (found,) = problems(folder, text)
    title = "resnet50-p3dn, {}, instance_type p3dn.24xlarge"
    assert found == (
        f"sweep.yaml:6: 'axes.{axis.split(':')[0]}' is '{title.format(second)}', but {title.format(first)} is the same "
        "job; omit one of them"
    )


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ("storage: hello", "'job.storage' is 'hello'; give one of lustre, efs"),
        ("ranks: hello", "'job.ranks' is 'hello', but the ranks of a cluster are the GPUs of its nodes; use nodes"),
        ("nodes: 4", "'job.nodes' is 4, but it is an axis too; omit one of them"),
        ("gpus_per_worker: 4", "'job.gpus_per_worker' is 4, but 'nodes' sets it; omit one of them"),
        ("workers: 4", "'job.workers' is 4, but 'nodes' sets it; omit one of them"),
    ],
)
def test_a_field_of_the_job_is_used_or_rejected(folder: Path, job: str, said: str) -> None:
    found = problems(folder, GOOD.replace("image: registry/training:1", f"image: registry/training:1, {job}"))
    assert found[0] == f"sweep.yaml:4: {said}"


def test_a_field_that_a_recipe_needs_belongs_to_the_job(folder: Path) -> None:
    found = problems(folder, "{recipe: stage-data, runner: local, axes: {ranks: [1]}}")
    assert [each.split(";")[0] for each in found] == [
        "sweep.yaml:1: 'job.source' is missing, but stage-data needs it",
        "sweep.yaml:1: 'job.service_account' is missing, but stage-data needs it",
    ]


def test_workers_beside_nodes_are_rejected(folder: Path) -> None:
    (found,) = problems(folder, GOOD.replace("  --xla: [on]", "  workers: [2, 3]"))
    assert found == "sweep.yaml:8: 'axes.workers' is [2, 3], but 'nodes' sets it; omit one of them"


@pytest.mark.parametrize("job", ["ranks: 1", "storage: efs", "nodes: 1"])
def test_a_local_run_has_no_such_field(folder: Path, job: str) -> None:
    (found,) = problems(folder, f"{{recipe: fake, runner: local, axes: {{ranks: [2]}}, job: {{{job}}}}}")
    assert found.startswith(f"sweep.yaml:1: 'job.{job.split(':')[0]}' is ")


@pytest.mark.parametrize("name", ["name", "job_name", "among", "scheduling"])
def test_an_unknown_field_of_a_job_is_a_problem(folder: Path, name: str) -> None:
    (found,) = problems(folder, GOOD.replace("image: registry/training:1", f"image: registry/training:1, {name}: a"))
    assert found.startswith(f"sweep.yaml:4: 'job.{name}' is 'a', but a sweep cannot set it; ")
    (found,) = problems(folder, GOOD.replace("  --xla: [on]", f"  {name}: [a]"))
    assert found.startswith(f"sweep.yaml:8: 'axes.{name}' is ['a'], but a sweep cannot set it; ")


def test_warns_of_a_retired_type(folder: Path, program: Program) -> None:
    (folder / "sweep.yaml").write_text(GOOD.replace("p4d.24xlarge", "p3.16xlarge"))
    result = program("bench", "run", "sweep.yaml", "--list")
    assert result.code == 0
    assert result.err == (
        "warning: 'instance_type' is 'p3.16xlarge', but AWS retired it on 2025-12-20 "
        "(https://github.com/zalando-incubator/kubernetes-on-aws/pull/8685) and EC2 offers it in no region, so its "
        "jobs stay Pending; choose p3dn.24xlarge or p4d.24xlarge\n"
    )


def test_lists_the_cells_and_what_they_cost(folder: Path, program: Program) -> None:
    (folder / "sweep.yaml").write_text(GOOD.replace(", p4d.24xlarge", "") + "repeats: 2\n")
    result = program("bench", "run", "sweep.yaml", "--list")
    # Half an hour of one or two p3dn.24xlarge at $31.212, twice.
    assert [line.partition("; ")[2] for line in result.out.splitlines()[:2]] == [
        "16 ranks; 2 x p3dn.24xlarge, $62.42 as planned",
        "8 ranks; 1 x p3dn.24xlarge, $31.21 as planned",
    ]
    assert result.out.splitlines()[2] == "4 jobs, $93.64 as planned; the budget is $100.00"
    (folder / "sweep.yaml").write_text("{recipe: fake, runner: local, axes: {ranks: [1]}}")
    assert program("bench", "run", "sweep.yaml", "--list").out.partition("  ")[2] == "fake, ranks 1; 1 rank\n"
    assert not (folder / "dist").exists()
