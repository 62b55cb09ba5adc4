"""The configuration file of a cluster: read, overridden from the command line, and checked as a whole."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from training_cluster.access import check_admin_arns, check_public_access_cidrs
from training_cluster.gpu_node_group import GpuNodeGroupSpec
from training_cluster.lustre_file_system import LustreSpec
from training_cluster.network import check_availability_zones, check_vpc_cidr
from training_workloads import InputError
from training_workloads.errors import unknown_name

__all__ = ["ClusterConfig", "load_config"]

_NODE_GROUP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")

# Keys that AWS CDK itself keeps in the context: feature flags, settings, look-ups of an account, notes of its CLI.
_CDK_KEY = re.compile(r"@.*|aws(-cdk)?:.*|[\w-]+:account=.*|cli-telemetry|acknowledged-issue-numbers")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ClusterConfig:
    """Everything that one `TrainingClusterStack` can be told.

    Attributes:
        node_groups: GPU node groups by name.
        vpc_cidr: Address range of the VPC, /16 to /20.
        availability_zones: Names of two or more zones, the one with the GPU capacity first. Default: the first two
            of the region.
        public_access_cidrs: Who reaches the Kubernetes API from outside the VPC. Default: nobody.
        admin_arns: IAM roles or users that administer the cluster with kubectl. Default: none.
        lustre: Size and speed of the file system.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    node_groups: dict[str, GpuNodeGroupSpec]
    vpc_cidr: str = "10.0.0.0/16"
    availability_zones: tuple[str, ...] = ()
    public_access_cidrs: tuple[str, ...] = ()
    admin_arns: tuple[str, ...] = ()
    lustre: LustreSpec = dataclasses.field(default_factory=LustreSpec)

    def __post_init__(self) -> None:
        """Checks what no single section can know."""
        check_vpc_cidr("vpc_cidr", self.vpc_cidr)
        check_availability_zones("availability_zones", self.availability_zones)
        check_public_access_cidrs("public_access_cidrs", self.public_access_cidrs)
        check_admin_arns("admin_arns", self.admin_arns)
        for name in self.node_groups:
            if not _NODE_GROUP_NAME.fullmatch(name):
                raise InputError(f"'node_groups' has the name {name!r}; use letters, digits and '-', a letter first")


def load_config(path: Path, context: Mapping[str, Any] | None = None) -> ClusterConfig:
    """Reads a configuration file and applies the values given with `cdk -c key=value`.

    Args:
        path: The YAML file.
        context: The CDK context. A key is a dotted path to a value of the file, such as
            `node_groups.gpu.instance_type`; what CDK keeps there for itself is left alone.

    Raises:
        InputError: The file is not there or not a mapping, or one or more values are not allowed; the message has one
            line for each.
    """
    settings = _read(path)
    for key, value in (context or {}).items():
        if not _CDK_KEY.fullmatch(key):
            _override(settings, key, value)
    try:
        return TypeAdapter(ClusterConfig).validate_python(settings)
    except ValidationError as error:
        mistakes = [_describe(details) for details in error.errors(include_url=False)]
        raise InputError("\n".join([f"{path} cannot be used:", *(f"  {mistake}" for mistake in mistakes)])) from error


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"'config' is {str(path)!r}, which is not a file; give another with '-c config=<file>'")
    settings = _parse(path.name, path.read_bytes())
    if not isinstance(settings, dict):
        raise InputError(f"{path} holds {type(settings).__name__}; write 'key: value' lines")
    return settings


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML takes the last of two equal keys in silence; here that is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Makes a mapping whose keys are all different."""
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(problem=f"{key!r} is there twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep=deep)


def _parse(source: str, text: str | bytes) -> Any:
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{source} is not YAML: {error}") from error


def _override(settings: dict[str, Any], key: str, value: str) -> None:
    """Sets one value by its dotted path."""
    *parents, last = key.split(".")
    section = settings
    for depth, name in enumerate(parents):
        _check_known(tuple(parents[: depth + 1]))
        # Sections whose names are free are made in the file only, or a slip of the pen would make another.
        if name not in section and not _fields_at(tuple(parents[:depth])):
            raise unknown_name("key", key, [".".join((*parents[:depth], other)) for other in section])
        if not isinstance(section.get(name), dict):
            section[name] = {}
        section = section[name]
    _check_known((*parents, last))
    section[last] = _parse(f"'{key}'", value) if isinstance(value, str) else value


def _check_known(location: tuple[str, ...]) -> None:
    known = _fields_at(location[:-1])
    if known and location[-1] not in known:
        raise unknown_name("key", ".".join(location), [".".join((*location[:-1], name)) for name in known])


def _fields_at(location: tuple[str | int, ...]) -> list[str]:
    """Names of the fields that a place in the file may have; empty where names are free."""
    kind: Any = ClusterConfig
    for part in location:
        if dataclasses.is_dataclass(kind):
            kind = get_type_hints(kind).get(str(part), Any)
        else:
            kind = (*get_args(kind), Any)[1]
    return [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []


def _describe(details: ErrorDetails) -> str:
    """Turns one of pydantic's findings into a sentence in this project's words."""
    key = ".".join(map(str, details["loc"]))
    match details["type"]:
        case "unexpected_keyword_argument":
            parent = tuple(map(str, details["loc"][:-1]))
            return str(unknown_name("key", key, [".".join((*parent, name)) for name in _fields_at(parent)]))
        case "missing":
            return f"'{key}' is missing; add it"
        case "dataclass_type":
            fields = ", ".join(_fields_at(details["loc"]))
            return f"'{key}' is {details['input']!r}; write its keys below it: {fields}"
        case "value_error":
            # Our own checks name their field, and here the path to it.
            return str(details["ctx"]["error"]).replace("'", f"'{key}." if key else "'", 1)
        case _:
            message = details["msg"].replace("tuple", "list")
            return f"'{key}' is {details['input']!r}; {message[0].lower()}{message[1:]}"
