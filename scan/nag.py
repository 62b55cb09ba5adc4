"""Synthesize the app of this project with cdk-nag in it: `python -m scan.nag CONFIG OUTDIR`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from app import build
from scan.scanner_findings import Finding
from training_cluster import load_config

__all__ = ["checked_app", "nag_findings", "synthesize"]

_ROOT = Path(__file__).parents[1]
_REPORT = "validation-report.json"


def synthesize(config: Path, outdir: Path) -> list[Finding]:
    """Synthesize one configuration in a separate process, and return the findings of cdk-nag.

    Args:
        config: The configuration file of a cluster.
        outdir: The folder of the templates.

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
    """Return the findings in the report of a synthesis.

    Args:
        outdir: The folder of the templates.
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
    """Return an app that validates every resource with the rules of AWS Solutions.

    Args:
        outdir: The folder of the templates.
        context: The context, as from cdk.json and the command line.
    """
    app = cdk.App(outdir=str(outdir), context=context)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


def _main(config: Path, outdir: Path) -> None:
    context = json.loads((_ROOT / "cdk.json").read_text())["context"]
    build(load_config(config), checked_app(outdir, context)).synth()


if __name__ == "__main__":
    _main(*map(Path, sys.argv[1:]))
