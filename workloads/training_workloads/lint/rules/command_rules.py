"""Rules on the command of a container: words for a shell that none reads, scripts that break, shells without `-c`.

https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import COMMANDS
from training_workloads.manifests.places import CONTAINERS, places
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import is_placeholder, sequence
from training_workloads.mpijob.launch_command import LAUNCHERS, SHELLS, commands, program_of, script_of
from training_workloads.mpijob.launch_options import HOROVODRUN, option_of

_OPERATORS = {"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"}
_BUILTINS = {"cd", "export", "source", ".", "set", "unset", "ulimit", "umask", "eval"}

# `$NAME` or `${NAME}`, as a shell expands it, and `$(NAME)`, as Kubernetes does.
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Z_][A-Z0-9_]*)\)")

# Set by the image, by a controller or by a launcher: never a placeholder of a template.
_SHELL_VARIABLES = set(
    "HOME PATH LD_LIBRARY_PATH PYTHONPATH PWD USER HOSTNAME JOB_COMPLETION_INDEX RANK LOCAL_RANK WORLD_SIZE "
    "MASTER_ADDR MASTER_PORT OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_SIZE".split()
)
# Of the Job controller, in the environment of each container.
_INDEX = "JOB_COMPLETION_INDEX"

_FROM_CONTROLLERS = re.compile(
    r"(OMPI|PRTE|I_MPI|HYDRA|NVIDIA|K_MPI|PET|PMIX|JOB|JOBSET|TF|JAX|AWS|TPU|MEGASCALE|VC|VK|RUNAI|TRAINER|KUBERNETES)_\w+"
    r"|(LOCAL_|NODE_|GROUP_)?RANK|(LOCAL_)?WORLD_SIZE|MASTER_\w+|(JAX_)?COORDINATOR_\w+|NUM_PROCESSES|PROCESS_ID"
    # Of each Service of the namespace.
    r"|\w+_SERVICE_(HOST|PORT)\w*|\w+_PORT(_\d+_TCP\w*)?"
)

# https://hydra.cc/docs/advanced/override_grammar/basic/ ; the names of variables have no lower-case letters.
_HYDRA = re.compile(r"[+~]{0,2}[a-z][\w.@/-]*=.*\$\{.*", re.DOTALL)

_ONE_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*[ \t]+[^-\s'\"]\S*")
_PYTHONS = {"python", "python3", "torchrun", "accelerate", "deepspeed"}
_PROGRAMS = {*LAUNCHERS, *SHELLS, *_PYTHONS, "sshd", "service", "sleep", "tail"}

_BLANK_BEHIND_BACKSLASH = re.compile(r"(?m)(?:^|[ \t])\\[ \t]+$")
# The same in a folded text (`>`), where each line end has become a blank.
_BACKSLASH_IN_LINE = re.compile(r"[ \t]\\[ \t]+-{1,2}[A-Za-z]")
_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*(=.*)?")
_SUBSTITUTION = re.compile(r"\$\([^()'\"]*(?:'[^']*'[^()'\"]*|\"[^\"]*\"[^()'\"]*)*\)")
_ARRAY = re.compile(r"\b\w+\+?=\((?:\$\([^()]*\)|'[^']*'|\"[^\"]*\"|[^()'\"])*\)")
_IN_BACKGROUND = re.compile(r"(?<![&\\])&\s*(#[^\n]*)?$")


def _scripts(pods: PodGroup) -> Iterator[tuple[Container, str]]:
    """Yield each container whose command is a script of a shell, and the script; none with a here-document."""
    for container in pods.all_containers:
        script, _ = script_of(container.argv) or ("", [])
        if script and "<<" not in script:
            yield container, script


def _plain(pods: PodGroup) -> Iterator[tuple[Container, list[str]]]:
    """Yield each container whose command starts without a shell, and its words before a shell that it starts."""
    for container in pods.all_containers:
        argv = container.argv
        if not argv or not container.content.get("command") or argv[0].endswith(".sh"):
            continue
        if program_of(argv) not in SHELLS:
            inside = next((n for n, word in enumerate(argv) if word.rpartition("/")[2] in SHELLS), len(argv))
            pairs = pairwise(["", *argv[:inside]])
            yield container, [word for before, word in pairs if not _is_other_code(before, word)]


def _is_other_code(before: str, word: str) -> bool:
    """Return whether a word is for another language: the code of `python -c`, or `dir=${HOME}/x`, which Hydra reads."""
    return (before in ("-c", "-e") and " " in word) or bool(_HYDRA.fullmatch(word))


@error(f"A container's `command` is executed without a shell: the whole word is the file's name {COMMANDS}")
def command_in_one_word(pods: PodGroup) -> Iterator[Found]:
    """A whole command line as the first word of `command`: no shell splits it, and no program has such a name."""
    for container in pods.all_containers:
        first = next(iter(sequence(container.content.get("command"))), None)
        words = first.split() if isinstance(first, str) and not is_placeholder(first) else []
        # A path may have a blank.
        has_arguments = any(word.startswith("-") for word in words[1:]) or program_of(words[:1]) in _PROGRAMS
        if len(words) > 1 and has_arguments:
            problem = f"begins with {_shortened(str(first))!r} as one word, and no program has that name"
            fix = f"write each word separately: [{words[0]}, {words[1]}, ...], or start it with [sh, -c, ...]"
            yield Found((*container.path, "command", 0), problem, fix)


@error(f"Only a shell knows them: the program gets them as arguments {COMMANDS}")
def shell_syntax_without_shell(pods: PodGroup) -> Iterator[Found]:
    """Words for a shell, such as `&&`, `>`, `cd` or `$HOME`, in a command that no shell runs."""
    for container, words in _plain(pods):
        used = next((word for word in words if word in _OPERATORS), None)
        if words and words[0] in _BUILTINS:
            used = words[0]
        variable = _shell_variable(container, words)
        if used:
            problem = f"has {used!r}, which is for a shell, and no shell runs it"
            yield Found(_place(container, used), problem, "write [bash, -c, <the whole line as one text>]")
        elif variable:
            name = variable[1] or variable[2]
            is_set = name in container.environment or name == _INDEX
            problem = f"has {variable[0]}, which no shell expands"
            fix = f"write $({name}), which Kubernetes expands" if is_set else "write [bash, -c, <the line as one text>]"
            yield Found(_place(container, variable[0]), problem, fix)


def _shell_variable(container: Container, words: Sequence[str]) -> re.Match[str] | None:
    """Return the first reference of a shell to a variable that a pod certainly has."""
    known = _SHELL_VARIABLES | set(container.environment)
    variables = (found for word in words for found in _VARIABLE.finditer(word))
    return next((found for found in variables if (found[1] or found[2]) in known), None)


@error(
    "Kubernetes replaces only references to variables of `env`, and leaves others as they are "
    "([docs](https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/))"
)
def undefined_reference(pods: PodGroup) -> Iterator[Found]:
    """`$(NAME)` in a command or a subPathExpr, and no variable of that name."""
    pattern = f"{CONTAINERS}.volumeMounts[].subPathExpr"
    for path, value in places(pods.template, pattern, pods.template_path) if pods.is_whole else ():
        container = next(one for one in pods.all_containers if path[: len(one.path)] == one.path)
        for name in _undefined(container, [value]):
            problem = f"has $({name}), but env has no {name}, and the container does not start"
            yield Found(path, problem, f"add {name} to env")
    for container, words in _plain(pods):
        for name in _undefined(container, words):
            close = get_close_matches(name, container.environment, n=1, cutoff=0.8)
            problem = f"has $({name}), but env has no {name}, and the text stays as it is"
            fix = f"write $({close[0]})" if close else f"add {name} to env"
            yield Found(_place(container, f"$({name})"), problem, fix)


def _undefined(container: Container, texts: Sequence[Any]) -> list[str]:
    """Return the names that texts refer to, and that neither `env` nor a controller sets; none beside `envFrom`."""
    if container.content.get("envFrom"):
        return []
    referred = [name for text in texts if isinstance(text, str) for name in _REFERENCE.findall(text)]
    known = container.environment
    return [name for name in dict.fromkeys(referred) if name not in known and not _FROM_CONTROLLERS.fullmatch(name)]


@error(
    "`sh -c` runs one word; the others are `$0`, `$1` and so on of that script "
    "([sh](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/sh.html))"
)
def words_behind_script(pods: PodGroup) -> Iterator[Found]:
    """Words behind the script of `bash -c`, which the script does not use."""
    for container in pods.all_containers:
        script, behind = script_of(container.argv) or ("", [])
        if behind and "$" not in script and (len(script.split()) == 1 or behind[0].startswith("-") or len(behind) > 1):
            problem = f"runs only {_shortened(script)!r}: {_shortened(' '.join(behind))!r} are its parameters"
            yield Found(_place(container, script), problem, "write the script as one text behind -c")


@error(
    "A backslash continues a line only as its last character "
    "([shell](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html))"
)
def broken_continuation(pods: PodGroup) -> Iterator[Found]:
    """A command of several lines in a script that ends too early: the next line begins with an option."""
    for container, script in _scripts(pods):
        # The words of an array may begin lines.
        lines = commands(["sh", "-c", _ARRAY.sub("", script)]) or []
        starts = [command[0] for command in lines if _OPTION.fullmatch(command[0])]
        place = _place(container, script)
        if blank := _BLANK_BEHIND_BACKSLASH.search(script):
            line = script[: blank.end()].count("\n")
            problem = f"line {line + 1} of the script has a blank behind its backslash, and the command ends there"
            yield Found(place, problem, "remove the blanks at the line's end")
        elif _BACKSLASH_IN_LINE.search(script):
            problem = "the script has a backslash before a blank: the next word begins with that blank"
            yield Found(place, problem, "remove the backslashes, or write | in place of >")
        elif starts:
            problem = f"a line of the script begins with {starts[0]}: the command ended on the line before it"
            yield Found(place, problem, "end the line before it with a backslash")


@error(
    "The shell ends with `unexpected EOF while looking for matching` quote "
    "([shell](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html))"
)
def unbalanced_quote(pods: PodGroup) -> Iterator[Found]:
    """A quote in a script that is never closed."""
    for container, script in _scripts(pods):
        if "`" in script:
            continue
        simple = script
        # In "$(…)" quotes begin anew; inner ones first.
        for _ in range(_NESTED):
            simple = _SUBSTITUTION.sub("x", simple)
        if commands(["sh", "-c", simple]) is None:
            yield Found(_place(container, script), "the script has a quote that is never closed", "close the quote")


_NESTED = 4


@error("A container ends with its first process, and ends what that left in the background (derived)")
def last_command_in_background(pods: PodGroup) -> Iterator[Found]:
    """A script whose last command runs in the background: the shell and the container end at once."""
    for container in pods.all_containers:
        script, _ = script_of(container.argv) or ("", [])
        if _IN_BACKGROUND.search(script.rstrip()):
            problem = "the script's last command runs in the background (&), and the container ends at once"
            yield Found(_place(container, script), problem, "remove the &, or add wait")


@error(f"The program gets one argument with a blank inside, which is none of its options {COMMANDS}")
def option_and_value_in_one_word(pods: PodGroup) -> Iterator[Found]:
    """An option and its value in one word of a list, such as `- --epochs 90`."""
    for container, words in _plain(pods):
        program = program_of(words)
        if program not in LAUNCHERS | _PYTHONS:
            continue
        for before, word in pairwise(words):
            # Of Python programs only long ones: a short one may be the text of another.
            is_option = _ONE_OPTION.fullmatch(word) and (program in LAUNCHERS or word.startswith("--"))
            is_option = is_option or (program in LAUNCHERS and _is_whole_option(word, program))
            if is_option and before not in ("-c", "--mpi-args") and before != "plm_rsh_args":
                problem = f"has {word!r} as one word"
                yield Found(_place(container, word), problem, f"write two items of the list: {', '.join(word.split())}")


def _is_whole_option(word: str, launcher: str) -> bool:
    """Return whether a word has an option of a launcher with each of its values."""
    name, *values = word.split() or [""]
    option = option_of(name.lstrip("-"), horovod=launcher == HOROVODRUN) if name.startswith("-") else None
    return bool(option and values and len(values) == option.values)


def _place(container: Container, word: str) -> tuple[str | int, ...]:
    return container.argv_path(word)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 40


# Programs that are no shell scripts.
_NOT_SCRIPTS = {*LAUNCHERS, "sshd", "python", "python3", "torchrun", "accelerate", "deepspeed", "sleep", "tail"}


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
    return is_line or PurePosixPath(text).name in _NOT_SCRIPTS


# The word that closes each block, by the word that begins it.
_BLOCKS = {"do": "done", "if": "fi"}
_BEFORE = {"if", "then", "else", "elif", "do", "while", "until", "!", "{"}


@error(
    "The shell ends with `syntax error: unexpected end of file`, or `near unexpected token` ([POSIX]("
    "https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_09_04))"
)
def unclosed_block(pods: PodGroup) -> Iterator[Found]:
    """A loop without `done`, or a condition without `fi`, or one of these too many."""
    for container, script in _scripts(pods):
        # Its words are not commands.
        if "case " in script:
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
