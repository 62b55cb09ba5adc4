"""Synthesizes the app of this project with cdk-nag in it: `python -m scan.nag CONFIG OUTDIR`."""

import json
import runpy
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from scan.scanner_findings import Finding

__all__ = ["checked_app", "nag_findings", "synthesize"]

# Kept by name: while the app's program runs, `cdk.App` is another.
_App = cdk.App

_ROOT = Path(__file__).parents[1]
_REPORT = "validation-report.json"


def synthesize(config: Path, outdir: Path) -> list[Finding]:
    """Synthesizes one configuration in a process of its own, and returns what cdk-nag says.

    Args:
        config: The configuration file of a cluster.
        outdir: Where the templates go.

    Raises:
        RuntimeError: The synthesis failed for another reason than findings.
    """
    command = [sys.executable, "-m", "scan.nag", str(config), str(outdir)]
    result = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    # Findings end the synthesis, after the report is written.
    findings = nag_findings(outdir) if (outdir / _REPORT).is_file() else []
    if result.returncode and not findings:
        raise RuntimeError(f"{config} could not be synthesized:\n{result.stdout}{result.stderr}")
    return findings


def nag_findings(outdir: Path) -> list[Finding]:
    """Reads the report of a synthesis.

    Args:
        outdir: Where the templates went.
    """
    reports = json.loads((outdir / _REPORT).read_text())["pluginReports"]
    return [
        Finding(
            scanner="cdk-nag",
            rule=violation["ruleName"],
            resource=construct["constructPath"],
            message=violation["description"],
        )
        for report in reports
        if report["pluginName"] == "AwsSolutions"
        for violation in report["violations"]
        for construct in violation["violatingConstructs"]
    ]


def checked_app(outdir: Path, context: dict[str, Any]) -> cdk.App:
    """An app in which every resource is held against the rules of AWS Solutions.

    Args:
        outdir: Where the templates go.
        context: The context, as cdk.json and the command line would give it.
    """
    app = _App(outdir=str(outdir), context=context)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


def _main(config: Path, outdir: Path) -> None:
    """Runs the program that `cdk synth` runs."""
    context = json.loads((_ROOT / "cdk.json").read_text())["context"] | {"config": str(config)}
    with mock.patch.object(cdk, "App", partial(checked_app, outdir, context)):
        runpy.run_path(str(_ROOT / "app.py"), run_name="__main__")


if __name__ == "__main__":
    _main(*map(Path, sys.argv[1:]))
