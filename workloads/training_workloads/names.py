"""The forms of names that Kubernetes accepts, and of the ids of AWS."""

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
