"""Recipes of a folder, of installed packages and of the library, and the mistakes of their authors."""

import re
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from training_workloads import HorovodJobSpec, InputError
from training_workloads.recipes import RECIPES, find_recipes, recipe, recipe_names

TRAIN = """\
from training_workloads import HorovodJobSpec

def train(name):
    return HorovodJobSpec(
        name=name, image="image:1", command=("python", "train.py"), instance_type="p4d.24xlarge", workers=2
    )

"""
OWN = f'{TRAIN}RECIPES = {{"mine": train, "digits": train}}\n'


def problem(folder: Path, text: str, name: str = "mine", job_name: str | None = None, **changes: Any) -> str:
    """Return the problem of the file recipes.py with a text, without its folder."""
    (folder / "recipes.py").write_text(text)
    with pytest.raises(InputError) as caught:
        recipe(name, job_name, among=find_recipes(folder), **changes)
    return str(caught.value).replace(f"{folder}/", "")


def install(monkeypatch: pytest.MonkeyPatch, *installed: EntryPoint) -> None:
    known = EntryPoints(installed)
    monkeypatch.setattr("training_workloads.recipes.recipe_sources.entry_points", known.select)


class Package:
    """The metadata of an installed package."""

    name = "acme-jobs"
    version = "1.0"


def entry_point(name: str, value: str) -> EntryPoint:
    found = EntryPoint(name, value, "trainctl.recipes")
    vars(found)["dist"] = Package()
    return found


def test_a_folder_without_recipes_has_those_of_the_library(tmp_path: Path) -> None:
    assert recipe_names(tmp_path) == sorted(RECIPES)
    assert {each.origin for each in find_recipes(tmp_path).values()} == {"library"}


def test_the_names_survive_text_that_python_cannot_parse(tmp_path: Path) -> None:
    (tmp_path / "recipes.py").write_text("(" * 10_000)
    assert recipe_names(tmp_path) == sorted(RECIPES)
    (tmp_path / "recipes.py").write_text("-" * 100_000 + "1")
    assert recipe_names(tmp_path) == sorted(RECIPES)


def test_the_names_of_recipes_need_no_node(tmp_path: Path) -> None:
    program = (
        "import sys; from training_workloads.recipes import recipe_names; recipe_names(); print('jsii' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_a_recipe_of_the_folder_comes_before_one_of_the_library(tmp_path: Path) -> None:
    (tmp_path / "recipes.py").write_text(OWN)
    found = find_recipes(tmp_path)
    assert recipe_names(tmp_path) == sorted({*RECIPES, "mine"})
    job = recipe("digits", "other", among=found, workers=3)
    assert isinstance(job, HorovodJobSpec)
    assert (job.name, job.command, job.workers) == ("other", ("python", "train.py"), 3)
    assert recipe("digits-p4d", among=found).image == "localhost/training:latest"


def test_an_installed_recipe_comes_between_the_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    p5 = "training_workloads.recipes.digits:digits_p5"
    install(monkeypatch, entry_point("theirs", p5), entry_point("mine", p5), entry_point("nccl-p3dn", p5))
    (tmp_path / "recipes.py").write_text(OWN)
    found = find_recipes(tmp_path)
    names = ("theirs", "mine", "nccl-p3dn")
    instance_types = {name: vars(recipe(name, among=found))["instance_type"] for name in names}
    assert instance_types == {"theirs": "p5.48xlarge", "mine": "p4d.24xlarge", "nccl-p3dn": "p5.48xlarge"}


def test_the_page_shows_a_recipe_and_what_mistakes_print(tmp_path: Path, root: Path) -> None:
    page = (root / "docs/own-project.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    (tmp_path / "recipes.py").write_text(example)
    assert recipe("bert", among=find_recipes(tmp_path)).name == "bert"
    wrong = re.sub(r'\("python".*\),', '"python train.py",', example)
    assert f"error: {problem(tmp_path, wrong, 'bert')}\n" in page
    assert f"error: {problem(tmp_path, 'import acme')}\n" in page


def test_recipes_import_what_is_beside_them(tmp_path: Path) -> None:
    (tmp_path / "own_settings.py").write_text("WORKERS = 4\n")
    text = OWN.replace("workers=2", "workers=own_settings.WORKERS")
    (tmp_path / "recipes.py").write_text(f"import own_settings\n{text}")
    assert vars(recipe("mine", among=find_recipes(tmp_path)))["workers"] == 4


def test_nothing_else_imports_what_is_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text("raise RuntimeError\n")
    (tmp_path / "own_lazy.py").write_text("WORKERS = 4\n")
    text = OWN.replace("workers=2", "workers=own_lazy.WORKERS").replace(
        "    return", "    import own_lazy, recipes\n    return"
    )
    (tmp_path / "recipes.py").write_text(f"import yaml\n{text}")
    before = list(sys.path), sys.modules.get("recipes")
    found = find_recipes(tmp_path)
    assert (list(sys.path), sys.modules.get("recipes")) == before
    assert vars(recipe("mine", among=found))["workers"] == 4
    assert (list(sys.path), sys.modules.get("recipes")) == before


def test_an_unknown_name_suggests_those_of_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, entry_point("mile", "acme:mile"))
    text = problem(tmp_path, OWN, "mime")
    assert text == "'recipe' is 'mime', but it is not known; did you mean mine or mile?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef f(:\n", "recipes.py:2 is 'def f(:', but it raises SyntaxError: invalid syntax; correct the line"),
        (
            "import torch_of_nowhere\n",
            "recipes.py:1 is 'import torch_of_nowhere', but it raises ModuleNotFoundError: No module named "
            "'torch_of_nowhere'; correct the line, or install the package into the environment of trainctl",
        ),
        (
            "x = int('two')\n",
            "recipes.py:1 is \"x = int('two')\", but it raises ValueError: invalid literal for int() with base 10: "
            "'two'; correct the line",
        ),
        (
            "from training_workloads import InputError\nraise InputError('no bucket')\n",
            "recipes.py:2: no bucket",
        ),
        ("raise SystemExit\n", "recipes.py:1 is 'raise SystemExit', but it raises SystemExit; correct the line"),
        (
            "import pytest\npytest.param(id=5)\n",
            "recipes.py:2 is 'pytest.param(id=5)', but it raises TypeError: Expected id to be a string or a "
            "`pytest.HIDDEN_PARAM` sentinel, got <class 'int'>: 5; correct the line",
        ),
        (
            "",
            "recipes.py: 'RECIPES' is missing; give a dictionary of names and functions, such as "
            'RECIPES = {"digits": digits}',
        ),
        (
            "RECIPES = ['mine']\n",
            "recipes.py: 'RECIPES' is ['mine']; give a dictionary of names and functions, such as "
            'RECIPES = {"digits": digits}',
        ),
        (
            "RECIPES = {'mine': 5}\n",
            "recipes.py: 'RECIPES.mine' is 5, but a recipe is a function; define it as def …(name: str) and return "
            "the job",
        ),
        (
            "def f(name, size): pass\nRECIPES = {'mine': f}\n",
            "recipes.py:1: 'RECIPES.mine' is f, but it must take the job's name alone: missing a required argument: "
            "'size'; define it as def …(name: str) and return the job",
        ),
        (
            "\ndef f(name): pass\nRECIPES = {'mine': f}\n",
            "recipes.py:2: 'RECIPES.mine' is f, but it returns None; return a job, such as "
            "HorovodJobSpec(name=name, …)",
        ),
        (
            "def f(name):\n    return {}[name]\nRECIPES = {'mine': f}\n",
            "recipes.py:2 is 'return {}[name]', but it raises KeyError: 'mine'; correct the line",
        ),
        (
            OWN.replace("name=name", "name='x'"),
            "recipes.py:3: 'RECIPES.mine' is train, but for the name 'mine' it returns a job with the name 'x'; "
            "return a job, such as HorovodJobSpec(name=name, …)",
        ),
        (
            OWN.replace("workers=2", "workers=0"),
            "recipes.py:4: 'workers' is 0; give 1 or more",
        ),
    ],
)
def test_a_mistake_in_the_file_is_a_line_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    assert problem(tmp_path, text) == message


