"""Docker or Podman on this machine; both take the same words."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from training_workloads.images.build_folder import ImageError, ignore_file
from training_workloads.validation import MISSING, InputError, Problem

__all__ = ["ENGINES", "ContainerEngine", "find_engine"]

#: The programs, the preferred one first.
ENGINES: Final = ("docker", "podman")

# A daemon that hangs counts as one that does not run.
_ANSWER_SECONDS: Final = 10.0


class ContainerEngine:
    """The program that builds and pushes; what it prints goes to the user's terminal."""

    def __init__(self, program: str) -> None:
        self.program = program

    def build(self, folder: Path, dockerfile: Path, name: str, arguments: Mapping[str, str]) -> None:
        """Build an image.

        Raises:
            ImageError: The build failed.
        """
        words = ["build", "--file", str(folder / dockerfile), "--tag", name]
        ignored = ignore_file(folder, dockerfile)
        if ignored and self.program == "podman":
            # Docker finds the file beside the Dockerfile by itself.
            words += ["--ignorefile", str(ignored)]
        for argument, value in arguments.items():
            words += ["--build-arg", f"{argument}={value}"]
        self._run(*words, str(folder))

    def require(self, name: str) -> None:
        """Reject an image that this machine does not have."""
        found = subprocess.run([self.program, "image", "inspect", name], capture_output=True, check=False)
        if found.returncode != 0:
            fix = "build it with 'trainctl image build', or give the name of another"
            raise InputError(Problem(path=("image",), given=name, allowed=f"{self.program} does not have it", fix=fix))

    def push(self, name: str, address: str, password: str) -> None:
        """Push an image to a registry of ECR under an address.

        Raises:
            ImageError: The registry rejects the password or the image.
        """
        registry = address.partition("/")[0]
        self._run("login", "--username", "AWS", "--password-stdin", registry, password=password)
        self._run("tag", name, address)
        self._run("push", address)

    def _run(self, *words: str, password: str | None = None) -> None:
        done = subprocess.run([self.program, *words], input=password, text=True, check=False)
        if done.returncode != 0:
            raise ImageError(f"'{self.program} {words[0]}' ended with {done.returncode}; its own message is above")


def find_engine(given: str | None, *, otherwise: str = "") -> ContainerEngine:
    """Return the engine that the user named, else the first that answers: Docker's program may be without its daemon.

    `otherwise` is the alternative without one, after "or ", for the error.
    """
    ways = f", or {otherwise}" if otherwise else ""
    installed = [program for program in (ENGINES if given is None else (given,)) if shutil.which(program)]
    if not installed:
        allowed = "docker and podman are not on the PATH" if given is None else "it is not on the PATH"
        fix = f"install one{ways}"
        raise InputError(Problem(path=("engine",), given=MISSING if given is None else given, allowed=allowed, fix=fix))
    answers = {program: _answer(program) for program in installed}
    working = [program for program, answer in answers.items() if answer is None]
    if not working:
        allowed = "; ".join(f"{program} does not answer: {answer}" for program, answer in answers.items())
        fix = f"start it{ways}"
        raise InputError(Problem(path=("engine",), given=MISSING if given is None else given, allowed=allowed, fix=fix))
    return ContainerEngine(working[0])


def _answer(program: str) -> str | None:
    """Return why an engine does not work, or None."""
    try:
        done = subprocess.run(
            [program, "version"], capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"nothing within {_ANSWER_SECONDS:g} s"
    lines = done.stderr.strip().splitlines() or ["no message"]
    return lines[-1] if done.returncode else None
