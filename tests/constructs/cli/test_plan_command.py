"""`trainctl cluster plan`: the app of the folder against the stacks of the account."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.constructs.account.conftest import Command, Kubernetes
from tests.constructs.account.stubbed_account import StubbedAccount
from tests.constructs.account.test_preflight import actions
from training_cluster.account import (
    account_requests,
    cluster_state,
    deployed_stack,
    deployed_template,
    kept_resources,
    lustre_state,
    node_releases,
)
from training_cluster.changes import cluster_plan, live_cluster
from training_cluster.changes.assembly import app_stacks
from training_cluster.changes.rules import RULES

STACK = "TrainingClusterStack"

# Writes what an app of the CDK writes, from the templates beside it.
APP = """
import json, os, pathlib, shutil
print("the app prints")
ANY = "aws://unknown-account/unknown-region"
out = pathlib.Path(os.environ["CDK_OUTDIR"])
(pathlib.Path() / "context.txt").write_text(os.environ["CDK_CONTEXT_JSON"])
(pathlib.Path() / "env.txt").write_text(os.environ["CDK_DEFAULT_ACCOUNT"] + " " + os.environ["CDK_DEFAULT_REGION"])
context = json.loads(os.environ["CDK_CONTEXT_JSON"])
artifacts = {"Tree": {"type": "cdk:tree"}}
for file in pathlib.Path().glob("*.template.json"):
    text = file.read_text().replace("MAX_SIZE", context.get("max_size", "4"))
    (out / file.name).write_text(text)
    artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": file.name}}
    artifacts[file.name.partition(".")[0]] = {**artifact, "environment": os.environ.get("ENVIRONMENT", ANY)}
