"""Start the emulator of AWS with the types of resources that it lacks; runs with the interpreter of .venv-deploy."""

from ministack.app import main

# Each registers what it defines.
from tests.deploy.emulated_aws import (  # noqa: F401
    addresses_and_gateways,
    ami_parameters,
    budgets_type,
    eks_access,
    eks_addons,
    eks_details,
    exports_in_use,
    flow_logs,
    group_rules,
    launch_template_answers,
    lustre_service,
    metric_math,
    notebook_instances,
    placement_groups,
    subnet_addresses,
)

main()
