"""Who may import whom: the layers of the packages, no cycles, no imports that a user does not have."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from setup.layers import LAYERS
from setup.source_tree import (
    PROJECT,
    cycles,
    imported_modules,
    imported_names,
    module_name,
    modules,
    names_of_import,
    python_files,
    tree,
)

LIBRARIES = ["aws_cdk", "cdk8s", "cdk8s_plus_27", "constructs", "training_workloads", "training_cluster", "stacks"]

#: What no module of a package imports.
FORBIDDEN = {
    "workloads/training_workloads": {"aws_cdk", "training_cluster", "stacks", "training", "tensorflow", "horovod"},
    "constructs/training_cluster": {"stacks", "training", "tensorflow", "horovod"},
    "stacks": {"training", "tensorflow", "horovod"},
    "app.py": {"training", "tensorflow", "horovod", "cdk8s"},
    "training": {*LIBRARIES, "scan"},
    "scan": {"training", "tensorflow", "horovod"},
    # A tool depends on no test.
    "docs": {"tests"},
    "setup": {"tests"},
}


def part(name: str) -> str:
    """Return the part of a package that a module belongs to: the second word of its name."""
    return name.split(".")[1]


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_a_package_does_not_import_the_layers_above_it(folder: str) -> None:
    files = [path for path in python_files(folder) if not path.is_relative_to(PROJECT)]
    found = {name.partition(".")[0] for path in files for name in imported_names(path)}
    assert found, "no import was found: does the folder exist?"
    assert found & FORBIDDEN[folder] == set()


@pytest.mark.parametrize("package", LAYERS)
def test_every_part_of_a_package_has_a_layer(package: str) -> None:
    known = set().union(*LAYERS[package])
    assert known == {part(name) for name in modules() if name.startswith(f"{package}.")}


@pytest.mark.parametrize("package", LAYERS)
def test_a_part_imports_the_layers_below_it_only(package: str) -> None:
    height = {each: index for index, layer in enumerate(LAYERS[package]) for each in layer}
    wrong = set()
    for name in (name for name in modules() if name.startswith(f"{package}.")):
        for other in imported_modules(name):
            if other == package:
                wrong.add(f"{name} imports the whole package")
            elif other.startswith(f"{package}.") and part(other) != part(name):
                if height[part(other)] >= height[part(name)]:
                    wrong.add(f"{name} imports {other}")
    assert not wrong, "\n".join(sorted(wrong))


def test_torch_and_tensorflow_never_meet() -> None:
    """Neither in a module of the package, nor in all that a module imports when it is imported itself."""
    of_torch, of_tensorflow = {"torch", "torchvision"}, {"tensorflow", "horovod"}
    found = {name: frameworks(name) for name in modules() if name.startswith("training.")}
    assert found["training.torch_imagenet.__main__"] == of_torch
    assert found["training.torch.resumable_run"] == {"torch"}
    assert found["training.mask_rcnn.__main__"] == of_tensorflow
    # Its ranks import Horovod, or not.
    assert found["training.resnet50.__main__"] == {"tensorflow"}
    assert not [name for name, each in found.items() if each & of_torch and each & of_tensorflow]


def frameworks(name: str) -> set[str]:
    """Return the frameworks that the import of a module imports, directly or not."""
    seen, waiting, found = set(), [name], set()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        # What is not imported at the top, such as for type checks or in a function, is not imported here.
        for statement in tree(modules()[module]).body:
            names = names_of_import(statement, modules()[module])
            found |= {each.partition(".")[0] for each in names}
            waiting += [each for name in names for each in (name, name.rpartition(".")[0]) if each in modules()]
    return found & {"torch", "torchvision", "tensorflow", "horovod"}


def test_there_is_no_import_cycle() -> None:
    found = cycles({name: imported_modules(name) for name in modules()})
    assert not found, "\n".join(map(str, found))


def test_finds_a_cycle() -> None:
    graph = {"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"b"}), "d": frozenset({"a"})}
    assert cycles(graph) == [["b", "c"]]


def test_relative_imports_and_imports_for_types_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setup.source_tree.SOURCE_ROOTS", (tmp_path,))
    path = tmp_path / "package/part.py"
    path.parent.mkdir()
    path.write_text("if TYPE_CHECKING:\n    from . import beside\n    from ..above import name\nimport a.b\n")
    assert module_name(path) == "package.part"
    assert list(imported_names(path)) == ["a.b", "package.beside", "above.name"]


@pytest.mark.parametrize(
    ("package", "blocked"),
    [("training_workloads", ["aws_cdk", "tensorflow"]), ("training_cluster", ["tensorflow", "horovod"])],
)
def test_a_package_imports_without_the_others(package: str, blocked: list[str]) -> None:
    block = "; ".join(f"sys.modules[{name!r}] = None" for name in blocked)
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; {block}; import {package}"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_constructs_is_the_cdk_library_from_the_repository_root(root: Path) -> None:
    program = "import constructs; print(constructs.Construct, constructs.__file__)"
    result = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert "site-packages" in result.stdout
    assert not (root / "constructs/__init__.py").exists()


def test_the_wheel_contains_the_two_libraries_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.partition("/")[0] for name in names}
    assert {name for name in folders if not name.endswith(".dist-info")} == {"training_cluster", "training_workloads"}
    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]
