"""The layers of docs/design: which package may import which."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGES = {
    "training_workloads": "workloads/training_workloads",
    "training_cluster": "constructs/training_cluster",
    "stacks": "stacks",
    "app.py": "app.py",
    "training": "training",
}

FORBIDDEN = {
    "training_workloads": {"aws_cdk", "training_cluster", "stacks", "training", "tensorflow", "horovod"},
    "training_cluster": {"stacks", "training", "tensorflow", "horovod"},
    "stacks": {"training", "tensorflow", "horovod"},
    "app.py": {"training", "tensorflow", "horovod", "cdk8s"},
    "training": {"aws_cdk", "cdk8s", "cdk8s_plus_27", "constructs", "training_workloads", "training_cluster", "stacks"},
}


def imported(folder: Path) -> set[str]:
    names = set()
    for path in [folder] if folder.is_file() else folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("package", FORBIDDEN)
def test_a_layer_imports_only_what_is_below_it(package: str, root: Path) -> None:
    found = imported(root / PACKAGES[package])
    assert found, "no import was found: is the folder still there?"
    assert found & FORBIDDEN[package] == set()


@pytest.mark.parametrize(
    ("package", "blocked"),
    [("training_workloads", ["aws_cdk", "tensorflow"]), ("training_cluster", ["tensorflow", "horovod"])],
)
def test_a_package_imports_with_the_others_blocked(package: str, blocked: list[str]) -> None:
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


def test_only_the_two_libraries_go_into_the_wheel(root: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    folders = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in folders if not name.endswith(".dist-info")} == {"training_cluster", "training_workloads"}
