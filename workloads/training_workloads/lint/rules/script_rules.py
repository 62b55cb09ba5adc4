"""Rules on shells: a script without `-c`, and one whose loops and conditions do not close."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import COMMANDS
from training_workloads.manifests.pods import PodGroup
from training_workloads.mpijob.launch_command import LAUNCHERS, SHELLS, commands, script_of

# Programs that are no shell scripts.
_PROGRAMS = {*LAUNCHERS, "sshd", "python", "python3", "torchrun", "accelerate", "deepspeed", "sleep", "tail"}


@error(f"Without `-c` a shell takes the word as the name of a file with a script {COMMANDS}")
def script_without_option(pods: PodGroup) -> Iterator[Found]:
    """A shell with a command line or a program in the place of a script's file."""
    for container in pods.all_containers:
        argv = container.argv
        if not argv or PurePosixPath(argv[0]).name not in SHELLS:
            continue
        options = [word for word in argv[1:] if word.startswith(("-", "+"))]
        first = next((word for word in argv[1:] if word not in options), "")
        if not any(map(_GIVES_SCRIPT.match, options)) and _is_command(first):
            shown = first.split("\n")[0][:40]
            problem = f"has {shown!r} behind {argv[0]} without -c, which takes it as the file of a script"
            yield Found(container.argv_path(first), problem, f"write [{argv[0]}, -c, <the line as one text>]")


# `-c`, alone or with other letters.
_GIVES_SCRIPT = re.compile(r"-(?!-).*c", re.DOTALL)


def _is_command(text: str) -> bool:
    """Return whether a text is a command line or a program, and not the file of a script."""
    if "$" in text.split(" ")[0]:
        return False
    words = text.split()
    is_line = len(words) > 1 and not PurePosixPath(words[0]).suffix
    return is_line or PurePosixPath(text).name in _PROGRAMS


# The word that closes each block, by the word that begins it.
_BLOCKS = {"do": "done", "if": "fi"}
_BEFORE = {"if", "then", "else", "elif", "do", "while", "until", "!", "{"}


@error(
    "The shell ends with `syntax error: unexpected end of file`, or `near unexpected token` ([POSIX]("
    "https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_09_04))"
)
def unclosed_block(pods: PodGroup) -> Iterator[Found]:
    """A loop without `done`, or a condition without `fi`, or one of these too many."""
    for container in pods.all_containers:
        script, _ = script_of(container.argv) or ("", [])
        # Their words are no commands.
        if not script or "<<" in script or "case " in script:
            continue
        words: Counter[str] = Counter()
        for command in commands(container.argv) or []:
            leading = next((n for n, word in enumerate(command) if word not in _BEFORE), len(command))
            # `(for …; done)` is a shell in a shell.
            words.update(word.strip("();") for word in command[: leading + 1])
        for begin, end in _BLOCKS.items():
            if words[begin] != words[end]:
                missing = end if words[begin] > words[end] else begin
                problem = f"the script has {words[begin]} '{begin}' and {words[end]} '{end}'"
                yield Found(container.argv_path(script), problem, f"add the '{missing}' that is missing")