(out / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
"""


def group(size: Any) -> dict[str, Any]:
    sizes = {"MinSize": 0, "MaxSize": size, "DesiredSize": 0}
    given = {
        "ScalingConfig": sizes,
        "Labels": {"training-cluster/node-group": "gpu"},
        "InstanceTypes": ["p4d.24xlarge"],
    }
    return {"Type": "AWS::EKS::Nodegroup", "Properties": given}


def subnet(zone: Any) -> dict[str, Any]:
    given = {"AvailabilityZone": zone, "CidrBlock": "10.0.0.0/18"}
    return {"Type": "AWS::EC2::Subnet", "Properties": given}


def artifact(name: str, environment: str = "aws://unknown-account/unknown-region") -> dict[str, Any]:
    properties = {"templateFile": "x.template.json", "stackName": name}
    return {"type": "aws:cloudformation:stack", "properties": properties, "environment": environment}


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A folder with an app of one stack."""
    (tmp_path / "cdk.json").write_text(json.dumps({"app": "python3 app.py"}))
    (tmp_path / "app.py").write_text(APP)
    write(tmp_path, {"Group": group("MAX_SIZE")})
    return tmp_path


def write(folder: Path, resources: dict[str, Any], **more: Any) -> None:
    (folder / f"{STACK}.template.json").write_text(json.dumps({"Resources": resources, **more}))


def answer_stack(
    account: StubbedAccount, resources: dict[str, Any], status: str = "CREATE_COMPLETE", **more: Any
) -> None:
    account.answer_identity()
    ids = {name: (each["Type"], f"training/{name}") for name, each in resources.items()}
    account.answer_stack({**ids, "Cluster": ("AWS::EKS::Cluster", "training")}, status=status)
    body = json.dumps({"Resources": resources, **more})
    account.answer(
        "cloudformation", "get_template", {"TemplateBody": body}, {"StackName": STACK, "TemplateStage": "Original"}
    )


def answer_group(account: StubbedAccount, desired: int) -> None:
    found = {"status": "ACTIVE", "scalingConfig": {"desiredSize": desired}}
    names = {"clusterName": "training", "nodegroupName": "Group"}
    account.answer("eks", "describe_nodegroup", {"nodegroup": found}, names)


@pytest.mark.usefixtures("app")
def test_the_same_templates_are_no_changes(account: StubbedAccount, command: Command) -> None:
    answer_stack(account, {"Group": group("4")})
    code, out, err = command("plan")
    assert (code, err) == (0, "")
    assert out == f"{STACK}: no changes\n\nPlan: no changes; nothing is lost, and AWS takes it\n"
    account.all_asked()


def test_a_first_deployment_is_one_line(account: StubbedAccount, command: Command, app: Path) -> None:
    account.answer_identity()
    account.answer_no_stack(STACK)
    code, out, _ = command("plan")
    assert code == 0
    assert out.splitlines()[0] == f"{STACK} (not deployed yet): 1 to create"


def test_the_price_before_and_after_is_of_both_templates(account: StubbedAccount, command: Command, app: Path) -> None:
    control_plane = {"Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {"Version": "1.35"}}}
    gateway = {"Gateway": {"Type": "AWS::EC2::NatGateway", "Properties": {}}}
    write(app, {**control_plane, **gateway})
    answer_stack(account, control_plane)
    out = command("plan").out
    assert "per hour before: 0.10 USD\nper hour after:  0.14 USD (+0.04)\n" in out
    answer_stack(account, control_plane)
    found = json.loads(command("plan", "--json").out)
    assert found["usd_per_hour"] == {STACK: {"before": 0.1, "after": 0.145}}


@pytest.mark.usefixtures("app")
def test_nodes_that_stop_are_named_with_their_jobs(
    account: StubbedAccount, command: Command, kubernetes: Kubernetes
) -> None:
    answer_stack(account, {"Group": group("4")})
    answer_group(account, 2)
    kubernetes.known_to(account)
    code, out, _ = command("plan", "-c", "max_size=8")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == f"{STACK}: 1 to update".split()
    assert rows[2] == "~ node group 'gpu' of p4d.24xlarge ScalingConfig/MaxSize node_groups.gpu.max_size".split()
    assert "its desired size becomes 0: 2 of 2 nodes stop" in out
    assert out.endswith("Plan: 1 to update; 1 with nodes that stop; nothing is lost, and AWS takes it\n")


def add_pod(kubernetes: Kubernetes, job: str, node: str, **spec: Any) -> None:
    labels = {"training.kubeflow.org/job-name": job}
    kubernetes.add(
        "Pod",
        f"{job}-worker-0",
        metadata={"namespace": "team", "labels": labels},
        spec={"nodeName": node, **spec},
        status={"phase": "Running"},
    )


@pytest.mark.usefixtures("app")
def test_the_last_line_names_the_jobs_that_stop(
    account: StubbedAccount, command: Command, kubernetes: Kubernetes
) -> None:
    kubernetes.add("Node", "one", metadata={"labels": {"training-cluster/node-group": "gpu"}})
    add_pod(kubernetes, "digits", "one", nodeSelector={"node.kubernetes.io/instance-type": "p4d.24xlarge"})
    add_pod(kubernetes, "other", "two")
    answer_stack(account, {"Group": group("4")})
    answer_group(account, 2)
    kubernetes.known_to(account)
    code, out, _ = command("plan", "-c", "max_size=8")
    assert code == 0
    assert out.endswith("; nothing is lost, and AWS takes it; deploy when digits in team may stop\n")
    kubernetes.known_to(account)
    stack = deployed_stack.DeployedStack(
        name=STACK,
        arn="arn",
        status="UPDATE_COMPLETE",
        outputs={},
        resources=(deployed_stack.StackResource(logical_id="C", kind="AWS::EKS::Cluster", id="training"),),
    )
    live = live_cluster.LiveCluster(account=account, stack=stack)
    assert live.jobs_on("gpu").by_type == ("digits in team",)
    assert (live.jobs_in("team"), live.jobs_in("default")) == (("digits in team", "other in team"), ())
    assert live.jobs_in(None) == live.jobs_in("team")


def test_steps_follow_where_one_deployment_is_rejected_also_without_a_permission(
    account: StubbedAccount, command: Command, app: Path
) -> None:
    new = group(8)
    new["Properties"]["Version"] = "1.36"
    write(app, {"Group": new})
    answer_stack(account, {"Group": group(4)})
    account.forbid("eks", "describe_nodegroup")
    code, out, _ = command("plan")
    assert code == 1
    assert (
        "node group 'gpu' of p4d.24xlarge, in this order:\n  1. deploy the new values of node_groups.gpu.max_size,"
        in out
    )
    assert out.endswith("1 that could not be read; do not deploy it like this: follow the steps above\n")


def test_a_node_group_of_a_cluster_of_another_stack_is_read(account: StubbedAccount) -> None:
    stack = deployed_stack.DeployedStack(name=STACK, arn="arn", status="UPDATE_COMPLETE", outputs={}, resources=())
    answer_group(account, 2)
    found = live_cluster.LiveCluster(account=account, stack=stack).node_group("training/Group")
    assert found is not None
    assert found.desired == 2


@pytest.mark.usefixtures("app")
def test_a_missing_permission_is_a_finding(account: StubbedAccount, command: Command) -> None:
    answer_stack(account, {"Group": group("4")})
    account.forbid("eks", "describe_nodegroup")
    code, out, _ = command("plan", "-c", "max_size=8")
    assert code == 0
    assert "whether node groups are updated" in out
    assert "allow the action eks:DescribeNodegroup" in out
    assert out.endswith("1 that could not be read; nothing is known to be lost\n")


def test_a_lost_file_system_is_exit_code_1_and_json_has_it(
    account: StubbedAccount, command: Command, app: Path
) -> None:
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {}}
    write(app, {"Group": group("4")})
    answer_stack(account, {"Group": group("4"), "Data": bucket})
    code, out, _ = command("plan")
    assert code == 1
    assert out.endswith("Plan: 1 to remove; 1 lost; do not deploy it like this\n")
    answer_stack(account, {"Group": group("4"), "Data": bucket})
    code, out, _ = command("plan", "--json")
    found = json.loads(out)
    assert (code, found["safe"], found["findings"][0]["outcome"]) == (1, False, "lost")
    assert found["stacks"][STACK][0]["action"] == "remove"


def test_a_zone_that_the_region_named_is_no_change(account: StubbedAccount, command: Command, app: Path) -> None:
    write(app, {"Subnet": subnet("us-west-2a")})
    for zone, code in (("us-west-2a", 0), ("us-west-2b", 1)):
        answer_stack(account, {"Subnet": subnet({"Fn::Select": [0, {"Fn::GetAZs": ""}]})})
        account.answer_subnets({"SubnetId": "training/Subnet", "AvailabilityZone": zone})
        assert command("plan").code == code
    # Where neither template names the zone, it is not asked for.
    write(app, {"Subnet": subnet({"Fn::Select": [0, {"Fn::GetAZs": ""}]})})
    answer_stack(account, {"Subnet": subnet({"Fn::Select": [0, {"Fn::GetAZs": ""}]})})
    assert command("plan").code == 0


def test_a_folder_of_cdk_synth_is_read(account: StubbedAccount, command: Command, app: Path) -> None:
    (app / "cdk.json").unlink()
    (app / "cdk.out").mkdir()
    (app / f"{STACK}.template.json").rename(app / "cdk.out/x.template.json")
    account.answer_identity()
    for given in ("none", "cdk.out"):
        code, _, err = command("plan", "--app", given)
        assert code == 2, err
    assert "'app' is 'cdk.out', but it has no manifest.json; give a folder that 'cdk synth' has written" in err
    (app / "cdk.out/manifest.json").write_text(json.dumps({"artifacts": {"Id": artifact(STACK)}}))
    answer_stack(account, {"Group": group("MAX_SIZE")})
    assert command("plan", "--app", "cdk.out").code == 0


def test_the_stacks_of_a_stage_are_planned_too(account: StubbedAccount, command: Command, app: Path) -> None:
    stage = app / "cdk.out/assembly-Prod"
    stage.mkdir(parents=True)
    (app / f"{STACK}.template.json").rename(stage / "x.template.json")
    inside = {"type": "cdk:cloud-assembly", "properties": {"directoryName": stage.name}}
    (app / "cdk.out/manifest.json").write_text(json.dumps({"artifacts": {"Prod": inside}}))
    (stage / "manifest.json").write_text(json.dumps({"artifacts": {"Id": artifact(STACK)}}))
    answer_stack(account, {"Group": group("MAX_SIZE")})
    assert command("plan", "--app", "cdk.out").out.startswith(f"{STACK}: no changes")
    account.all_asked()


def test_a_stack_of_another_region_is_not_compared_with_this_one(
    account: StubbedAccount, command: Command, app: Path
) -> None:
    (app / "cdk.out").mkdir()
    (app / f"{STACK}.template.json").rename(app / "cdk.out/x.template.json")
    other = artifact("Other", "aws://unknown-account/us-east-1")
    mine = artifact(STACK, "aws://111122223333/us-west-2")
    manifest = app / "cdk.out/manifest.json"
    manifest.write_text(json.dumps({"artifacts": {"A": other, "B": mine}}))
    answer_stack(account, {"Group": group("MAX_SIZE")})
    code, out, _ = command("plan", "--app", "cdk.out")
    assert code == 0
    assert "not compared: it is of aws://unknown-account/us-east-1, and your credentials are of aws://111122" in out
    assert out.endswith("nothing is known to be lost\n")
    manifest.write_text(json.dumps({"artifacts": {"A": other}}))
    account.answer_identity()
    code, _, err = command("plan", "--app", "cdk.out")
    assert code == 2
    assert "'env' is 'aws://unknown-account/us-east-1', but your credentials are of aws://111122223333/us-west-2" in err


def test_what_the_app_prints_is_not_a_part_of_the_plan(
    account: StubbedAccount, app: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    account.answer_identity()
    (stack,) = app_stacks(app, {}, account)
    assert stack.name == STACK
    assert capfd.readouterr() == ("", "the app prints\n")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("UPDATE_ROLLBACK_FAILED", "1 rejected; do not deploy it like this"),
        ("UPDATE_IN_PROGRESS", "1 that could not be read; nothing is known to be lost"),
        ("UPDATE_ROLLBACK_COMPLETE", "no changes; nothing is lost, and AWS takes it"),
    ],
)
@pytest.mark.usefixtures("app")
def test_a_stack_is_updated_in_some_states_only(
    status: str, words: str, account: StubbedAccount, command: Command
) -> None:
    answer_stack(account, {"Group": group("4")}, status)
    assert command("plan").out.endswith(f"{words}\n")


