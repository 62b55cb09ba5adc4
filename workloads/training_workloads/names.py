"""The forms of names that Kubernetes accepts, and of the ids of AWS."""

import re
from typing import Any

from training_workloads.validation import Problems, matches

__all__ = [
    "DNS_1035_CHARACTERS",
    "DNS_LABEL",
    "DNS_LABEL_LENGTH",
    "DNS_LABEL_RULE",
    "ID_DIGITS",
    "aws_id",
    "dns_1035_label",
    "dns_label",
    "dns_subdomain",
    "image_fix",
    "label_key",
]

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names
DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
DNS_LABEL_RULE = "lower-case letters, digits and '-', at most 63"

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#rfc-1035-label-names
DNS_1035_CHARACTERS = r"[a-z]([-a-z0-9]*[a-z0-9])?"
DNS_LABEL_LENGTH = 63

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
_DNS_SUBDOMAIN = r"(?!.{254})[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
_LABEL_KEY = rf"({_DNS_SUBDOMAIN}/)?[A-Za-z0-9]([-\w.]{{0,61}}[A-Za-z0-9])?"

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
    """Reject what is not the id of a resource in AWS.

    Args:
        name: The argument, as the user typed it.
        value: What they gave.
        kind: What the id starts with, such as `sg`.
        command: What shows the id.
    """
    yield from matches(name, value, f"{kind}-{ID_DIGITS}", f"an id such as {kind}-0123456789abcdef0 ({command})")


def dns_label(name: str, value: Any) -> Problems:
    """Reject what is not a DNS label."""
    yield from matches(name, value, DNS_LABEL, DNS_LABEL_RULE)


def dns_1035_label(name: str, value: Any) -> Problems:
    """Reject what is not a DNS label that begins with a letter, the form of a Service's name."""
    rule = "lower-case letters, digits and '-', a letter first and no '-' at the end, at most 63"
    yield from matches(name, value, rf"(?!.{{{DNS_LABEL_LENGTH + 1}}}){DNS_1035_CHARACTERS}", rule)


def dns_subdomain(name: str, value: Any) -> Problems:
    """Reject what is not a DNS subdomain, the form of most objects' names."""
    yield from matches(name, value, _DNS_SUBDOMAIN, "a name of lower-case letters, digits, '-' and '.', at most 253")


def label_key(name: str, value: Any) -> Problems:
    """Reject what is not the key of a label, such as `topology.kubernetes.io/zone`."""
    yield from matches(name, value, _LABEL_KEY, "the key of a node label, such as topology.kubernetes.io/zone")


def image_fix(image: Any) -> str:
    """Return what to do about an image that no node can pull because of its form; empty if its form is right."""
    address = image if isinstance(image, str) else ""
    if _IMAGE.fullmatch(address):
        return ""
    if scheme := _SCHEME.match(address):
        return f"omit '{scheme[0]}'"
    if _IMAGE.fullmatch(address.lower()):
        return "write the repository in lower case"
    return "give the image's address, such as <repository>:<tag>"
