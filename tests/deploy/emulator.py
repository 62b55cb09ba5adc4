"""The emulator of AWS as a process: start, clients, what CDK applied to Kubernetes, stop."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.deploy.recorded_program import REJECTED, objects_of

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-deploy/bin/python"

_SECONDS_TO_START = 120
_SECONDS_TO_STOP = 20


class Emulator:
    """AWS on one port of this machine; everything that it writes is in one folder."""

    def __init__(self, folder: Path) -> None:
        """Prepare the folder; `start` starts the process."""
        self.folder = folder
        self.applied = folder / "applied"
        for name in ("applied", "bin", "functions", "tmp"):
            (folder / name).mkdir()
        for name in ("aws", "kubectl", "helm"):
            self._program(name, f'{sys.executable} -S -E {Path(__file__).parent / "recorded_program.py"} {name} "$@"')
        # The emulator starts CDK's functions in Node.js by this name.
        (folder / "bin/node").symlink_to(Path(shutil.which("node") or "node").resolve())
        self.port = _free_port()
        self.url = f"http://localhost:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def _program(self, name: str, command: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\nexec {command}\n")
        path.chmod(0o755)

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        environment = {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            "APPLIED": str(self.applied),
            # Where CDK's function writes manifests; on Lambda its own /tmp.
            "TEST_OUTDIR": str(self.folder / "functions"),
            "NODE_PATH": str(Path(__file__).parent / "aws_sdk"),
            "GATEWAY_PORT": str(self.port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "localhost",
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            # At INFO each call of a function shows its event, a definition of 130 kB too.
            "LOG_LEVEL": "WARNING",
        }
        with (self.folder / "emulator.log").open("wb") as log:
            self._process = subprocess.Popen(
                [PYTHON, "-m", "tests.deploy.emulated_aws"],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A separate group, which ends with the functions that it has started.
                start_new_session=True,
            )
        deadline = time.monotonic() + _SECONDS_TO_START
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the emulator does not answer:\n{self.log()[-3000:]}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    def stop(self) -> None:
        """End the process and the functions that it has started."""
        if self._process is None:
            return
        for each in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, each)
                self._process.wait(_SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                continue
            except ProcessLookupError:
                break
        self._process = None

    def log(self) -> str:
        """Return the output that the process has written."""
        return (self.folder / "emulator.log").read_text(errors="replace")

    def environment(self, account: str, region: str) -> dict[str, str]:
        """Return the variables with which the AWS SDKs use the emulator."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            # The emulator takes a key of twelve digits for the account.
            "AWS_ACCESS_KEY_ID": account,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": str(self.folder / "no-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.folder / "no-credentials"),
        }

    def reject_next(self, program: str) -> None:
        """Let the next call of kubectl or helm fail, once."""
        (self.applied / REJECTED).write_text(program)

    def objects(self, cluster: str) -> set[str]:
        """Return kind, namespace and name of what kubectl has created in a cluster and not deleted."""
        path = objects_of(self.applied, cluster)
        return set(json.loads(path.read_text())) if path.exists() else set()

    def add_object(self, cluster: str, name: str) -> None:
        """Let another program create an object in a cluster."""
        path = objects_of(self.applied, cluster)
        path.write_text(json.dumps(json.loads(path.read_text()) | {name: {}}))

    def take_applied(self) -> list[dict[str, Any]]:
        """Return the calls of kubectl and helm since the last time, oldest first."""
        paths = sorted(self.applied.glob("*.json"))
        calls = [json.loads(path.read_text()) for path in paths]
        for path in paths:
            path.unlink()
        return calls


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
