"""AWS CDK constructs for a GPU training cluster; each can be used alone in another app.

The file `__init__.pyi` names the module of each public name; a name is imported when it is used, because the AWS CDK
starts Node.js, and the commands in `account` need neither.
"""

# First: it chooses the Node.js that aws_cdk starts, or names the package to install.
import training_workloads  # noqa: F401  # isort: skip

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
