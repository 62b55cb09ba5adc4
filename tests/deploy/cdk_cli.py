"""The real CDK command line against the emulator: bootstrap, synth, deploy, diff, destroy."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deploy.aws_account import Aws
from tests.deploy.emulator import ROOT

CDK, PYTHON = ROOT / ".venv/bin/cdk", ROOT / ".venv/bin/python"


class CdkError(RuntimeError):
    """A command failed."""


@dataclass(frozen=True, kw_only=True)
class CdkCli:
    """The commands in one account and region; what they write is in one folder."""

    aws: Aws
    folder: Path

    def run(self, *arguments: str, may_fail: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a command, and raise with its output if it fails."""
        # In the folder, into which the CDK writes what it has looked up.
        settings = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))
        settings["app"] = f"{PYTHON} {ROOT / 'app.py'}"
        (self.folder / "cdk.json").write_text(json.dumps(settings), encoding="utf-8")
        own = {"CDK_HOME": str(self.folder / "home"), "PYTHONPATH": str(ROOT)}
        environment = os.environ | self.aws.environment() | own
        result = subprocess.run(
            [CDK, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        if result.returncode and not may_fail:
            output = f"{result.stdout}\n{result.stderr}"[-6000:]
            raise CdkError(f"cdk {' '.join(arguments)} failed:\n{output}\n\n{self.aws.emulator.log()[-3000:]}")
        return result

    def bootstrap(self) -> None:
        """Create the resources that `cdk deploy` needs in the region."""
        self.run("bootstrap", f"aws://{self.aws.account}/{self.aws.region}")

    def synth(self, name: str, config: Path, *, app: str | None = None, **context: str) -> Path:
        """Synthesize the stacks into a new folder: a test may deploy an earlier one again.

        Args:
            name: Beginning of the folder's name.
            config: The configuration file.
            app: A module that defines the stacks. Default: the project's app.
            **context: Values over those of the configuration file.
        """
        output = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
        values = {"config": str(config)} | context
        options = [part for key, value in values.items() for part in ("--context", f"{key}={value}")]
        options += ["--app", f"{PYTHON} -m {app}"] if app else []
        self.run("synth", "--quiet", "--output", str(output), *options)
        return output

    def deploy(self, assembly: Path, *, may_fail: bool = False) -> bool:
        """Deploy all stacks, and return whether it succeeded."""
        arguments = ("deploy", "--app", str(assembly), "--all", "--require-approval", "never", "--ci")
        return self.run(*arguments, may_fail=may_fail).returncode == 0

    def diff(self, assembly: Path) -> str:
        """Return the differences that `cdk diff` reports, an empty text if none."""
        # Change sets of the emulator report more than the difference.
        result = self.run("diff", "--app", str(assembly), "--method=template", "--fail", "--ci", may_fail=True)
        return f"{result.stdout}{result.stderr}" if result.returncode else ""

    def destroy(self, assembly: Path, *stacks: str) -> None:
        """Destroy stacks."""
        self.run("destroy", "--app", str(assembly), "--force", "--ci", *stacks)


def templates(assembly: Path) -> dict[str, dict[str, Any]]:
    """Return the synthesized templates by stack."""
    paths = sorted(assembly.glob("*.template.json"))
    return {path.name.removesuffix(".template.json"): json.loads(path.read_text()) for path in paths}
