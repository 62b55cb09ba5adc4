"""The wheel alone, in a fresh environment outside the repository: `trainctl`, a project, and recipes of a package."""

import os
import subprocess
from pathlib import Path

import pytest

PACKAGE = """\
from training_workloads import NcclTestJobSpec

def job(name):
    return NcclTestJobSpec(name=name, image="image:1", instance_type="p5.48xlarge")
"""


class User:
    """A user with an environment, in a folder."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.environment, self.folder = environment, folder

    def run(self, *command: str, **variables: str) -> str:
        """Run a program of the environment, without the paths of this repository, and return what it prints."""
        known = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        result = subprocess.run(
            [self.environment / "bin" / command[0], *command[1:]],
            cwd=self.folder,
            env={**known, **variables, "PATH": f"{self.environment / 'bin'}:{known['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


@pytest.fixture(scope="module")
def user(user_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> User:
    """A user with a project, made by `init`."""
    folder = tmp_path_factory.mktemp("home")
    User(user_environment, folder).run("trainctl", "init", "mine")
    return User(user_environment, folder / "mine")


def test_the_libraries_are_those_of_the_wheel(user: User) -> None:
    # Without the import, which the tests of the project do: the AWS CDK needs seconds.
    names = ("training_cluster", "training_workloads")
    program = f"from importlib.util import find_spec; print(*(find_spec(name).origin for name in {names}))"
    files = user.run("python", "-c", program).split()
    assert len(files) == 2
    assert all(Path(file).is_relative_to(user.environment) for file in files)
    assert user.run("trainctl", "--version").startswith("trainctl 0.1.0\n")


def test_the_jobs_of_a_new_project_and_of_an_installed_package_are_rendered(user: User, tmp_path: Path) -> None:
    (tmp_path / "acme_jobs.py").write_text(PACKAGE)
    metadata = tmp_path / "acme_jobs-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-jobs\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[trainctl.recipes]\nacme = acme_jobs:job\n")
    rendered = user.run("trainctl", "render", "mine", "acme", PYTHONPATH=str(tmp_path)).splitlines()
    assert sorted(rendered) == ["dist/jobs/acme.k8s.yaml", "dist/jobs/mine.k8s.yaml"]


def test_the_job_of_a_new_project_has_no_findings(user: User) -> None:
    assert user.run("trainctl", "lint", "dist/jobs/mine.k8s.yaml") == "0 errors, 0 warnings in 1 file\n"


def test_the_platform_is_rendered(user: User) -> None:
    user.run("trainctl", "platform", "render")
    assert (user.folder / "dist/platform/mpi-operator.k8s.yaml").is_file()


def test_the_tests_of_a_new_project_pass_and_synthesize_its_cluster(user: User) -> None:
    assert "2 passed" in user.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
