"""The templates that an app of the CDK makes now: what `cdk deploy` would deploy."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from training_cluster.changes.template_changes import Template
from training_workloads.validation import InputError, Problem, Problems, check

__all__ = ["app_templates"]

_FILE = "cdk.json"


def app_templates(folder: Path, context: Mapping[str, str], app: str | None = None) -> dict[str, Template]:
    """Run an app as the CDK's CLI does, and return its templates by the name of the stack.

    Args:
        folder: The folder with `cdk.json`.
        context: Values of the option `-c`.
        app: Command of the app, or a folder that `cdk synth` has written. Default: that of `cdk.json`.

    Raises:
        InputError: There is no app, or it ends with an error, which it has printed.
    """
    settings = _settings(folder / _FILE, needs_app=app is None)
    command = app or settings["app"]
    if (folder / command).is_dir():
        return _templates(folder / command)
    with TemporaryDirectory() as output:
        # https://docs.aws.amazon.com/cdk/v2/guide/context.html, and the CLI's source for the two variables.
        values = {**settings.get("context", {}), "aws:cdk:disable-asset-staging": True, **context}
        environment = {**os.environ, "CDK_OUTDIR": output, "CDK_CONTEXT_JSON": json.dumps(values)}
        ended = subprocess.run(command, shell=True, cwd=folder, env=environment, check=False)
        check(_ended_well(command, ended.returncode))
        return _templates(Path(output))


def _settings(file: Path, *, needs_app: bool) -> dict[str, Any]:
    if not needs_app and not file.exists():
        return {}
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        fix = "run it in the folder of your app, beside cdk.json, or give '--app'"
        raise InputError(Problem(path=("app",), given=str(file), allowed="there is no such file", fix=fix)) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}; correct it") from None
    if not isinstance(settings, dict) or (needs_app and not isinstance(settings.get("app"), str)):
        raise InputError(f'{file} has no text "app"; add the command of your app, such as "app": "python app.py"')
    return settings


def _ended_well(command: str, code: int) -> Problems:
    if code:
        allowed = f"it ended with exit code {code}"
        yield Problem(path=("app",), given=command, allowed=allowed, fix="correct what it has printed")


def _templates(folder: Path) -> dict[str, Template]:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        allowed, fix = "it has no manifest.json", "give a folder that 'cdk synth' has written, or the app's command"
        raise InputError(Problem(path=("app",), given=str(folder), allowed=allowed, fix=fix)) from None
    stacks = (each for each in manifest["artifacts"].items() if each[1]["type"] == "aws:cloudformation:stack")
    return {
        stack["properties"].get("stackName", name): json.loads(
            (folder / stack["properties"]["templateFile"]).read_text(encoding="utf-8")
        )
        for name, stack in stacks
    }
