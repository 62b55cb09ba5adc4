"""The templates that an app of the CDK makes now: what `cdk deploy` would deploy."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.manifests import MANIFEST, documents
from training_cluster.changes.look_ups import look_up
from training_cluster.changes.template_changes import Template
from training_workloads.manifests.values import mapping
from training_workloads.validation import InputError, Problem, Problems, check

__all__ = ["AppStack", "app_stacks"]

_FILE = "cdk.json"
_MANIFEST = "manifest.json"

# The values that the app has looked up in the account, such as the subnets of a VPC; the CLI writes it.
_LOOKED_UP = "cdk.context.json"

# An app may print, and a program reads the plan from stdout.
_STDERR = 2

_STACK = "aws:cloudformation:stack"
_STAGE = "cdk:cloud-assembly"
_SECTIONS = ("Resources", "Outputs", "Parameters", "Mappings", "Conditions")
_ENVIRONMENT = re.compile("aws://[^/]+/[^/]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class AppStack:
    """A stack of the app.

    Attributes:
        name: Its name.
        template: Its template.
        environment: Its account and region, `aws://111122223333/us-west-2`; `aws://unknown-account/unknown-region`
            where the credentials decide.
    """

    name: str
    template: Template
    environment: str


def app_stacks(folder: Path, context: Mapping[str, str], account: Account, app: str | None = None) -> list[AppStack]:
    """Run an app as the CDK's CLI does, and return its stacks, those of its stages too.

    Args:
        folder: The folder with `cdk.json`.
        context: Values of the option `-c`.
        account: The account, which the app may take as its default.
        app: Command of the app, or a folder that `cdk synth` has written. Default: that of `cdk.json`.

    Raises:
        InputError: There is no app, or it ends with an error, which it has printed.
        AwsError: There are no valid credentials, or a value that the app lacks cannot be looked up.
    """
    settings = _settings(folder / _FILE, needs_app=app is None)
    command = app or settings["app"]
    if (folder / command).is_dir():
        return list(_stacks(folder / command))
    with TemporaryDirectory() as output:
        environment = {
            **os.environ,
            "CDK_DEFAULT_ACCOUNT": account.number,
            "CDK_DEFAULT_REGION": account.region,
            "CDK_OUTDIR": output,
        }
        known = _context(folder, settings, context)
        _run(command, folder, environment, known)
        # The CLI synthesizes again with what it has looked up.
        manifest = Path(output) / _MANIFEST
        if found := look_up(account, _read(manifest) if manifest.exists() else {}):
            _run(command, folder, environment, {**known, **found})
        return list(_stacks(Path(output)))


def _run(command: str, folder: Path, environment: Mapping[str, str], context: Mapping[str, Any]) -> None:
    given = {**environment, "CDK_CONTEXT_JSON": json.dumps(context)}
    ended = subprocess.run(command, shell=True, cwd=folder, env=given, stdout=_STDERR, check=False)
    check(_ended_well(command, ended.returncode))


def _context(folder: Path, settings: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the app's context, the more specific ones last.

    https://docs.aws.amazon.com/cdk/v2/guide/context.html; the CLI's source has its own values.
    """
    looked_up = mapping(_read(folder / _LOOKED_UP)) if (folder / _LOOKED_UP).exists() else {}
    # With it the CDK adds the resource CDKMetadata.
    reports = {"aws:cdk:version-reporting": True} if settings.get("versionReporting", True) else {}
    return {**looked_up, **mapping(settings.get("context")), **reports, "aws:cdk:disable-asset-staging": True, **given}


def _settings(file: Path, *, needs_app: bool) -> dict[str, Any]:
    if not file.exists():
        if not needs_app:
            return {}
        fix = "run it in the folder of your app, beside cdk.json, or give '--app'"
        raise InputError(Problem(path=("app",), given=str(file), allowed="there is no such file", fix=fix))
    settings = _read(file)
    if not isinstance(settings, dict) or (needs_app and not isinstance(settings.get("app"), str)):
        raise InputError(f'{file} has no text "app"; add the command of your app, such as "app": "python app.py"')
    return settings


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}; correct it") from None
    except RecursionError:
        raise InputError(f"{file} cannot be read: its values are too deep; correct it") from None


