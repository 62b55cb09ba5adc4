"""Rules on tolerations, affinity and spread constraints that the API server rejects when the pods are created.

https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/core/validation/validation.go: ValidateTolerations,
ValidateNodeSelectorRequirement, ValidateNodeSelectorTerm, validateTopologySpreadConstraints.
"""

import re
from collections.abc import Iterator
from typing import Any

from training_workloads.lint.name_forms import LABEL_VALUE
from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder, mapping, sequence
from training_workloads.validation import known_names

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution[]"
_NODE_TERMS = (
    f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[].matchExpressions|matchFields[]",
    f"spec.affinity.nodeAffinity.{_PREFERRED}.preference.matchExpressions|matchFields[]",
)
_POD_TERMS = (
    f"spec.affinity.podAffinity|podAntiAffinity.{_REQUIRED}[].labelSelector|namespaceSelector.matchExpressions[]",
    f"spec.affinity.podAffinity|podAntiAffinity.{_PREFERRED}.podAffinityTerm.labelSelector.matchExpressions[]",
    "spec.topologySpreadConstraints[].labelSelector.matchExpressions[]",
)

# How many values each operator takes; Gt and Lt are for nodes only.
_MANY, _NONE = ("In", "NotIn"), ("Exists", "DoesNotExist")
_ONE = ("Gt", "Lt")


@error(validated_by("ValidateTolerations"))
def toleration(pods: PodGroup) -> Iterator[Found]:
    """A toleration that contradicts itself: Exists with a value, no key without Exists, seconds without NoExecute."""
    for path, value in places(pods.template, "spec.tolerations[]", pods.template_path):
        given = mapping(value)
        operator, effect = given.get("operator") or "Equal", given.get("effect")
        if operator == "Exists" and given.get("value"):
            fix = "omit the value, or write operator: Equal"
            yield Found((*path, "value"), "is given with the operator Exists, and the pod is rejected", fix)
        if not given.get("key") and operator == "Equal":
            problem = "has no key, which only the operator Exists may lack, and the pod is rejected"
            yield Found(path, problem, "give the taint's key, or write operator: Exists for every taint")
        if given.get("tolerationSeconds") is not None and isinstance(effect, str | None) and effect != "NoExecute":
            problem = "is given without the effect NoExecute, and the pod is rejected"
            yield Found((*path, "tolerationSeconds"), problem, "omit it, or write effect: NoExecute")


@error(validated_by("ValidateNodeSelectorRequirement"))
def affinity_expression(pods: PodGroup) -> Iterator[Found]:
    """An expression with an operator that does not exist, or with the wrong number of values."""
    for pattern in (*_NODE_TERMS, *_POD_TERMS):
        operators = (*_MANY, *_NONE, *(_ONE if pattern in _NODE_TERMS else ()))
        for path, value in places(pods.template, pattern, pods.template_path):
            operator, values = mapping(value).get("operator"), sequence(mapping(value).get("values"))
            if not isinstance(operator, str) or is_placeholder(operator):
                continue
            if operator not in operators:
                yield Found(
                    (*path, "operator"), f"is {operator!r}, and the pod is rejected", known_names(operator, operators)
                )
            elif problem := _wrong_count(operator, values):
                yield Found((*path, "values"), f"{problem}, and the pod is rejected", _COUNTS[operator])


@error(validated_by("ValidateNodeSelectorRequirement", "No node has such a label, and the pod is rejected"))
def affinity_value(pods: PodGroup) -> Iterator[Found]:
    """A value of a node affinity or a toleration that no label or taint can have, such as one with a blank."""
    for pattern in (*(f"{term}.values[]" for term in _NODE_TERMS), "spec.tolerations[].value"):
        for path, value in places(pods.template, pattern, pods.template_path):
            if isinstance(value, str) and not is_placeholder(value) and not re.fullmatch(LABEL_VALUE.pattern, value):
                problem = f"is {value!r}, which no label of a node can be, and the pod is rejected"
                yield Found(path, problem, f"use {LABEL_VALUE.rule}, letters or digits at the ends")


_COUNTS = {
    **dict.fromkeys(_MANY, "give one value or more"),
    **dict.fromkeys(_NONE, "omit the values, or write operator: In"),
    **dict.fromkeys(_ONE, "give one whole number, in quotes"),
}


def _wrong_count(operator: str, values: list[Any]) -> str:
    """Return the problem of the number of values; empty where there is none."""
    if operator in _MANY and not values:
        return f"is empty, which {operator} does not take"
    if operator in _NONE and values:
        return f"has values, which {operator} does not take"
    return f"has {len(values)} values for {operator}" if operator in _ONE and len(values) != 1 else ""


@error(validated_by("ValidateNodeSelector"))
def empty_node_terms(pods: PodGroup) -> Iterator[Found]:
    """A required node affinity without terms."""
    for path, value in places(pods.template, f"spec.affinity.nodeAffinity.{_REQUIRED}", pods.template_path):
        if isinstance(value, dict) and value.get("nodeSelectorTerms") == []:
            yield Found((*path, "nodeSelectorTerms"), "is empty, and the pod is rejected", "give a term, or remove it")


@error(validated_by("validateTopologySpreadConstraints"))
def spread_constraint(pods: PodGroup) -> Iterator[Found]:
    """Two spread constraints for the same topology, or a number of domains that the constraint cannot have."""
    seen: set[tuple[Any, Any]] = set()
    for path, value in places(pods.template, "spec.topologySpreadConstraints[]", pods.template_path):
        given = mapping(value)
        pair = (str(given.get("topologyKey")), str(given.get("whenUnsatisfiable")))
        if pair in seen:
            yield Found(
                path, f"is a second one for {pair[0]} with {pair[1]}, and the pod is rejected", "keep one of them"
            )
        seen.add(pair)
        if given.get("minDomains") is not None and given.get("whenUnsatisfiable") == "ScheduleAnyway":
            problem = "is for whenUnsatisfiable: DoNotSchedule only, and the pod is rejected"
            yield Found((*path, "minDomains"), problem, "omit it, or write whenUnsatisfiable: DoNotSchedule")
