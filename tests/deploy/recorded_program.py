"""Stand in for aws, kubectl and helm in CDK's functions: record what they would apply, and reject it on demand.

kubectl also knows which objects each cluster has.

A separate program, with nothing but the standard library: NAME ARGUMENTS..., in the folder $APPLIED.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

#: The next call whose arguments contain the text of this file fails, and removes the file.
REJECTED = "reject"


def main(program: str, arguments: list[str]) -> int:
    """Do the actions that the caller relies on, and record the rest."""
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
    if program == "kubectl":
        return kubectl(folder, arguments)
    return 0


#: Namespaces that Kubernetes, Helm and the add-ons make.
OTHER_NAMESPACES = {"default", "kube-system", "kueue-system", "amazon-cloudwatch"}

#: What `kubectl apply --prune` deletes of the kinds that the stacks have
#: (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/).
PRUNED = {"Namespace", "PersistentVolume", "PersistentVolumeClaim", "Job", "Deployment", "DaemonSet"}


def kubectl(folder: Path, arguments: list[str]) -> int:
    """Keep the objects of each cluster, and fail as the API server does."""
    path = objects_of(folder, Path(value_of(arguments, "--kubeconfig")).read_text())
    objects = json.loads(path.read_text()) if path.exists() else {}
    given = {name_of(each): each["metadata"].get("labels", {}) for each in documents(file_of(arguments))}
    if arguments[0] == "delete":
        remove(objects, set(given))
    elif message := rejection(arguments[0], objects, given):
        print(f"Error from server {message}", file=sys.stderr)
        return 1
    else:
        objects |= given
        if "--prune" in arguments:
            label = value_of(arguments, "-l")
            labeled = {name for name, labels in objects.items() if label in labels}
            remove(objects, {name for name in labeled - given.keys() if name.partition("/")[0] in PRUNED})
    path.write_text(json.dumps(objects))
    return 0


def objects_of(folder: Path, cluster: str) -> Path:
    """Return the file with the objects of a cluster: their labels by kind, namespace and name."""
    return folder / f"{cluster}.objects"


def name_of(document: dict[str, Any]) -> str:
    """Return kind, namespace and name."""
    metadata = document["metadata"]
    return f"{document['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"


def remove(objects: dict[str, Any], names: set[str]) -> None:
    """Delete objects, and with a namespace all that is in it."""
    spaces = {name.rpartition("/")[2] for name in names if name.startswith("Namespace/")}
    for name in [name for name in objects if name in names or name.split("/")[1] in spaces]:
        del objects[name]


def rejection(verb: str, objects: dict[str, Any], given: dict[str, Any]) -> str | None:
    """Return the message of the API server for objects that exist, or whose namespace does not."""
    if verb == "create" and (found := sorted(objects.keys() & given.keys())):
        return f"(AlreadyExists): {', '.join(found)} already exists"
    spaces = {name.rpartition("/")[2] for name in {**objects, **given} if name.startswith("Namespace/")}
    wanted = {name.split("/")[1] for name in given} - {""}
    if missing := sorted(wanted - spaces - OTHER_NAMESPACES):
        return f"(NotFound): namespaces {', '.join(missing)} not found"
    return None


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


def file_of(arguments: list[str]) -> str:
    """Return the text of the manifest."""
    return Path(value_of(arguments, "-f")).read_text()


def documents(text: str) -> list[Any]:
    """Return JSON documents that follow each other without anything between them."""
    found: list[Any] = []
    place = 0
    while place < len(text):
        document, place = json.JSONDecoder().raw_decode(text, place)
        found.append(document)
    return found


def value_of(arguments: list[str], option: str) -> str:
    """Return the word that follows an option."""
    return arguments[arguments.index(option) + 1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
