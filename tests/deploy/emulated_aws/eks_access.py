"""AWS::EKS::AccessEntry and AWS::EKS::PodIdentityAssociation."""

from ministack.services import eks, iam

from tests.deploy.emulated_aws.registration import Attributes, Properties, answer, camel, register, tag_map


def create_entry(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Let a principal in, with its policies."""
    cluster, principal = properties["ClusterName"], properties["PrincipalArn"]
    body = camel({key: properties[key] for key in ("Type", "Username", "KubernetesGroups") if key in properties})
    entry = answer(eks._create_access_entry(cluster, body | {"principalArn": principal, "tags": tag_map(properties)}))
    for policy in properties.get("AccessPolicies", []):
        answer(eks._associate_access_policy(cluster, principal, camel(policy)))
    return f"{principal}|{cluster}", {"AccessEntryArn": entry["accessEntry"]["accessEntryArn"]}


def delete_entry(physical_id: str, properties: Properties) -> None:
    """Delete the entry, with its policies."""
    principal, cluster = physical_id.split("|")
    answer(eks._delete_access_entry(cluster, principal))


def create_association(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Give a role, which must exist, to the pods of a service account."""
    role = properties["RoleArn"]
    if role not in {each["Arn"] for each in iam._roles.values()}:
        raise ValueError(f"the role {role} does not exist")
    body = {"namespace": properties["Namespace"], "serviceAccount": properties["ServiceAccount"], "roleArn": role}
    made = answer(eks._create_pod_identity_association(properties["ClusterName"], body | {"tags": tag_map(properties)}))
    association = made["association"]
    return association["associationId"], {
        "AssociationArn": association["associationArn"],
        "AssociationId": association["associationId"],
    }


def delete_association(physical_id: str, properties: Properties) -> None:
    """Delete the association."""
    answer(eks._delete_pod_identity_association(properties["ClusterName"], physical_id))


register("AWS::EKS::AccessEntry", create=create_entry, delete=delete_entry)
register("AWS::EKS::PodIdentityAssociation", create=create_association, delete=delete_association)
