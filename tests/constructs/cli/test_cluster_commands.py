import json
from io import StringIO
from pathlib import Path

import pytest

from tests.constructs.account.conftest import Clock, Command, Kubernetes
from tests.constructs.account.stubbed_account import StubbedAccount
from tests.constructs.account.test_stack_deletion import CREATED, answer_events, answer_state
from tests.constructs.account.vpc_answers import VPC, answer_vpc
from training_cluster.account import preflight
from training_cluster.account.version_checks import account_is_bootstrapped, ami_releases_exist

CONFIG = "node_groups: {gpu: {instance_type: p5.48xlarge}}\n"


@pytest.fixture
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration, and the two checks that ask the same service."""
    (tmp_path / "cluster.yaml").write_text(CONFIG)
    monkeypatch.setattr(preflight, "_THREADS", 1)
    monkeypatch.setattr(preflight.run_checks, "__defaults__", ((ami_releases_exist, account_is_bootstrapped),))


def answer_parameters(account: StubbedAccount, release: str | None, bootstrap: str) -> None:
    account.answer_identity()
    if release is None:
        account.forbid("ssm", "get_parameter")
    else:
        # That of the GPU nodes, and that of the system nodes.
        account.answer("ssm", "get_parameter", {"Parameter": {"Value": release}})
        account.answer("ssm", "get_parameter", {"Parameter": {"Value": release}})
    account.answer("ssm", "get_parameter", {"Parameter": {"Value": bootstrap}})


@pytest.mark.usefixtures("checks")
def test_a_table_and_what_to_do(account: StubbedAccount, command: Command) -> None:
    answer_parameters(account, None, "5")
    code, out, err = command("preflight")
    assert (code, err) == (1, "")
    table, _, remedies = out.partition("\n\n")
    rows = [line.split("  ") for line in table.splitlines()]
    assert [row[0].strip() for row in rows] == ["", "✓", "skipped", "✗"]
    assert remedies.splitlines() == [
        "skipped ami releases exist: allow the action ssm:GetParameter",
        "✗ CDK bootstrap: run 'cdk bootstrap aws://111122223333/us-west-2'",
    ]


@pytest.mark.usefixtures("checks")
def test_nothing_missing_is_exit_code_0_also_where_a_check_is_skipped(
    account: StubbedAccount, command: Command
) -> None:
    answer_parameters(account, None, "30")
    assert command("preflight").code == 0


@pytest.mark.usefixtures("checks")
def test_json_has_every_field(account: StubbedAccount, command: Command) -> None:
    answer_parameters(account, "1.35.2-20261110", "5")
    code, out, _ = command("preflight", "--json")
    credentials, ami, _, bootstrap = json.loads(out)
    assert (code, credentials["state"], ami["state"]) == (1, "ok", "ok")
    assert bootstrap == {
        "check": "CDK bootstrap",
        "state": "failed",
        "actual": "version 5",
        "needed": "version 6 or newer",
        "remedy": "run 'cdk bootstrap aws://111122223333/us-west-2'",
    }


@pytest.mark.usefixtures("checks")
def test_an_override_is_checked_too(account: StubbedAccount, command: Command) -> None:
    account.answer_identity()
    account.answer("ec2", "describe_images", {"Images": []})
    account.answer("ssm", "get_parameter", {"Parameter": {"Value": "1.35.2-20261110"}})
    account.answer("ssm", "get_parameter", {"Parameter": {"Value": "30"}})
    code, out, _ = command("preflight", "-c", "node_groups.gpu.ami_release=1.35.0-20260917")
    assert (code, "1.35.0-20260917" in out) == (1, True)


@pytest.mark.usefixtures("checks")
def test_the_file_is_an_option_or_the_override_of_the_cdk(
    tmp_path: Path, account: StubbedAccount, command: Command
) -> None:
    (tmp_path / "cluster.yaml").rename(tmp_path / "other.yaml")
    assert "error: '--config' is 'cluster.yaml', but it cannot be read" in command("preflight").err
    for arguments in (("--config", "other.yaml"), ("-c", "config=other.yaml")):
        answer_parameters(account, "1.35.2-20261110", "30")
        account.__dict__.pop("identity", None)
        assert command("preflight", *arguments).code == 0


@pytest.mark.usefixtures("checks")
def test_an_override_without_a_value_is_named(account: StubbedAccount, command: Command) -> None:
    assert command("preflight", "-c", "nat") == (2, "", "error: '-c' is 'nat'; give <key>=<value>\n")


def test_a_mistake_in_the_file_comes_first(tmp_path: Path, account: StubbedAccount, command: Command) -> None:
    (tmp_path / "cluster.yaml").write_text("node_groups: {gpu: {instance_type: p5}}\n")
    code, out, err = command("preflight")
    assert (code, out) == (2, "")
    assert err.startswith("error: cluster.yaml:1: 'node_groups.gpu.instance_type' is 'p5', but it is not known")


@pytest.mark.parametrize("arguments", [("preflight",), ("status",), ("destroy", "--yes")])
def test_without_credentials_there_is_one_line(
    arguments: tuple[str, ...], tmp_path: Path, account: StubbedAccount, command: Command
) -> None:
    (tmp_path / "cluster.yaml").write_text(CONFIG)
    account.forbid("sts", "get_caller_identity", code="ExpiredToken")
    code, out, err = command(*arguments)
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("error: AWS does not accept your credentials (ExpiredToken); log in")


def answer_deletable(account: StubbedAccount) -> None:
    account.answer_identity()
    account.answer_stack()
    account.answer_no_stack("TrainingDataStack")
    account.answer("cloudformation", "get_template", {"TemplateBody": '{"Resources": {}}'})


def answer_deletion(account: StubbedAccount, end: str = "DELETE_COMPLETE") -> None:
    answer_events(account, CREATED)
    account.answer("cloudformation", "delete_stack", {})
    answer_events(account, CREATED)
    answer_state(account, end)


def test_destroys_without_a_question_in_scripts(account: StubbedAccount, command: Command, clock: Clock) -> None:
    answer_deletable(account)
    answer_deletion(account)
    code, out, err = command("destroy", "--yes")
    assert (code, out) == (0, "TrainingClusterStack is deleted\n")
    assert err == "deletes TrainingClusterStack in us-west-2: 0 resources\nnothing stays\n"
    account.all_asked()


@pytest.mark.parametrize("answer", ["n\n", ""], ids=["no", "closed"])
def test_asks_before(answer: str, account: StubbedAccount, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_deletable(account)
    monkeypatch.setattr("sys.stdin", StringIO(answer))
    code, out, err = command("destroy")
    assert (code, out.strip()) == (1, "")
    assert err.endswith("aborted\n")
    account.all_asked()


def test_a_blocker_ends_it_before_the_question(
    account: StubbedAccount, command: Command, kubernetes: Kubernetes
) -> None:
    account.answer_identity()
    account.answer_stack({"Cluster": ("AWS::EKS::Cluster", "training")})
    account.answer_no_stack("TrainingDataStack")
    account.answer("cloudformation", "get_template", {"TemplateBody": '{"Resources": {}}'})
    kubernetes.known_to(account)
    kubernetes.add_job("stage")
    code, out, err = command("destroy", "--yes")
    assert (code, out) == (1, "")
    assert err.startswith("error: 1 job (stage in team) did not end")
    assert err.endswith("TrainingClusterStack is not destroyed\n")


def test_a_failed_deletion_ends_with_3(account: StubbedAccount, command: Command, clock: Clock) -> None:
    answer_deletable(account)
    answer_deletion(account, "DELETE_FAILED")
    account.answer_stack(status="DELETE_FAILED")
    code, out, err = command("destroy", "--yes")
    assert (code, out) == (3, "")
    assert "error: TrainingClusterStack is not deleted completely: DELETE_FAILED; fix it, and repeat\n" in err


def test_what_is_in_the_vpc_is_listed_before_the_question(
    account: StubbedAccount, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.answer_identity()
    account.answer_stack({"Vpc": ("AWS::EC2::VPC", VPC)})
    account.answer_no_stack("TrainingDataStack")
    account.answer("cloudformation", "get_template", {"TemplateBody": '{"Resources": {}}'})
    answer_vpc(account, groups=[{"GroupId": "sg-9", "GroupName": "theirs"}])
    monkeypatch.setattr("sys.stdin", StringIO("n\n"))
    code, _, err = command("destroy")
    assert code == 1
    assert err.startswith(
        "deletes TrainingClusterStack in us-west-2: 1 resources\n"
        "in its VPC, and not the stack's:\n"
        "  sg-9 (security group theirs): remove it with 'aws ec2 delete-security-group --group-id sg-9 --region "
        "us-west-2'\n"
        "nothing stays\n"
    )
    account.all_asked()


def test_the_access_entries_of_node_roles_go_after_the_stack(
    account: StubbedAccount, command: Command, clock: Clock
) -> None:
    account.answer_identity()
    account.answer_stack({"Gpu": ("AWS::EKS::Nodegroup", "shared/gpu"), "Role": ("AWS::IAM::Role", "nodes")})
    account.answer_no_stack("TrainingDataStack")
    account.answer("cloudformation", "get_template", {"TemplateBody": '{"Resources": {}}'})
    role = "arn:aws:iam::111122223333:role/nodes"
    account.answer("eks", "list_access_entries", {"accessEntries": [role]})
    account.answer("eks", "describe_access_entry", {"accessEntry": {"type": "EC2_LINUX"}})
    answer_deletion(account)
    account.answer("eks", "delete_access_entry", {})
    code, _, err = command("destroy", "--yes")
    assert code == 0
    assert f"with it the access entry of {role} in shared\n" in err
    assert err.endswith(f"removed the access entry of {role} from shared\n")
    account.all_asked()


def test_a_stack_that_does_not_exist_is_named(account: StubbedAccount, command: Command) -> None:
    account.answer_identity()
    account.answer_no_stack("Other")
    code, _, err = command("destroy", "--stack=Other")
    assert code == 2
    assert err.startswith("error: '--stack' is 'Other', but us-west-2 of this account has no such stack; set AWS_PROF")


def test_the_group_is_among_the_entry_points(root: Path) -> None:
    text = (root / "pyproject.toml").read_text()
    assert 'cluster = "training_cluster.cli.cluster_commands:app"' in text
