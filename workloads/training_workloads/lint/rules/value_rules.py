"""Values that Kubernetes' own validation of a pod rejects beside their type: words, numbers, and one of several.

https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/core/validation/validation.go, by the functions below.
"""

from collections.abc import Iterator
from typing import NamedTuple

from training_workloads.lint.job_schemas import POD_TEMPLATE
from training_workloads.lint.kind_schemas import fields_of, schema_of
from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import CONTAINERS, places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder, mapping, whole
from training_workloads.validation import known_names

_PROBES = f"{CONTAINERS}.livenessProbe|readinessProbe|startupProbe"
_HOOKS = f"{CONTAINERS}.lifecycle.postStart|preStop"
_CONTEXTS = ("spec.securityContext", f"{CONTAINERS}.securityContext")
_NODE_AFFINITY = "spec.affinity.nodeAffinity"
_POD_AFFINITY = "spec.affinity.podAffinity|podAntiAffinity"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution[]"
_FILES = "spec.volumes[].configMap|secret|projected|downwardAPI"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POLICIES = ("Honor", "Ignore")

# The words that each field takes (validateRestartPolicy, validateDNSPolicy, validatePullPolicy, ValidateTolerations,
# validateHostPathVolumeSource, validateSeccompProfileField, validateTopologySpreadConstraints and others).
_WORDS: dict[str, tuple[str, ...]] = {
    "spec.restartPolicy": ("Always", "OnFailure", "Never"),
    "spec.dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "spec.preemptionPolicy": ("PreemptLowerPriority", "Never"),
    "spec.os.name": ("linux", "windows"),
    f"{CONTAINERS}.imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    f"{CONTAINERS}.terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
    f"{CONTAINERS}.ports[].protocol": ("TCP", "UDP", "SCTP"),
    f"{CONTAINERS}.volumeMounts[].mountPropagation": ("None", "HostToContainer", "Bidirectional"),
    f"{CONTAINERS}.volumeMounts[].recursiveReadOnly": ("Disabled", "IfPossible", "Enabled"),
    f"{CONTAINERS}.securityContext.procMount": ("Default", "Unmasked"),
    f"{_PROBES}.httpGet.scheme": ("HTTP", "HTTPS"),
    f"{_HOOKS}.httpGet.scheme": ("HTTP", "HTTPS"),
    **{f"{one}.seccompProfile.type": ("RuntimeDefault", "Unconfined", "Localhost") for one in _CONTEXTS},
    **{f"{one}.appArmorProfile.type": ("RuntimeDefault", "Unconfined", "Localhost") for one in _CONTEXTS},
    "spec.securityContext.fsGroupChangePolicy": ("OnRootMismatch", "Always"),
    "spec.securityContext.supplementalGroupsPolicy": ("Merge", "Strict"),
    "spec.tolerations[].effect": _EFFECTS,
    "spec.tolerations[].operator": ("Equal", "Exists", "Lt", "Gt"),
    "spec.topologySpreadConstraints[].whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "spec.topologySpreadConstraints[].nodeAffinityPolicy": _POLICIES,
    "spec.topologySpreadConstraints[].nodeTaintsPolicy": _POLICIES,
    "spec.volumes[].hostPath.type": (
        *("DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
    ),
    "spec.volumes[].emptyDir.medium": ("Memory", "HugePages", "HugePages-2Mi", "HugePages-1Gi"),
    "spec.volumes[].ephemeral.volumeClaimTemplate.spec.accessModes[]": (
        *("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"),
    ),
    "spec.volumes[].ephemeral.volumeClaimTemplate.spec.volumeMode": ("Filesystem", "Block"),
}


class _Range(NamedTuple):
    least: int
    most: int | None = None


_PORT, _COUNT, _POSITIVE = _Range(1, 65535), _Range(0), _Range(1)
_ID, _MODE = _Range(0, 2**31 - 1), _Range(0, 0o777)

# The numbers that each field takes (validateContainerPorts, validateProbe, ValidatePodSpec, ValidatePodSecurityContext,
# ValidateSecurityContext, validateConfigMapVolumeSource, ValidatePreferredSchedulingTerms and others).
_NUMBERS: dict[str, _Range] = {
    f"{CONTAINERS}.ports[].containerPort": _PORT,
    f"{CONTAINERS}.ports[].hostPort": _Range(0, 65535),
    f"{_PROBES}.tcpSocket|httpGet|grpc.port": _PORT,
    f"{_HOOKS}.tcpSocket|httpGet.port": _PORT,
    f"{_PROBES}.initialDelaySeconds|timeoutSeconds|periodSeconds|successThreshold|failureThreshold": _COUNT,
    f"{_PROBES}.terminationGracePeriodSeconds": _POSITIVE,
    "spec.terminationGracePeriodSeconds": _COUNT,
    "spec.activeDeadlineSeconds": _ID._replace(least=1),
    **{f"{one}.runAsUser|runAsGroup": _ID for one in _CONTEXTS},
    "spec.securityContext.fsGroup": _ID,
    "spec.securityContext.supplementalGroups[]": _ID,
    f"{_FILES}.defaultMode": _MODE,
    f"{_FILES}.items[].mode": _MODE,
    f"{_NODE_AFFINITY}.{_PREFERRED}.weight": _Range(1, 100),
    f"{_POD_AFFINITY}.{_PREFERRED}.weight": _Range(1, 100),
    "spec.topologySpreadConstraints[].maxSkew|minDomains": _POSITIVE,
}

# Fields of which an object has exactly one (validateHandler, validateEnvVarValueFrom, ValidateEnvFrom,
# validateProjectedVolumeSource).
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_ONE_OF: dict[str, tuple[str, ...]] = {
    _PROBES: _HANDLERS,
    _HOOKS: ("exec", "httpGet", "tcpSocket", "sleep"),
    f"{CONTAINERS}.env[].valueFrom": (
        *("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"),
    ),
    f"{CONTAINERS}.envFrom[]": ("configMapRef", "secretRef"),
}


_INNER = {"port", "command", "path", "host", "key"}


@error(validated_by("ValidatePodSpec", "Rejected by the API server, or by the kubelet when it starts the container"))
def unknown_word(pods: PodGroup) -> Iterator[Found]:
    """A word that the field of a pod does not take, such as `ifNotPresent` or `Dir`."""
    for pattern, words in _WORDS.items():
        for path, value in places(pods.template, pattern, pods.template_path):
            if isinstance(value, str) and value and value not in words and not is_placeholder(value):
                yield Found(path, f"is {value!r}, and the pod is rejected", known_names(value, words))


@error(validated_by("ValidatePodSpec"))
def number_out_of_range(pods: PodGroup) -> Iterator[Found]:
    """A number that the field of a pod does not take, such as a port above 65535 or a negative time."""
    for pattern, (least, most) in _NUMBERS.items():
        for path, value in places(pods.template, pattern, pods.template_path):
            number = whole(value)
            if number is not None and (number < least or (most is not None and number > most)):
                is_mode = path[-1] in ("mode", "defaultMode")
                shown = f"{number} (0{number:o} in octal)" if is_mode and number > 0 else str(number)
                fix = "write it in octal with a leading zero, 0000 to 0777" if is_mode else f"give {least} or more"
                fix += f", {most} at most" if most is not None and not is_mode else ""
                yield Found(path, f"is {shown}, and the pod is rejected", fix)


@error(validated_by("validateHandler, validateEnvVarValueFrom"))
def one_of_several(pods: PodGroup) -> Iterator[Found]:
    """A probe, hook or variable with none or several of the fields of which it has exactly one."""
    for pattern, fields in _ONE_OF.items():
        for path, value in places(pods.template, pattern, pods.template_path):
            given = [name for name in fields if mapping(value).get(name) is not None]
            # The rule on unknown fields finds those that belong into one of the fields.
            if isinstance(value, dict) and len(given) != 1 and not _INNER & set(value):
                has = f"has {' and '.join(given)}" if given else f"has none of {', '.join(fields)}"
                yield Found(path, f"{has}, and the pod is rejected", "give exactly one of them")


@error(validated_by("validateVolumeSource", 'The pod is rejected: "may not specify more than 1 volume type"'))
def volume_sources(pods: PodGroup) -> Iterator[Found]:
    """A volume with several sources."""
    sources = [name for name in _volume_fields() if name != "name"]
    for path, value in places(pods.template, "spec.volumes[]", pods.template_path):
        given = [name for name in sources if mapping(value).get(name) is not None]
        if len(given) > 1:
            problem = f"has {' and '.join(given)} as its source, and the pod is rejected"
            yield Found(path, problem, "give each volume one source")


def _volume_fields() -> tuple[str, ...]:
    spec = fields_of(schema_of(POD_TEMPLATE))["spec"]
    return tuple(fields_of(fields_of(spec)["volumes"]["items"]))