def test_a_null_byte_is_a_mistake_of_the_file(tmp_path: Path) -> None:
    # ValueError in Python 3.11.2, which Debian 12 has; SyntaxError in newer ones.
    raised = re.sub("ValueError|SyntaxError", "…", problem(tmp_path, "x = '\0'\n"))
    assert raised == (
        "recipes.py is a file, but it raises …: source code string cannot contain null bytes; correct the line"
    )


def test_a_mistake_in_a_module_beside_the_file_is_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "beside_recipes.py").write_text("x = 1 / 0\n")
    message = "beside_recipes.py:1 is 'x = 1 / 0', but it raises ZeroDivisionError: division by zero; correct the line"
    assert problem(tmp_path, "import beside_recipes\n") == message


def test_a_name_of_the_command_line_is_no_mistake_of_the_file(tmp_path: Path) -> None:
    rule = "give lower-case letters, digits and '-', a letter first and no '-' at the end, at most 63"
    assert problem(tmp_path, OWN, job_name="a_b") == f"'name' is 'a_b'; {rule}"
    assert problem(tmp_path, OWN.replace('"mine"', '"a_b"'), "a_b") == f"recipes.py:4: 'name' is 'a_b'; {rule}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def a(name): ...\nRECIPES: dict = {'mine': a, **OTHERS, 5: a}", ["mine"]),
        ("RECIPES = {'mine': 1}\nRECIPES = made()", ["mine"]),
        ("RECIPES = {", []),
        ("\0", []),
    ],
)
def test_a_completion_reads_names_and_runs_nothing(tmp_path: Path, text: str, names: list[str]) -> None:
    (tmp_path / "recipes.py").write_text(f"raise SystemExit('this file was run')\n{text}\n")
    assert recipe_names(tmp_path) == sorted([*RECIPES, *names])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "acme_of_nowhere:job",
            "acme_of_nowhere:job raises ModuleNotFoundError: No module named 'acme_of_nowhere'; update or uninstall "
            "the package",
        ),
        (
            "json:job",
            "json:job raises AttributeError: module 'json' has no attribute 'job'; update or uninstall the package",
        ),
        ("builtins:print", "it returns None; return a job, such as HorovodJobSpec(name=name, …)"),
    ],
)
def test_a_broken_package_is_named_where_its_recipe_is_used(
    value: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, entry_point("theirs", value))
    found = find_recipes(tmp_path)
    assert recipe("digits", among=found).name == "digits"
    with pytest.raises(InputError) as caught:
        recipe("theirs", among=found)
    assert str(caught.value) == f"acme-jobs 1.0: 'recipe' is 'theirs', but {message}"


@pytest.mark.parametrize("what", ["a folder", "a link to a file that does not exist"])
def test_a_folder_or_a_broken_link_has_no_recipes(what: str, tmp_path: Path) -> None:
    path = tmp_path / "recipes.py"
    path.mkdir() if what == "a folder" else path.symlink_to("gone.py")
    with pytest.raises(InputError) as caught:
        find_recipes(tmp_path)
    assert str(caught.value) == (
        f"'recipes' is '{path}', but it is {what}, and recipes are in a file of that name; rename or remove it"
    )
