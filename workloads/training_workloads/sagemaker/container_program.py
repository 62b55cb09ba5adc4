"""The program of a job's container on SageMaker: that of the job, with SageMaker's folders in place of the cluster's.

- A folder that the program reads from a shared file system becomes a channel, the one after `--data-dir` `training`.
- The job's own folder there, `runs/<job>`, becomes /opt/ml/checkpoints: SageMaker copies it to S3 while the job runs,
  and back before it starts again, so that the program resumes.
- Options with a value become hyperparameters, which SageMaker's console shows.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJobSpec
from training_workloads.jobs.gpu_job import GpuJobSpec
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.jobs.volumes import RUNS_DIRECTORY, SharedVolume
from training_workloads.mpijob.programs import SAGEMAKER
from training_workloads.sagemaker.data_source import INPUT
from training_workloads.validation import Problem, Problems

__all__ = ["CHECKPOINTS", "DATA_CHANNEL", "ContainerProgram", "container_program", "is_file", "runs_on_sagemaker"]

#: https://docs.aws.amazon.com/sagemaker/latest/dg/model-checkpoints.html (read 2026-11-23)
CHECKPOINTS = "/opt/ml/checkpoints"

#: The channel of the data set.
DATA_CHANNEL = "training"

_OUTPUT_OPTION = "--output-dir"
_DATA_OPTION = "--data-dir"

# https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html (read 2026-11-23)
_MOST_HYPERPARAMETERS = 100
_LONGEST_NAME = 256
_LONGEST_VALUE = 2500


@dataclass(kw_only=True, slots=True)
class ContainerProgram:
    """The program with SageMaker's folders.

    Attributes:
        words: The program with its arguments, but for those that are hyperparameters.
        hyperparameters: Values by the names of their options, without the dashes.
        inputs: The paths on the shared file system that the program reads, by channel.
        channels: Further channels that the program itself names.
        writes: Whether it writes into the folder that SageMaker keeps in S3.
        problems: The parts that cannot run on SageMaker.
    """

    words: list[str] = field(default_factory=list)
    hyperparameters: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    channels: set[str] = field(default_factory=set)
    writes: bool = False
    problems: list[Problem] = field(default_factory=list)

    def reads(self, channel: str) -> bool:
        """Return whether the program reads a channel."""
        return channel in self.inputs or channel in self.channels

    def arguments(self, processes_per_host: int) -> list[str]:
        """Return the arguments of the entry point."""
        return ["--processes-per-host", str(processes_per_host), "--", *self.words]

    @property
    def entry_point(self) -> list[str]:
        """The image's entry point."""
        return list(SAGEMAKER)


def runs_on_sagemaker(spec: Any) -> Problems:
    """Reject a kind of job that SageMaker cannot run."""
    if isinstance(spec, ElasticHorovodJobSpec):
        allowed = "it is an elastic job, and SageMaker has no workers that come and go"
        fix = (
            "give one with a fixed number of workers, and --spot: after an interruption it resumes from its checkpoint"
        )
        yield Problem(path=("recipe",), given=spec.name, allowed=allowed, fix=fix)
    elif not isinstance(spec, HorovodJobSpec | TorchElasticJobSpec):
        fix = "give a job that trains, with Horovod or torchrun"
        kind = type(spec).__name__.removesuffix("Spec")
        yield Problem(path=("recipe",), given=spec.name, allowed=f"SageMaker does not run a {kind}", fix=fix)


def container_program(spec: GpuJobSpec) -> ContainerProgram:
    """Return the program of a job's container."""
    program = ContainerProgram()
    words = [_with_folders(program, spec, option, word) for option, word in _with_options(spec.command)]
    start = _start(words)
    program.words += ["torchrun", "--no-python"] if isinstance(spec, TorchElasticJobSpec) else []
    program.words += words[:start]
    _divide(program, words[start:])
    return program


