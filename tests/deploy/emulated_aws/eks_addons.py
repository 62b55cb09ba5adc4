"""AWS::EKS::Addon, with updates in place."""

from ministack.services import eks

from tests.deploy.emulated_aws.registration import Attributes, Properties, answer, camel, register, tag_map

FIELDS = ("AddonVersion", "ConfigurationValues", "ServiceAccountRoleArn", "PodIdentityAssociations")


def fields(properties: Properties) -> Properties:
    """Return the fields that UpdateAddon takes."""
    return {camel({name: 0}).popitem()[0]: camel(properties[name]) for name in FIELDS if name in properties}


def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Create an add-on."""
    cluster, name = properties["ClusterName"], properties["AddonName"]
    body = fields(properties) | {"addonName": name, "tags": tag_map(properties)}
    addon = answer(eks._create_addon(cluster, body))["addon"]
    return f"{cluster}|{name}", {"Arn": addon["addonArn"]}


def update(physical_id: str, old: Properties, new: Properties) -> Attributes:
    """Change the add-on in place."""
    cluster, name = physical_id.split("|")
    answer(eks._update_addon(cluster, name, fields(new)))
    return {"Arn": eks._addons[f"{cluster}/{name}"]["addonArn"]}


def delete(physical_id: str, properties: Properties) -> None:
    """Delete the add-on."""
    answer(eks._delete_addon(*physical_id.split("|")))


register(
    "AWS::EKS::Addon",
    create=create,
    update=update,
    delete=delete,
    replacing=("AddonName", "ClusterName", "NamespaceConfig"),
)
