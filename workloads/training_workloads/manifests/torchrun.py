"""A torchrun command line: ranks on each node, nodes, and where they meet."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["RESERVED_BY_TRAINER", "Torchrun", "own_words", "torchrun"]

#: Variables of torchrun that Kubeflow's trainer sets, and rejects in a TrainJob.
#: https://github.com/kubeflow/trainer/blob/v2.1.0/pkg/constants/constants.go (TorchRunReservedEnvNames)
RESERVED_BY_TRAINER = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")

_MODULES = ("torch.distributed.run", "torch.distributed.launch")


@dataclass(frozen=True, slots=True)
class Torchrun:
    """A command line of torchrun.

    Attributes:
        ranks: Ranks on each node; None where that is not a number, such as `auto`.
        nodes: Nodes; None where that is not one number. Torchrun's default is 1.
        bounds: The fewest and the most nodes of `--nnodes=MIN:MAX`; None where it is no such range.
        options: Its options by name, with `-` for `_`, each with its value.
        program: The program of each rank, as torchrun gets it: a script, or with the option `no-python` any command.
    """

    ranks: int | None
    nodes: int | None
    bounds: tuple[int, int] | None
    options: Mapping[str, str]
    program: tuple[str, ...]

    @property
    def address(self) -> str:
        """The host where the ranks meet; empty where no option names it."""
        endpoint = self.options.get("rdzv-endpoint", "")
        return self.options.get("master-addr") or endpoint.rpartition(":")[0] or endpoint


def torchrun(argv: Sequence[str]) -> Torchrun | None:
    """Return the torchrun of a command line or of a shell script; None where neither is clear."""
    own = own_words(argv)
    words = own or [word for argument in argv for word in _words(argument)]
    starts = [
        number
        for number, word in enumerate(words)
        if _is_torchrun(word) or (word in _MODULES and words[number - 1] == "-m")
    ]
    if len(starts) != 1 and not own:
        return None
    options, program = _options(words[starts[0] + 1 :])
    nodes = options.get("nnodes", "1")
    fewest, _, most = nodes.partition(":")
    bounds = (int(fewest), int(most)) if _number(fewest) and _number(most) else None
    return Torchrun(_number(options.get("nproc-per-node", "")), _number(nodes), bounds, options, program)


def own_words(argv: Sequence[str]) -> list[str]:
    """Return torchrun's words where the argv has them as its own; none where a shell script has them.

    Also behind the first `--` of another program, which starts torchrun and watches it.
    """
    for start in (0, list(argv).index("--") + 1 if "--" in argv else 0):
        if start < len(argv) and _is_torchrun(argv[start]):
            return list(argv[start:])
    return []


def _is_torchrun(word: str) -> bool:
    return word.rpartition("/")[2] == "torchrun"


def _words(argument: str) -> list[str]:
    if not any(mark in argument for mark in " \n"):
        return [argument]
    try:
        return shlex.split(argument.replace("\\\n", " "), comments=True)
    except ValueError:
        return []


def _options(words: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options in front of the program, with `-` for `_` in their names, and the program."""
    found: dict[str, str] = {}
    following = iter(words)
    for word in following:
        if not word.startswith("--"):
            return found, (word, *following)
        name, equals, value = word.removeprefix("--").partition("=")
        name = name.replace("_", "-")
        # These are the options without a value.
        if not equals and name not in ("standalone", "no-python", "run-path", "m", "use-env"):
            value = next(following, "")
        found[name] = value
    return found, ()


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 6 else None
