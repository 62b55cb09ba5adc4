"""Evidence that many rules share: the function of Kubernetes that rejects an object."""

__all__ = ["validated_by"]

_SOURCE = "https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/core/validation/validation.go"


def validated_by(functions: str, effect: str = "The pod is rejected") -> str:
    """Return the evidence, as Markdown, that functions of Kubernetes' own validation check something.

    Args:
        functions: Their names, such as `ValidateTolerations`.
        effect: What happens to a wrong object.
    """
    return f"{effect} ([{functions}]({_SOURCE}))"
