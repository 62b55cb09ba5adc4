"""Training jobs for Kubernetes: the instance catalog, typed MPIJobs, and what they need in a cluster, with cdk8s.

The file `__init__.pyi` names the module of each public name; a name is imported when it is used, because those that use
cdk8s start Node.js.
"""

import lazy_loader

from training_workloads import nodejs

nodejs.configure()

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
