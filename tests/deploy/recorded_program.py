"""Stand in for aws, kubectl and helm in CDK's functions: record what they would apply, and reject it on demand.

A separate program, with nothing but the standard library: NAME ARGUMENTS..., in the folder $APPLIED.
"""

import json
import os
import sys
import time
from pathlib import Path

#: The next call whose arguments contain the text of this file fails, and removes the file.
REJECTED = "reject"


def main(program: str, arguments: list[str]) -> int:
    """Do what the caller relies on, and record the rest."""
    folder = Path(os.environ["APPLIED"])
    rejected = folder / REJECTED
    if rejected.exists() and rejected.read_text() in [program, *arguments]:
        rejected.unlink()
        print(f"error: {program} fails once, on demand", file=sys.stderr)
        return 1
    if program == "aws":
        return aws(arguments)
    if program == "helm" and arguments[0] == "pull":
        # `helm pull oci://registry/charts/name --untar` leaves the folder `name`.
        Path(arguments[1].rpartition("/")[2]).mkdir()
    record(folder, program, arguments)
    return 0


def aws(arguments: list[str]) -> int:
    """Write a file for `aws eks update-kubeconfig`, and a password for a registry."""
    if arguments[:2] == ["eks", "update-kubeconfig"]:
        Path(value_of(arguments, "--kubeconfig")).write_text(value_of(arguments, "--name"))
    elif "get-login-password" in arguments:
        print("password")
    else:
        print(f"error: aws {' '.join(arguments)} is not expected", file=sys.stderr)
        return 1
    return 0


def record(folder: Path, program: str, arguments: list[str]) -> None:
    """Write the arguments, the cluster, the documents and the values of a call into a file."""
    entry: dict[str, object] = {"program": program, "arguments": arguments}
    if "--kubeconfig" in arguments:
        entry["cluster"] = Path(value_of(arguments, "--kubeconfig")).read_text()
    for option, name in (("-f", "documents"), ("--values", "values")):
        if option in arguments:
            entry[name] = documents(Path(value_of(arguments, option)).read_text())
    (folder / f"{time.time_ns()}-{os.getpid()}.json").write_text(json.dumps(entry))


def documents(text: str) -> list[object]:
    """Return JSON documents that follow each other without anything between them."""
    found, place = [], 0
    while place < len(text):
        document, place = json.JSONDecoder().raw_decode(text, place)
        found.append(document)
    return found


def value_of(arguments: list[str], option: str) -> str:
    """Return what follows an option."""
    return arguments[arguments.index(option) + 1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
