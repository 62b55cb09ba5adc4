"""Run cfn-lint and checkov, both offline, and read their findings."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scan.scanner_findings import Finding

__all__ = ["cfn_lint", "checkov"]

# Exit codes of a scanner that ran, with or without findings; any other code is a failure.
# https://github.com/aws-cloudformation/cfn-lint#exit-codes
_CFN_LINT_FOUND = range(16)
_CHECKOV_FOUND = (0, 1)


def cfn_lint(programs: Path, templates: Sequence[Path]) -> list[Finding]:
    """Validate templates against the CloudFormation schemas of cfn-lint.

    Args:
        programs: Folder of the program.
        templates: The templates.
    """
    command = ["--format", "json", "--", *map(str, templates)]
    results = json.loads(_run(programs / "cfn-lint", command, _CFN_LINT_FOUND) or "[]")
    return [
        Finding(
            scanner="cfn-lint",
            rule=result["Rule"]["Id"],
            resource="/".join(map(str, result["Location"]["Path"] or [])),
            message=result["Message"],
        )
        for result in results
    ]


def checkov(programs: Path, folder: Path, framework: str) -> list[Finding]:
    """Check files against the built-in policies of checkov, without network access.

    Args:
        programs: Folder of the program.
        folder: Where the files are.
        framework: `cloudformation` or `kubernetes`.

    Raises:
        RuntimeError: A file could not be read, or there was nothing to check.
    """
    files = ["--directory", str(folder), "--framework", framework]
    options = ["--output", "json", "--quiet", "--compact", "--skip-download"]
    report: dict[str, Any] = json.loads(_run(programs / "checkov", [*files, *options], _CHECKOV_FOUND))
    summary = report.get("summary", report)
    if summary["parsing_errors"] or not summary["passed"]:
        raise RuntimeError(f"checkov could not read {folder}: {summary}")
    return [
        Finding(scanner="checkov", rule=check["check_id"], resource=check["resource"], message=check["check_name"])
        for check in report["results"]["failed_checks"]
    ]


def _run(program: Path, arguments: Sequence[str], expected: Sequence[int]) -> str:
    # By default checkov skips folders whose names start with a dot, such as `.scan`.
    environment = {**os.environ, "CKV_IGNORE_HIDDEN_DIRECTORIES": "false", "LOG_LEVEL": "ERROR"}
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, env=environment)
    if result.returncode not in expected:
        raise RuntimeError(f"{program.name} failed with code {result.returncode}: {result.stderr[-2000:]}")
    return result.stdout
