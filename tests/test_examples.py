"""Every example runs, and its page shows it unchanged.

The examples run in this process, as another interpreter and its Node.js take seconds to start.
"""

import difflib
import runpy
from functools import partial
from itertools import pairwise
from pathlib import Path

import aws_cdk as cdk
import cdk8s
import pytest
import yaml

from tests.schemas import check_manifest
from training.imagenet.recipe import sgd
from training_workloads.bench.cells import sweep_cells
from training_workloads.bench.sweep import load_sweep
from training_workloads.cli import main


def test_own_app_synthesizes_a_cluster_with_efa(root: Path) -> None:
    app: cdk.App = runpy.run_path(str(root / "examples/own_app.py"))["app"]
    template = app.synth().get_stack_by_name("MyTraining").template
    kinds = [resource["Type"] for resource in template["Resources"].values()]
    assert kinds.count("AWS::EKS::Nodegroup") == 2
    assert kinds.count("Custom::AWSCDK-EKS-HelmChart") == 3
    launch_templates = [
        r["Properties"] for r in template["Resources"].values() if r["Type"] == "AWS::EC2::LaunchTemplate"
    ]
    interfaces = [each["LaunchTemplateData"].get("NetworkInterfaces", []) for each in launch_templates]
    assert sorted(map(len, interfaces)) == [0, 5]


EXAMPLES = sorted((Path(__file__).parents[1] / "examples/constructs").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_of_a_construct_synthesizes_and_its_page_shows_it(example: Path, root: Path) -> None:
    app: cdk.App = runpy.run_path(str(example))["app"]
    assert [stack.template["Resources"] for stack in app.synth().stacks_recursively]
    page = root / f"docs/constructs/{example.stem.replace('_', '-')}.md"
    assert f"```python\n{example.read_text()}```" in page.read_text()


def test_every_construct_page_has_an_example(root: Path) -> None:
    pages = {page.stem.replace("-", "_") for page in (root / "docs/constructs").glob("*.md")}
    assert pages - {"README"} == {example.stem for example in EXAMPLES}


JOBS = sorted((Path(__file__).parents[1] / "examples/jobs").glob("*.py"))


@pytest.mark.parametrize("example", JOBS, ids=lambda path: path.stem)
def test_the_example_of_a_job_renders_and_its_page_shows_it(
    example: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # cdk8s writes into dist/ of the working directory; its environment variable is read by Node.js, which runs already.
    monkeypatch.setattr(cdk8s, "App", partial(cdk8s.App, outdir=str(tmp_path)))
    runpy.run_path(str(example))
    rendered = sorted(tmp_path.glob("*.k8s.yaml"))
    assert rendered
    for document in (each for path in rendered for each in yaml.safe_load_all(path.read_text())):
        check_manifest(document)
    page = root / f"docs/jobs/{example.stem.replace('_', '-')}.md"
    assert f"```python\n{example.read_text()}```" in page.read_text()


def test_every_page_of_a_job_has_an_example(root: Path) -> None:
    pages = {page.stem.replace("-", "_") for page in (root / "docs/jobs").glob("*.md")}
    assert pages - {"README"} == {example.stem for example in JOBS}


SWEEPS = sorted((Path(__file__).parents[1] / "examples/bench").glob("*.yaml"))


@pytest.mark.parametrize("example", SWEEPS, ids=lambda path: path.stem)
def test_the_jobs_of_a_sweep_are_possible_and_their_plan_is_within_the_budget(example: Path) -> None:
    sweep = load_sweep(str(example))
    cells = sweep_cells(sweep, "a machine" if sweep.runner == "local" else "")
    assert len(cells) >= 2
    planned = sum(cell.usd_per_hour * (sweep.planned_hours or 0) * sweep.repeats for cell in cells)
    assert planned <= (sweep.budget or 0)


@pytest.mark.parametrize("example", SWEEPS, ids=lambda path: path.stem)
def test_the_runs_of_a_sweep_are_longer_than_their_warm_up(example: Path) -> None:
    sweep = load_sweep(str(example))
    for cell in sweep_cells(sweep, "a machine" if sweep.runner == "local" else ""):
        words = getattr(cell.spec, "command", ())
        if {"training.resnet50", "training.torch_imagenet"} & set(words):
            given = dict(pairwise(words))
            warmup = int(given["--warmup-epochs"]) if "--warmup-epochs" in given else None
            others = dict.fromkeys(("learning_rate", "weight_decay", "momentum"))
            # It raises an error otherwise, as the programs do.
            sgd(epochs=int(given["--epochs"]), warmup_epochs=warmup, **others)


def test_the_page_on_benchmarks_shows_a_sweep_and_names_all(root: Path) -> None:
    page = (root / "docs/bench.md").read_text()
    assert f"```yaml\n{(root / 'examples/bench/resnet50_p3dn.yaml').read_text()}```" in page
    assert [path.name for path in SWEEPS if path.name not in page] == []


def test_the_readme_shows_the_example(root: Path) -> None:
    assert (root / "examples/own_app.py").read_text() in (root / "README.md").read_text()


def test_the_readme_shows_what_the_lint_says_of_the_broken_job(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr("sys.argv", ["trainctl", "lint", "examples/broken_job.yaml"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().out.splitlines()
    shown = (
        (root / "README.md")
        .read_text()
        .partition("$ trainctl lint examples/broken_job.yaml\n")[2]
        .partition("\n```")[0]
    )
    # The page wraps the lines.
    assert " ".join(shown.split()) == " ".join(" ".join(said).split())


@pytest.mark.parametrize(
    ("page", "before", "after"),
    [
        ("own-job", "keras_before", "keras_after"),
        ("own-job", "ddp_before", "ddp_after"),
        ("from-horovod", "horovod_loop", "horovod_loop_in_ddp"),
    ],
)
def test_a_page_shows_what_changes_in_a_script(page: str, before: str, after: str, root: Path) -> None:
    old, new = ((root / f"examples/own_job/{name}.py").read_text().splitlines() for name in (before, after))
    lines = difflib.unified_diff(old, new, "train.py", "train.py", n=1, lineterm="")
    assert "\n".join(["```diff", *lines, "```"]) in (root / f"docs/{page}.md").read_text()
