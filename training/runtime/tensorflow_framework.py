"""What the loop must know of TensorFlow with Horovod."""

from training.runtime.software_versions import versions
from training.runtime.task import Framework
from training.runtime.tensorboard_curves import Curves

#: Of every program under Horovod.
TENSORFLOW = Framework(curves=Curves, versions=versions)
