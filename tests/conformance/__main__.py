"""Test the resume of scripts as users write them, without this project's library and with it, into one table.

usage: python -m tests.conformance [--kills N] [--seed N] [SCRIPT...]

A script `NAME.py` is in `without/` and, where it uses the library, in `with/`. It fails if one with the library is not
exact.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
_RESULTS = ROOT / "dist/conformance"

COLUMNS = ("without", "with")
_EXACT = "exact"


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """A script of the table.

    Attributes:
        environment: Its virtual environment.
        ranks: Number of ranks.
    """

    environment: str = ".venv-torch"
    ranks: int = 2


_TENSORFLOW = ".venv-training"

#: The order of the table.
SCRIPTS: Mapping[str, Script] = {
    # Keras alone has one process.
    "keras_fit": Script(environment=_TENSORFLOW, ranks=1),
    "keras_generators": Script(environment=_TENSORFLOW),
    "horovod_keras": Script(environment=_TENSORFLOW),
    "torch_ddp": Script(),
    "torch_fsdp2": Script(),
    "torch_accumulation": Script(),
    "hf_trainer": Script(),
    "lightning_fit": Script(),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The result of one script.

    Attributes:
        verdict: As `test-resume` says it.
        lives: Number of lives of each verdict.
        kills: Number of disturbances that took effect.
        reasons: Why it is not exact.
    """

    verdict: str
    lives: Mapping[str, int]
    kills: int
    reasons: Sequence[str]

    @property
    def shown(self) -> str:
        """The verdict, and how many disturbances it is of."""
        return f"{self.verdict} ({self.kills})"


def path_of(name: str, column: str) -> Path:
    """Return the file of a script."""
    return HERE / column / f"{name}.py"


def tested(name: str, column: str, options: Sequence[str]) -> Result:
    """Test a script in a folder with no other one.

    Raises:
        RuntimeError: It could not be tested.
    """
    folder, script = _RESULTS / column / name, SCRIPTS[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(path_of(name, column), folder)
    command = [sys.executable, "-m", "training_workloads", "test-resume", f"{name}.py", "--json", *options]
    given = ["--ranks", str(script.ranks), "--environment", str(ROOT / script.environment)]
    answer = subprocess.run([*command, *given], cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if not answer.stdout:
        raise RuntimeError(f"{name}: test-resume ended with exit code {answer.returncode} and no report")
    report = json.loads(answer.stdout)
    verdicts = [life["verdict"] for life in report["lives"].values()]
    return Result(
        verdict=report["verdict"],
        lives={verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)},
        kills=report["disturbances"]["took effect"],
        reasons=report["reasons"],
    )


def table(results: Mapping[str, Mapping[str, Result]]) -> str:
    """Return the table in Markdown: a row for each script, a column without the library and one with it."""
    lines = ["| script | ranks | without the library | why | with it |", "|---|---|---|---|---|"]
    for name, columns in results.items():
        without, using = (columns.get(column) for column in COLUMNS)
        cells = [
            f"[{name}](../tests/conformance/without/{name}.py)",
            str(SCRIPTS[name].ranks),
            without.shown if without else "",
            "; ".join(without.reasons) if without else "",
            using.shown if using else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def mistakes(results: Mapping[str, Mapping[str, Result]]) -> list[str]:
    """Return the scripts that are not exact with the library."""
    return [
        f"{name} with the library: {columns['with'].verdict}"
        for name, columns in results.items()
        if "with" in columns and columns["with"].verdict != _EXACT
    ]


def main() -> int:
    """Test the scripts, print the table, and return whether it has a mistake."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("scripts", nargs="*", choices=[*SCRIPTS, []], metavar="SCRIPT", help="default: all")
    parser.add_argument("--kills", default="5", help="disturbances of each (default: 5)")
    parser.add_argument("--seed", default="0", help="seed of the disturbances (default: 0)")
    chosen = parser.parse_args()
    options = ["--kills", chosen.kills, "--seed", chosen.seed]
    results = {
        name: {column: tested(name, column, options) for column in COLUMNS if path_of(name, column).is_file()}
        for name in chosen.scripts or SCRIPTS
    }
    text = table(results)
    (_RESULTS / "table.md").write_text(f"{text}\n")
    print(text)
    wrong = mistakes(results)
    print(*wrong, sep="\n", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
