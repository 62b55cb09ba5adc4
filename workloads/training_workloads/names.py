"""The forms of names that Kubernetes accepts, and of the ids of AWS."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from training_workloads.validation import Problem, Problems, matches

__all__ = [
    "DNS_1035_CHARACTERS",
    "DNS_LABEL",
    "DNS_LABEL_LENGTH",
    "DNS_LABEL_RULE",
    "DNS_SUBDOMAIN",
    "ID_DIGITS",
    "LABEL_KEY",
    "LABEL_VALUE",
    "annotation_key",
    "annotations",
    "aws_id",
    "dns_1035_label",
    "dns_label",
    "dns_subdomain",
    "image_fix",
    "label_key",
    "labels",
    "leaves_room",
]

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
DNS_LABEL_RULE = "lower-case letters, digits and '-', at most 63"

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#rfc-1035-label-names
DNS_1035_CHARACTERS = r"[a-z]([-a-z0-9]*[a-z0-9])?"
DNS_LABEL_LENGTH = 63

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
DNS_SUBDOMAIN = r"(?!.{254})[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
LABEL_KEY = rf"({DNS_SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
_KEYS = "names such as team or example.com/team"
LABEL_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"

# https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/validation/objectmeta.go
_MOST_ANNOTATED = 256 * 1024

# https://github.com/distribution/reference/blob/v0.6.0/reference.go, by which the kubelet reads an image's address; the
# lengths of digests are those of https://github.com/opencontainers/go-digest/blob/v1.0.0/algorithm.go.
_HOST_PART = r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?"
_HOST = rf"({_HOST_PART}(\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])(:[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*"
_PATH = rf"{_PATH_PART}(/{_PATH_PART})*"
_TAG = r"[A-Za-z0-9_][-A-Za-z0-9_.]{0,127}"
_DIGEST = r"(sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})"
_IMAGE = re.compile(rf"({_HOST}/)?{_PATH}(:{_TAG})?(@{_DIGEST})?")
_SCHEME = re.compile(r"[A-Za-z][-+.A-Za-z0-9]*://")


# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html: 8 or 17 hexadecimal digits.
ID_DIGITS = r"([0-9a-f]{8}|[0-9a-f]{17})"


def aws_id(name: str, value: Any, kind: str, command: str) -> Problems:
    """Reject other texts than the id of a resource in AWS.

    Args:
        name: The argument, as the user typed it.
        value: What they gave.
        kind: What the id starts with, such as `sg`.
        command: What shows the id.
    """
    yield from matches(name, value, f"{kind}-{ID_DIGITS}", f"an id such as {kind}-0123456789abcdef0 ({command})")


def dns_label(name: str, value: Any) -> Problems:
    """Reject anything but a DNS label."""
    yield from matches(name, value, DNS_LABEL, DNS_LABEL_RULE)


def dns_1035_label(name: str, value: Any) -> Problems:
    """Reject anything but a DNS label that begins with a letter, the form of a Service's name."""
    rule = "lower-case letters, digits and '-', a letter first and no '-' at the end, at most 63"
    yield from matches(name, value, rf"(?!.{{{DNS_LABEL_LENGTH + 1}}}){DNS_1035_CHARACTERS}", rule)


def dns_subdomain(name: str, value: Any) -> Problems:
    """Reject anything but a DNS subdomain, the form of most objects' names."""
    yield from matches(name, value, DNS_SUBDOMAIN, "a name of lower-case letters, digits, '-' and '.', at most 253")


def label_key(name: str, value: Any) -> Problems:
    """Reject anything but the key of a label, such as `topology.kubernetes.io/zone`."""
    yield from matches(name, value, LABEL_KEY, "the key of a node label, such as topology.kubernetes.io/zone")


def annotation_key(name: str, value: Any) -> Problems:
    """Reject anything but the key of an annotation, which may have upper-case letters in its prefix too.

    https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/validation/objectmeta.go (ValidateAnnotations)
    """
    if not isinstance(value, str) or next(label_key(name, value.lower()), None):
        yield Problem(path=(name,), given=value, fix=f"give {_KEYS}")


def labels(name: str, value: Any) -> Problems:
    """Reject anything but a dictionary of labels."""
    rule = "text of letters, digits, '-', '_' and '.', at most 63, with a letter or a digit at both ends"
    yield from _metadata(name, value, _metadata_key, lambda key, text: matches(key, text, LABEL_VALUE, rule))


def annotations(name: str, value: Any) -> Problems:
    """Reject anything but a dictionary of annotations."""
    wrong = list(_metadata(name, value, annotation_key, _any_text))
    yield from wrong
    size = 0 if wrong else sum(len(text.encode()) for item in value.items() for text in item)
    if size > _MOST_ANNOTATED:
        allowed = f"it has {size} bytes, and all annotations of an object have at most {_MOST_ANNOTATED}"
        yield Problem(path=(name,), given=value, allowed=allowed, fix="put large values into a ConfigMap")


def _metadata_key(name: str, value: Any) -> Problems:
    yield from matches(name, value, LABEL_KEY, _KEYS)


def _any_text(name: str, value: Any) -> Problems:
    yield from matches(name, value, r"(?s).*", "text, in quotes")


_Rule = Callable[[str, Any], Problems]


def _metadata(name: str, value: Any, key_rule: _Rule, rule: _Rule) -> Problems:
    if not isinstance(value, Mapping):
        yield Problem(path=(name,), given=value, fix="give a dictionary of names and texts, such as {'team': 'vision'}")
        return
    for key, text in value.items():
        yield from key_rule(name, key)
        for problem in rule(str(key), text):
            yield problem.under(name)


def leaves_room(name: str, value: str, suffix: str, pods: str) -> Problems:
    """Reject a name that is too long for the names that are derived from it.

    Args:
        name: The argument, as the user typed it.
        value: What they gave; a DNS label.
        suffix: The longest end of a derived name, such as `-worker-15`.
        pods: What names pods so, such as `Kubernetes`.
    """
    limit = DNS_LABEL_LENGTH - len(suffix)
    if len(value) > limit:
        allowed = f"{pods} names pods '<name>{suffix}', of at most {DNS_LABEL_LENGTH} characters"
        yield Problem(path=(name,), given=value, allowed=allowed, fix=f"use a name of {limit} characters or fewer")


def image_fix(image: Any) -> str:
    """Return the fix for an image that no node can pull because of its form; empty if its form is right."""
    address = image if isinstance(image, str) else ""
    if _IMAGE.fullmatch(address):
        return ""
    if scheme := _SCHEME.match(address):
        return f"omit '{scheme[0]}'"
    if " " in address:
        return "remove the blank"
    if _IMAGE.fullmatch(address.lower()):
        return "write the repository in lower case"
    return "give the image's address, such as <repository>:<tag>"
