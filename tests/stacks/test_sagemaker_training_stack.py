import json

from tests.stacks.templates import SCENARIOS, templates

OUTPUTS = {
    "TrainingRoleArn",
    "SubnetIds",
    "SecurityGroupId",
    "BucketName",
    "DataPrefix",
    "ImageRepositoryUri",
    "JobTag",
    "KeyArn",
}


def test_it_exists_where_the_configuration_has_its_section() -> None:
    found = {name for name in SCENARIOS if "SageMakerTrainingStack" in templates(name)}
    assert found == {"p3dn-without-efa", "p4d-reservation", "p6-b300"}


def test_the_outputs_are_those_that_trainctl_reads() -> None:
    lustre = {"LustreFileSystemId", "LustreMountName"}
    expected = {
        "p3dn-without-efa": OUTPUTS | lustre | {"ElasticFileSystemId"},
        "p4d-reservation": OUTPUTS | lustre | {"ElasticFileSystemId", "NotebookInstanceName"},
        "p6-b300": OUTPUTS | {"NotebookInstanceName"},
    }
    for scenario, names in expected.items():
        assert set(templates(scenario)["SageMakerTrainingStack"].to_json()["Outputs"]) == names, scenario


def test_jobs_run_in_the_zone_of_their_lustre() -> None:
    template = templates("p4d-reservation")["SageMakerTrainingStack"]
    (subnet,) = next(iter(template.find_resources("AWS::FSx::FileSystem").values()))["Properties"]["SubnetIds"]
    assert template.to_json()["Outputs"]["SubnetIds"]["Value"] == subnet
    found = template.to_json()["Resources"][subnet["Ref"]]["Properties"]["AvailabilityZone"]
    assert found == "us-west-2a"


def test_without_nat_nothing_leads_to_the_internet() -> None:
    template = templates("p6-b300")["SageMakerTrainingStack"]
    template.resource_count_is("AWS::EC2::InternetGateway", 0)
    # S3's gateway, five services, and that of the notebook.
    template.resource_count_is("AWS::EC2::VPCEndpoint", 7)


def test_its_stack_needs_nothing_of_the_cluster() -> None:
    """Either can be destroyed alone."""
    for scenario in ("p3dn-without-efa", "p4d-reservation", "p6-b300"):
        of_training, of_cluster = (
            json.dumps(templates(scenario)[name].to_json())
            for name in ("SageMakerTrainingStack", "TrainingClusterStack")
        )
        assert "TrainingClusterStack:" not in of_training
        assert "SageMakerTrainingStack:" not in of_cluster
