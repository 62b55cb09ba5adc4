from typing import Any

import pytest
import yaml

from training_workloads.lint import lint_documents
from training_workloads.lint.rules import STORAGE_RULES

VOLUME = """
kind: PersistentVolume
metadata: {name: fsx}
spec:
  capacity: {storage: 4800Gi}
  accessModes: [ReadWriteMany]
  storageClassName: ""
  persistentVolumeReclaimPolicy: Retain
  csi:
    driver: fsx.csi.aws.com
    volumeHandle: fs-1
    volumeAttributes: {dnsname: fs-1.fsx.us-east-1.amazonaws.com, mountname: abc}
"""
CLAIM = """
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: "", volumeName: fsx, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Ti}}}
"""
CLASS = """
kind: StorageClass
provisioner: fsx.csi.aws.com
parameters: {deploymentType: SCRATCH_2, fileSystemTypeVersion: "2.15", s3ImportPath: "s3://bucket"}
"""
OF_A_CLASS = VOLUME.replace('storageClassName: ""', "storageClassName: fsx-sc")
RESERVED = VOLUME.replace("spec:", "spec:\n  claimRef: {name: data}")


def found(*texts: str) -> list[tuple[str, str]]:
    linted = lint_documents([yaml.safe_load(text) for text in texts])
    return [
        (finding.rule, f"{finding.level}: {finding.where}: {finding.problem}; {finding.fix}") for finding in linted[0]
    ]


FIRES: list[tuple[str, list[str], str]] = [
    (
        "volume-recycled",
        [VOLUME.replace("Retain", "Recycle")],
        "error: spec.persistentVolumeReclaimPolicy: is Recycle, which no CSI driver can do; the volume is Failed once "
        "its claim is gone; write Retain, so that the data stays",
    ),
    (
        "lustre-volume-attributes",
        [VOLUME.replace(", mountname: abc", "")],
        "error: spec.csi.volumeAttributes.mountname: is missing, and the driver uses 'fsx', which only SCRATCH_1 file "
        "systems have; give the file system's (aws fsx describe-file-systems)",
    ),
    (
        "lustre-volume-attributes",
        [VOLUME.replace("dnsname: fs-1.fsx.us-east-1.amazonaws.com, ", "")],
        "error: spec.csi.volumeAttributes.dnsname: is missing; give the file system's (aws fsx describe-file-systems)",
    ),
    (
        "claim-without-class",
        [CLAIM.replace('storageClassName: "", ', "")],
        "warning: spec.storageClassName: is missing: the cluster's default class is filled in, which a static volume "
        'does not have; write ""',
    ),
    (
        "persistent-2-with-s3",
        [CLASS.replace("SCRATCH_2", "PERSISTENT_2")],
        "error: parameters.s3ImportPath: is for SCRATCH and PERSISTENT_1 only; FSx does not create the file system; "
        "create it outside of Kubernetes with a data repository association, and define a static volume for it",
    ),
    (
        "lustre-version-unset",
        [CLASS.replace(' fileSystemTypeVersion: "2.15",', "")],
        'warning: parameters.fileSystemTypeVersion: is missing, and FSx\'s default is Lustre 2.10; write "2.15"',
    ),
    (
        "storage-driver",
        [VOLUME.replace("fsx.csi.aws.com", "fsx.csi.amazon.com", 1)],
        "error: spec.csi.driver: is 'fsx.csi.amazon.com', which is no driver; write fsx.csi.aws.com",
    ),
    (
        "storage-driver",
        ["{kind: StorageClass, provisioner: ebs.csi.amazonaws.com}"],
        "error: provisioner: is 'ebs.csi.amazonaws.com', which is no driver; write ebs.csi.aws.com",
    ),
    (
        "storage-fields",
        [CLASS.replace("deploymentType: SCRATCH_2", "perUnitStorageThroughput: 250")],
        "error: parameters.perUnitStorageThroughput: is 250, but the field takes text; write it in quotes",
    ),
    (
        "storage-fields",
        [VOLUME.replace("volumeHandle", "volumeHandel")],
        "error: spec.csi.volumeHandel: is not a field here, and is rejected or dropped without a warning; did you mean "
        "volumeHandle?",
    ),
    (
        "storage-fields",
        [VOLUME.replace("4800Gi", "4800GB")],
        "error: spec.capacity.storage: is '4800GB', but it is not an amount of Kubernetes; write 4800G",
    ),
    (
        "incomplete-storage",
        [VOLUME.replace("  accessModes: [ReadWriteMany]\n", "")],
        "error: spec.accessModes: is missing, and the object is rejected; add it",
    ),
    (
        "incomplete-storage",
        [CLAIM.replace("storage: 1Ti", "")],
        "error: spec.resources.requests.storage: is missing, and the object is rejected; add it",
    ),
    (
        "lustre-parameter",
        [CLASS.replace("deploymentType", "deploymentTyp")],
        "error: parameters.deploymentTyp: is no parameter of the driver; did you mean deploymentType?",
    ),
    (
        "lustre-parameter-value",
        [CLASS.replace("SCRATCH_2", "SCRATCH2")],
        "error: parameters.deploymentType: is 'SCRATCH2', and FSx rejects it; "
        "known: PERSISTENT_1, PERSISTENT_2, SCRATCH_1, SCRATCH_2",
    ),
    (
        "lustre-parameter-value",
        [CLASS.replace("SCRATCH_2", 'PERSISTENT_2, perUnitStorageThroughput: "200"')],
        "error: parameters.perUnitStorageThroughput: is 200, which FSx does not have for PERSISTENT_2; give "
        "one of 125, "
        "250, 500, 1000, in quotes",
    ),
    (
        "claim-differs-from-volume",
        [CLAIM.replace('""', "fsx-sc"), VOLUME],
        "error: spec.storageClassName: is 'fsx-sc', but the volume fsx has '', and the claim stays Pending; write ''",
    ),
    (
        "claim-differs-from-volume",
        [CLAIM.replace("1Ti", "9600Gi"), VOLUME],
        "error: spec.resources.requests.storage: is 9600Gi, but the volume fsx has 4800Gi, and the claim "
        "stays Pending; "
        "request 4800Gi or less",
    ),
    (
        "claim-differs-from-volume",
        [CLAIM.replace("ReadWriteMany", "ReadWriteOnce"), VOLUME],
        "error: spec.accessModes: has ReadWriteOnce, which the volume fsx does not have, and the claim stays Pending; "
        "give the volume's access modes",
    ),
]