def test_the_app_runs_as_the_cli_runs_it(account: StubbedAccount, command: Command, app: Path) -> None:
    settings = {"app": "python3 app.py", "context": {"zone": "mine", "max_size": "4"}}
    (app / "cdk.context.json").write_text(json.dumps({"zone": "looked up", "subnets": ["subnet-1"]}))
    for reporting in (True, False):
        (app / "cdk.json").write_text(json.dumps({**settings, "versionReporting": reporting}))
        answer_stack(account, {"Group": group("4")})
        assert json.loads(command("plan", "--json").out)["safe"]
        context = json.loads((app / "context.txt").read_text())
        assert (context["zone"], context["subnets"]) == ("mine", ["subnet-1"])
        assert context.get("aws:cdk:version-reporting", False) == reporting
    assert (app / "env.txt").read_text() == "111122223333 us-west-2"


def test_many_changes_of_one_kind_are_counted(account: StubbedAccount, command: Command, app: Path) -> None:
    def tables(tag: str) -> dict[str, Any]:
        return {f"T{n}": {"Type": "AWS::EC2::RouteTable", "Properties": {"Tags": [tag]}} for n in range(5)}

    write(app, tables("new"))
    answer_stack(account, tables("old"))
    out = command("plan").out
    assert "EC2 Route Table training/T1" in out
    assert "and 3 more of this type" in out
    assert "training/T2" not in out


