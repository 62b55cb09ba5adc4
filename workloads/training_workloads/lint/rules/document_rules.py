"""Rules on the text of a document, whatever its kind."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from training_workloads.lint.rule import Found, error
from training_workloads.manifests.documents import Document
from training_workloads.manifests.values import is_placeholder, mapping
from training_workloads.mpijob.api import KIND


@error(
    "YAML forbids it ([1.2.2](https://yaml.org/spec/1.2.2/#3211-nodes)): kubectl makes JSON of the file with the last "
    "value, and drops the first one without a message ([yaml](https://github.com/kubernetes-sigs/yaml)); strict "
    "parsers, such as kustomize's, reject the file"
)
def duplicate_key(document: Document) -> Iterator[Found]:
    """A key that a mapping has twice, so that the first value is lost, or a key that is no name."""
    for problem in document.problems:
        is_duplicate = "the same key" in problem.allowed
        given = (
            f"is given again: {problem.allowed}" if is_duplicate else f"has the key {problem.given}, which is no name"
        )
        yield Found(problem.path, given, problem.fix)


# The API of each kind that has rules. Another project may have a kind of the same name: only these groups are compared.
_APIS = {
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "PyTorchJob": "kubeflow.org/v1",
    "TFJob": "kubeflow.org/v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "TrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "ClusterTrainingRuntime": "trainer.kubeflow.org/v1alpha1",
}
_GROUPS = {api.rpartition("/")[0] for api in _APIS.values()} | {"apps", "extensions"}
_NEARLY = 0.85


@error(
    "The API server has no such kind ([Kubernetes]("
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/#required-fields))"
)
def kind_of_api(document: Document) -> Iterator[Found]:
    """A kind that is misspelled, or with the version of another API."""
    content = mapping(document.content)
    kind, version = content.get("kind"), content.get("apiVersion")
    group = version.rpartition("/")[0] if isinstance(version, str) else None
    if not isinstance(kind, str) or group not in _GROUPS or is_placeholder(version):
        return
    kinds = (*_APIS, KIND)
    if kind in _APIS and version != _APIS[kind]:
        yield Found(("apiVersion",), f"is {version!r}, which has no {kind}", f"write {_APIS[kind]}")
    elif kind not in kinds and group and (close := _close(kind, kinds)):
        yield Found(("kind",), f"is {kind!r}, which {version} does not have", f"did you mean {close}?")


def _close(kind: str, kinds: Sequence[str]) -> str | None:
    """Return the kind that is the same in other letters, or nearly the same."""
    alike = {one: SequenceMatcher(None, kind.lower(), one.lower()).ratio() for one in kinds}
    best = max(kinds, key=alike.__getitem__)
    return best if alike[best] >= _NEARLY and not kind.endswith("List") else None
