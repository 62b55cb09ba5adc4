"""The files that SageMaker gives a container, and those that it takes from it: below /opt/ml.

https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-running-container.html,
https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-output.html and, for the list of hosts,
the tests of https://github.com/aws/sagemaker-python-sdk (read 2026-11-23)
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from training.runtime import rank_checkpoint
from training.runtime.errors import UserError

ROOT = Path("/opt/ml")

# SageMaker shows this many characters of the file.
_LONGEST = 1024

# SageMaker's own files beside those that it copies to S3, which come and go: <name>.sagemaker-uploading, -uploaded
# (https://github.com/aws/sagemaker-xgboost-container/blob/master/src/sagemaker_xgboost_container/checkpointing.py, read
# 2026-11-24).
_MARKER = ".sagemaker-"

_RESULTS = "results.json"
_EXPORTED = "model.*"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hosts:
    """The hosts of a job.

    Attributes:
        name: This host.
        names: All hosts; the order decides which ranks each of them has, and is the same on all.
        interface: The network interface by which they reach each other.
    """

    name: str
    names: tuple[str, ...]
    interface: str

    @property
    def number(self) -> int:
        """The number of this host, from 0."""
        return self.names.index(self.name)


@dataclass(frozen=True, slots=True)
class Folders:
    """SageMaker's folders of one container."""

    root: Path

    @property
    def data(self) -> Path:
        """For results: SageMaker copies it to S3, whether the job succeeds or fails."""
        return self.root / "output/data"

    @property
    def model(self) -> Path:
        """For the trained model: SageMaker copies it to S3."""
        return self.root / "model"

    @property
    def checkpoints(self) -> Path:
        """SageMaker keeps it the same as a folder in S3, from which it fills the next start of the job."""
        return self.root / "checkpoints"

    def hosts(self) -> Hosts:
        """Return the hosts of the job, of which SageMaker gives each container the same list."""
        path = self.root / "input/config/resourceconfig.json"
        found = _read(path)
        name, names, interface = (found.get(key) for key in ("current_host", "hosts", "network_interface_name"))
        if not isinstance(name, str) or not isinstance(interface, str) or not _are_names(names) or name not in names:
            raise UserError(
                f"{path} is {json.dumps(found)}; give 'hosts', one of them as 'current_host', and "
                "'network_interface_name', as SageMaker does"
            )
        return Hosts(name=name, names=tuple(sorted(names)), interface=interface)

    def hyperparameters(self) -> list[str]:
        """Return the hyperparameters as options of the program; one without a value is a flag."""
        path = self.root / "input/config/hyperparameters.json"
        found = _read(path) if path.exists() else {}
        wrong = [name for name, value in found.items() if not isinstance(value, str)]
        if wrong:
            raise UserError(f"{path} has {wrong[0]!r} with {found[wrong[0]]!r}; give a text, as SageMaker does")
        # The same order on every host. A value that begins with a dash would be taken for an option.
        return [
            word
            for name, value in sorted(found.items())
            # A tuning job adds its own, such as _tuning_objective_metric.
            if not name.startswith("_")
            for word in ([f"--{name}={value}"] if value.startswith("-") else [f"--{name}", *([value] if value else [])])
        ]

    def unwritable(self, command: Sequence[str]) -> str | None:
        """Return why this user cannot write where SageMaker takes results; None if it can.

        Args:
            command: The program, whose words may name these folders.
        """
        named = [folder for folder in (self.checkpoints, self.model) if _is_used(folder, command)]
        for folder in (self.data, *named):
            probe = folder / f".writable-{os.getpid()}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                probe.write_bytes(b"written")
                probe.unlink()
            except OSError as error:
                with suppress(OSError):
                    probe.unlink()
                fix = "the ranks need room there" if os.access(folder, os.W_OK) else _AS_ROOT
                return f"user {os.getuid()} cannot write in {folder} ({error.strerror}); {fix}"
        return None

    def fail(self, reason: str) -> None:
        """Print why the job fails, and give it to SageMaker."""
        print(f"error: {reason}", file=sys.stderr, flush=True)
        path = self.root / "output/failure"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(reason[:_LONGEST], encoding="utf-8", errors="replace")
        except OSError as error:
            print(f"warning: {path} cannot be written ({error.strerror})", file=sys.stderr, flush=True)

    def hand_over(self) -> None:
        """Copy the files of the runs below the checkpoints' folder, except for checkpoints and locks."""
        try:
            for source in self._written():
                is_model = source.match(_EXPORTED)
                target = (self.model if is_model else self.data) / source.relative_to(self.checkpoints)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        except OSError as error:
            where = error.filename2 or error.filename or self.data
            text = f"warning: not all results are in {self.data}: {where} ({error.strerror})"
            print(f"{text}; {self.checkpoints} has them", file=sys.stderr, flush=True)

    def _written(self) -> Iterator[Path]:
        for folder, folders, files in os.walk(self.checkpoints):
            # A run's own; others may have a folder of that name that holds something else.
            is_run = rank_checkpoint.FOLDER in folders or _RESULTS in files
            folders[:] = sorted(
                name for name in folders if not name.startswith(".") and not (is_run and name == rank_checkpoint.FOLDER)
            )
            own = (name for name in sorted(files) if not name.startswith(".") and _MARKER not in name)
            yield from (Path(folder, name) for name in own)


_AS_ROOT = (
    "SageMaker's folders belong to root: give an image whose user is root (a Dockerfile with the lines 'FROM <image>' "
    "and 'USER 0:0')"
)


def _is_used(folder: Path, command: Sequence[str]) -> bool:
    return folder.exists() or any(str(folder) in word for word in command)


def _are_names(hosts: Any) -> TypeGuard[list[str]]:
    # With a host that is there twice, the job would never end.
    return isinstance(hosts, list) and all(isinstance(each, str) for each in hosts) and len({*hosts}) == len(hosts)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}; SageMaker writes it, so start this program as the entry point "
            "of a training job"
        ) from error
    except ValueError as error:
        raise UserError(f"{path} is no JSON: {error}; SageMaker writes it") from error
    if not isinstance(found, dict):
        raise UserError(f"{path} is {json.dumps(found)}; give an object, as SageMaker does")
    return found