@pytest.mark.usefixtures("app")
def test_a_retained_resource_is_not_counted_with_deleted_ones(account: StubbedAccount, command: Command) -> None:
    manifest = "Custom::AWSCDK-EKS-KubernetesResource"
    deployed: dict[str, Any] = {f"N{n}": {"Type": manifest, "Properties": {"Manifest": "[]"}} for n in range(3)}
    deployed["N2"]["DeletionPolicy"] = "Retain"
    answer_stack(account, {"Group": group("4"), **deployed})
    rows = [line.split() for line in command("plan").out.splitlines()]
    assert "- AWSCDK-EKS-KubernetesResource N2 stays in the cluster -".split() in rows
    assert "- AWSCDK-EKS-KubernetesResource N1 -".split() in rows


def test_a_template_does_not_control_the_terminal(account: StubbedAccount, command: Command, app: Path) -> None:
    attack = "\x1b[2J\x1b]0;owned\x07\u202e"
    bucket = {"Type": f"AWS::S3::Bucket{attack}", "Properties": {attack: attack}}
    write(app, {attack: bucket}, Outputs={"EstimatedCostPerHour": {"Value": attack}})
    answer_stack(account, {attack: {**bucket, "Type": "AWS::S3::Bucket"}, f"{attack}b": bucket})
    _, out, err = command("plan")
    assert out.replace("\n", "").isprintable()
    assert "\\x1b[2J" in out
    assert err == ""