SILENT: list[tuple[str, list[str]]] = [
    ("volume-recycled", [VOLUME.replace("Retain", "Delete")]),
    ("volume-recycled", ["{kind: PersistentVolume, spec: {persistentVolumeReclaimPolicy: Recycle, nfs: {server: a}}}"]),
    (
        "lustre-volume-attributes",
        ["{kind: PersistentVolume, spec: {csi: {driver: efs.csi.aws.com, volumeHandle: fs-1}}}"],
    ),
    ("claim-without-class", [CLAIM.replace('"", volumeName: fsx', "ebs")]),
    # The default class may be that of a shared file system.
    ("claim-without-class", [CLAIM.replace('storageClassName: "", volumeName: fsx, ', "")]),
    ("persistent-2-with-s3", [CLASS]),
    ("persistent-2-with-s3", [CLASS.replace("SCRATCH_2", "PERSISTENT_2").replace(', s3ImportPath: "s3://bucket"', "")]),
    ("storage-fields", [VOLUME]),
    ("storage-fields", [CLASS.replace("SCRATCH_2", "$TYPE")]),
    ("incomplete-storage", ["{kind: PersistentVolumeClaim, spec: 5}"]),
    ("lustre-parameter", [CLASS.replace("deploymentType: SCRATCH_2", "csi.storage.k8s.io/fstype: lustre")]),
    ("lustre-parameter", [CLASS.replace("fsx.csi.aws.com", "ebs.csi.aws.com").replace("deploymentType", "type")]),
    ("lustre-parameter-value", [CLASS.replace("SCRATCH_2", 'PERSISTENT_2, perUnitStorageThroughput: "250"')]),
    ("lustre-parameter-value", [CLASS.replace("SCRATCH_2", "$TYPE")]),
    ("claim-differs-from-volume", [CLAIM, VOLUME]),
    ("claim-differs-from-volume", [CLAIM.replace("volumeName: fsx", "volumeName: other"), VOLUME]),
    ("claim-differs-from-volume", [CLAIM.replace("1Ti", "$SIZE"), VOLUME]),
    ("lustre-version-unset", ["{kind: StorageClass, provisioner: ebs.csi.aws.com}"]),
    ("lustre-version-unset", [CLASS.replace('fileSystemTypeVersion: "2.15"', "fileSystemId: fs-1")]),
    (
        "lustre-version-unset",
        ["{kind: StorageClass, provisioner: fsx.csi.aws.com, parameters: {deploymentType: PERSISTENT_2}}"],
    ),
    ("storage-driver", ["{kind: StorageClass, provisioner: ebs.csi.aws.com}"]),
    ("storage-driver", ["{kind: StorageClass, provisioner: rancher.io/local-path}"]),
]


@pytest.mark.parametrize("text", [VOLUME, CLAIM, CLASS])
def test_nothing_is_wrong_with_right_storage(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(("rule", "texts", "message"), FIRES)
def test_a_rule_on_storage_reports_what_is_wrong(rule: str, texts: list[str], message: str) -> None:
    assert (rule, message) in found(*texts)


@pytest.mark.parametrize(("rule", "texts"), SILENT)
def test_a_rule_on_storage_is_silent_where_nothing_is_wrong(rule: str, texts: list[str]) -> None:
    assert rule not in dict(found(*texts))


def test_each_rule_on_storage_has_a_wrong_case_and_a_right_one() -> None:
    ids = {rule.id for rule in STORAGE_RULES}
    assert {rule for rule, *_ in FIRES} == {rule for rule, *_ in SILENT} == ids


def test_storage_of_any_shape_is_linted() -> None:
    shapes: list[Any] = [1, [], "x"]
    junk: list[Any] = [{"kind": kind, "spec": spec} for kind in ("PersistentVolume", "StorageClass") for spec in shapes]
    assert all(isinstance(one, list) for one in lint_documents([*junk, None, 7, "x"]))