def _with_options(command: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Yield each word with the option that it is the value of."""
    before = None
    for word in command:
        name, equals, _ = word.partition("=")
        yield (name if equals and name.startswith("--") else before), word
        before = word if word.startswith("--") and not equals else None


def _with_folders(program: ContainerProgram, spec: GpuJobSpec, option: str | None, word: str) -> str:
    """Return a word with SageMaker's folder in place of one of a shared file system."""
    start, equals, value = word.partition("=")
    if not (equals and start == option):
        start, equals, value = "", "", word
    if value.startswith(f"{INPUT}/"):
        program.channels.add(value.removeprefix(f"{INPUT}/").partition("/")[0])
        if option == _OUTPUT_OPTION:
            allowed = "SageMaker gives data read-only, and keeps nothing of what is written there"
            fix = f"write to {CHECKPOINTS}"
            program.problems.append(Problem(path=("command",), given=word, allowed=allowed, fix=fix))
        return word
    if value == CHECKPOINTS or value.startswith(f"{CHECKPOINTS}/"):
        program.writes = True
        return word
    volume = next((each for each in spec.volumes if _is_below(value, each.mount_path)), None)
    return word if volume is None else start + equals + _folder(program, spec, option, value, volume)


def _folder(program: ContainerProgram, spec: GpuJobSpec, option: str | None, value: str, volume: SharedVolume) -> str:
    """Return the folder of SageMaker for a path of a volume."""
    path = value.removeprefix(volume.mount_path.rstrip("/")).strip("/")
    own = f"{RUNS_DIRECTORY}/{spec.name}"
    if option == _OUTPUT_OPTION or path == own or path.startswith(f"{own}/"):
        program.writes = True
        return CHECKPOINTS + (path.removeprefix(own) if path.startswith(f"{own}/") else "")
    if option is None or not path:
        allowed = f"SageMaker has no {volume.mount_path}, and only the value of an option becomes a channel"
        fix = f"give a folder below {volume.mount_path} as the value of an option, such as {_DATA_OPTION} {value}"
        program.problems.append(Problem(path=("command",), given=value, allowed=allowed, fix=fix))
        return value
    channel = DATA_CHANNEL if option == _DATA_OPTION else option.lstrip("-")
    if program.inputs.setdefault(channel, path) != path:
        allowed = f"'{option}' is given for {program.inputs[channel]} too, and a channel has one place"
        program.problems.append(Problem(path=("command",), given=value, allowed=allowed, fix="give it once"))
    name = PurePosixPath(path).name
    return f"{INPUT}/{channel}/{name}" if is_file(channel, path) else f"{INPUT}/{channel}"


def is_file(channel: str, path: str) -> bool:
    """Return whether a channel has one file, such as model.keras: a data set is a folder, whatever its name."""
    return channel != DATA_CHANNEL and bool(PurePosixPath(path).suffix)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _start(words: Sequence[str]) -> int:
    """Return where the options of the program begin: behind the interpreter and its module or script."""
    module = 3 if tuple(words[1:2]) == ("-m",) else 2
    return min(module, len(words))


def _divide(program: ContainerProgram, words: Sequence[str]) -> None:
    """Make hyperparameters of options that have one value, and arguments of everything else, in its order.

    With arguments that belong to no option, such as the name of a command, all of them stay together.
    """
    pairs = _options(words)
    if pairs is None:
        program.words += words
        return
    given = Counter(pair[0] for pair in pairs)
    for pair in pairs:
        is_single = given[pair[0]] == 1 and len(program.hyperparameters) < _MOST_HYPERPARAMETERS
        if is_single and _is_hyperparameter(pair):
            program.hyperparameters[pair[0].removeprefix("--")] = pair[1]
        else:
            program.words += pair


def _options(words: Sequence[str]) -> list[tuple[str, ...]] | None:
    """Return each option with its value, if it has one; None where a word belongs to no option."""
    pairs: list[tuple[str, ...]] = []
    for before, word in pairwise(["", *words]):
        if word.startswith("--") and word != "--":
            pairs.append((word,))
        elif word == "--" or "=" in before or pairs[-1:] != [(before,)]:
            return None
        else:
            pairs[-1] = (before, word)
    return pairs


def _is_hyperparameter(pair: tuple[str, ...]) -> bool:
    """Return whether SageMaker takes an option and its value as a hyperparameter."""
    if len(pair) == 1:
        return False
    name, value = pair
    return bool(value) and len(name.removeprefix("--")) <= _LONGEST_NAME and len(value) <= _LONGEST_VALUE
