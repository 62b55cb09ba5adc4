"""Record the properties by whose change CloudFormation replaces a resource, from the schemas that cfn-lint contains.

    make setup-scan
    python -m setup.record_create_only

It writes `changes/create_only.json`, which `trainctl cluster plan` reads.
"""

import json
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

__all__ = ["create_only"]

_ROOT = Path(__file__).parents[1]
_FILE = _ROOT / "constructs/training_cluster/changes/create_only.json"
_SCHEMAS = ".venv-scan/lib/python3*/site-packages/cfnlint/data/schemas"


def main() -> None:
    """Write the file."""
    folder = next(_ROOT.glob(_SCHEMAS), None)
    if folder is None:
        sys.exit(__doc__)
    (release,) = {each.version for each in distributions(path=[str(folder.parents[2])]) if each.name == "cfn-lint"}
    # A line for each type, so that a difference can be read.
    lines = [f"{json.dumps(name)}: {json.dumps(paths)}" for name, paths in sorted(create_only(folder).items())]
    text = ",\n".join([f'{{"recorded_by": "cfn-lint {release}"', '"types": {', ",\n".join(lines)])
    _FILE.write_text(f"{text}}}}}\n".replace("{,\n", "{\n"), encoding="utf-8")


def create_only(folder: Path) -> dict[str, list[str]]:
    """Return the paths of the properties by type of resource, such as `KubernetesNetworkConfig/IpFamily`."""
    types = json.loads((folder / "providers/us-east-1.json").read_bytes())
    schemas = {name: json.loads((folder / f"resources/{file}.json").read_bytes()) for name, file in types.items()}
    return {name: paths for name, schema in schemas.items() if (paths := _paths(schema))}


def _paths(schema: Any) -> list[str]:
    keywords = ("createOnlyProperties", "conditionalCreateOnlyProperties")
    return sorted({path.removeprefix("/properties/") for each in keywords for path in schema.get(each, ())})


if __name__ == "__main__":
    main()
