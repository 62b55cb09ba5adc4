"""The size of XLA's clusters: gradients are sent while others are still computed.

XLA joins operations to clusters, and all results of a cluster appear when it ends. Without a limit the backward pass is
one cluster, so that Horovod can send no gradient before the last one is computed.
"""

import os

from tensorflow.python.client import pywrap_tf_session

from .errors import UserError

_VARIABLE = "TF_XLA_FLAGS"
_SIZE = "--tf_xla_max_cluster_size"
# Any flag that can be read back: it shows when the flags were read.
_PROBE = "--tf_xla_disable_constant_folding"

# TensorFlow compiles no smaller cluster.
_SMALLEST = 4


def cluster_size(gradients: int) -> int:
    """Return the most operations of a cluster, for a step with this number of gradients.

    A backward pass has 2.2 to 3 operations for each gradient (ResNet-50 in float32, and in mixed precision with
    compression). So half an operation for each cuts it into three to six clusters: with one, all gradients wait for its
    end; with many, less is fused and more is launched. docs/adr/0020 has the arithmetic.
    """
    return max(_SMALLEST, gradients // 2)


def limit_clusters(gradients: int) -> None:
    """Limit XLA's clusters to a size for this number of gradients; a limit in TF_XLA_FLAGS is kept.

    Call it before TensorFlow looks for devices: it reads its flags then, and only once.

    Raises:
        UserError: TF_XLA_FLAGS is the name of a file, which cannot be added to.
        RuntimeError: TensorFlow has read its flags before.
    """
    given = os.environ.get(_VARIABLE, "")
    if _SIZE in given:
        return
    if given.strip() and not given.lstrip().startswith("-"):
        raise UserError(f"'{_VARIABLE}' is '{given}', the name of a file; give the flags themselves")
    size = cluster_size(gradients)
    if not _read(f"{given} {_SIZE}={size}".strip()):
        raise RuntimeError(
            f"TensorFlow read {_VARIABLE} before {_SIZE}={size} was in it; call limit_clusters before anything that "
            "looks for devices, such as tf.config.list_physical_devices"
        )


def _read(flags: str) -> bool:
    """Make TensorFlow read the flags; return False where it had read others before."""
    own = _PROBE in flags and f"{_PROBE}=false" not in flags
    os.environ[_VARIABLE] = f"{flags} {_PROBE}={'false' if own else 'true'}"
    read = bool(pywrap_tf_session.TF_GetXlaConstantFoldingDisabled()) != own
    os.environ[_VARIABLE] = flags
    if read:
        pywrap_tf_session.TF_SetXlaConstantFoldingDisabled(own)
    return read
