"""The command line `trainctl` against the emulator, without a cluster behind EKS."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.deploy.aws_account import Aws
from tests.deploy.emulator import ROOT


def cluster_command(aws: Aws, *arguments: str) -> tuple[int, Any]:
    """Run a command of the group `cluster`, and return its exit code and its document."""
    paths = os.pathsep.join(str(ROOT / name) for name in ("constructs", "workloads"))
    # The emulator has no API server of Kubernetes.
    nowhere = {"PYTHONPATH": paths, "KUBECONFIG": str(aws.emulator.folder / "no-kubeconfig")}
    result = subprocess.run(
        [sys.executable, "-m", "training_workloads", "cluster", *arguments, "--json"],
        cwd=aws.emulator.folder,
        env=os.environ | aws.environment() | nowhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout, result.stderr
    return result.returncode, json.loads(result.stdout)