def _ended_well(command: str, code: int) -> Problems:
    if code:
        allowed = f"it ended with exit code {code}"
        yield Problem(path=("app",), given=command, allowed=allowed, fix="correct what it has printed")


def _stacks(folder: Path, above: tuple[Path, ...] = ()) -> Iterator[AppStack]:
    """Yield the stacks of a folder that a synthesis has written, and those of the stages in it."""
    file = folder / _MANIFEST
    if not file.exists():
        allowed, fix = "it has no manifest.json", "give a folder that 'cdk synth' has written, or the app's command"
        raise InputError(Problem(path=("app",), given=str(folder), allowed=allowed, fix=fix))
    inside = (*above, folder.resolve())
    for id, artifact in _section(_read(file), "artifacts", file).items():
        kind = artifact.get("type") if isinstance(artifact, dict) else None
        if kind == _STAGE:
            stage = folder / _text(_section(artifact, "properties", file), "directoryName", file)
            if stage.resolve() in inside:
                raise _malformed(file, f"the stage {id} is the folder itself, or one around it")
            yield from _stacks(stage, inside)
        elif kind == _STACK:
            yield _stack(folder, file, id, artifact)


def _stack(folder: Path, file: Path, id: str, artifact: dict[str, Any]) -> AppStack:
    properties = _section(artifact, "properties", file)
    environment = _text(artifact, "environment", file)
    if not _ENVIRONMENT.fullmatch(environment):
        raise _malformed(file, f"the environment of {id} is {environment!r}, not aws://<account>/<region>")
    template = folder / _text(properties, "templateFile", file)
    found = _read(template)
    _check_template(found, template)
    name = _text(properties, "stackName", file) if "stackName" in properties else id
    return AppStack(name=name, template=found, environment=environment)


def _check_template(found: Any, file: Path) -> None:
    """Reject a template whose sections and resources have other types than CloudFormation's."""
    if not isinstance(found, dict):
        raise _malformed(file, "it is no mapping, as a template is")
    for name in filter(found.__contains__, _SECTIONS):
        section = _section(found, name, file)
        if not_mapping := next((id for id, each in section.items() if not isinstance(each, dict)), None):
            raise _malformed(file, f"{name}/{not_mapping} is no mapping")
    for id, each in found.get("Resources", {}).items():
        if "::" not in _text(each, "Type", file):
            raise _malformed(file, f"the type of the resource {id} is {each['Type']!r}, which CloudFormation has not")
        if not isinstance(each.get("Properties", {}), dict):
            raise _malformed(file, f"the 'Properties' of the resource {id} are no mapping")
        if not all(map(_is_named, _mappings(each))):
            raise _malformed(file, f"a Ref in the resource {id} is no text")
        if each["Type"] == MANIFEST:
            _check_manifest(id, each.get("Properties", {}), file)


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the mappings in a value, and itself if it is one."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            yield each
        pending += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()


def _is_named(found: dict[str, Any]) -> bool:
    return set(found) != {"Ref"} or isinstance(found["Ref"], str)


def _check_manifest(id: str, properties: dict[str, Any], file: Path) -> None:
    try:
        documents(properties)
    except (ValueError, RecursionError) as error:
        raise _malformed(file, f"the 'Manifest' of the resource {id} cannot be read: {error}") from None


def _section(found: Any, key: str, file: Path) -> dict[str, Any]:
    section = found.get(key) if isinstance(found, dict) else None
    if not isinstance(section, dict):
        raise _malformed(file, f"it has no mapping {key!r} where 'cdk synth' writes one")
    return section


def _text(found: dict[str, Any], key: str, file: Path) -> str:
    text = found.get(key)
    if not isinstance(text, str):
        raise _malformed(file, f"it has no text {key!r} where 'cdk synth' writes one")
    return text


def _malformed(file: Path, why: str) -> InputError:
    return InputError(Problem(path=("app",), given=str(file), allowed=why, fix="run 'cdk synth' again"))