def test_the_page_has_every_rule_and_every_permission(root: Path) -> None:
    page = (root / "docs/plan-a-change.md").read_text()
    assert re.findall(r"^\| `([a-z ]+)` \|", page, flags=re.M) == [each.__name__.replace("_", " ") for each in RULES]
    modules = (
        account_requests,
        deployed_stack,
        deployed_template,
        cluster_state,
        kept_resources,
        lustre_state,
        node_releases,
        cluster_plan,
        live_cluster,
    )
    (listed,) = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    assert json.loads(listed) == sorted(actions(*modules))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            None,
            "error: 'app' is 'cdk.json', but there is no such file; run it in the folder of your app, beside "
            "cdk.json, or give '--app'",
        ),
        ("{", "error: cdk.json cannot be read: "),
        ("[]", 'error: cdk.json has no text "app"; add the command of your app'),
        ('{"app": "exit 3"}', "error: 'app' is 'exit 3', but it ended with exit code 3; correct what it has printed"),
    ],
)
def test_an_app_that_cannot_be_run(
    settings: str | None, message: str, account: StubbedAccount, command: Command, tmp_path: Path
) -> None:
    account.answer_identity()
    if settings is not None:
        (tmp_path / "cdk.json").write_text(settings)
    code, _, err = command("plan")
    assert code == 2
    assert err.startswith(message)


LOOKED_UP = "ssm:account=111122223333:parameterName=/aws/ami:region=us-west-2"
LOOKS_UP = """
import json, os, pathlib
context = json.loads(os.environ["CDK_CONTEXT_JSON"])
out, key = pathlib.Path(os.environ["CDK_OUTDIR"]), "KEY"
group = {"AmiType": "AL2023_x86_64_NVIDIA", "Version": "1.35", "Labels": {"training-cluster/node-group": "gpu"}}
group |= {"ReleaseVersion": context[key]} if key in context else {}
resources = {"Group": {"Type": "AWS::EKS::Nodegroup", "Properties": group}}
(out / "STACK.template.json").write_text(json.dumps({"Resources": resources}))
artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "STACK.template.json"}}
artifact["environment"] = "aws://unknown-account/unknown-region"
props = {"account": "111122223333", "region": "us-west-2", "parameterName": "/aws/ami"}
missing = [] if key in context else [{"key": key, "provider": "ssm", "props": props}]
(out / "manifest.json").write_text(json.dumps({"artifacts": {"STACK": artifact}, "missing": missing}))
"""


def test_the_release_that_cdk_would_look_up_is_in_the_plan(
    account: StubbedAccount, command: Command, app: Path, kubernetes: Kubernetes
) -> None:
    (app / "app.py").write_text(LOOKS_UP.replace("KEY", LOOKED_UP).replace("STACK", STACK))
    given = {"AmiType": "AL2023_x86_64_NVIDIA", "Version": "1.35", "Labels": {"training-cluster/node-group": "gpu"}}
    account.answer_parameter("/aws/ami", "1.35.5-20261112")
    answer_stack(account, {"Group": {"Type": "AWS::EKS::Nodegroup", "Properties": given}})
    answer_group(account, 0)
    names = {"clusterName": "training", "nodegroupName": "Group"}
    account.answer("eks", "describe_nodegroup", {"nodegroup": {"releaseVersion": "1.35.0-20260917"}}, names)
    newest = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/release_version"
    account.answer_parameter(newest, "1.35.5-20261119")
    kubernetes.known_to(account)
    code, out, err = command("plan")
    assert (code, err) == (0, "")
    assert "node_groups.gpu.ami_release" in out
    lines = [line.split() for line in out.splitlines()]
    assert "NODE GROUP AMI RELEASE PINNED NEWEST".split() in lines
    assert "gpu 1.35.0-20260917 1.35.5-20261112 1.35.5-20261119".split() in lines
    assert not (app / "cdk.context.json").exists()
