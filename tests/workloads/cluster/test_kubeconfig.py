import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workloads.cluster.conftest import Program
from tests.workloads.cluster.fake_api import serve
from tests.workloads.cluster.fake_cluster import Failure, FakeCluster, write_kubeconfig

EKS = (
    "write one with 'aws eks update-kubeconfig --region <region> --name <cluster>', "
    "the stack's output KubeconfigCommand"
)


def test_a_missing_kubeconfig(program: Program, kubeconfig: Path) -> None:
    result = program("list")
    assert (result.code, result.out) == (3, "")
    assert result.err == f"error: there is no kubeconfig at {kubeconfig}; {EKS}\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "while parsing a flow node expected the node content, but found '<stream end>'"),
        ("clusters: []", "Invalid kube-config file. Expected key current-context in"),
        ("just words", "it does not have the form of a kubeconfig; write one with"),
    ],
)
def test_a_damaged_kubeconfig_is_reported_in_one_line(program: Program, kubeconfig: Path, text: str, why: str) -> None:
    kubeconfig.write_text(text)
    result = program("list")
    assert result.code == 3
    assert result.err.startswith(f"error: the kubeconfig {kubeconfig} cannot be used: {why}")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ({"client-certificate": "/none/c", "client-key": "/none/k"}, "File does not exist: /none/c"),
        ({"tokenFile": "/none/token"}, "/none/token cannot be read (No such file or directory)"),
        ({"tokenFile": "/"}, "/ cannot be read (Is a directory)"),
        ({"token": "a\nb"}, "its token has characters that no token has"),
        ({"client-certificate-data": "eA", "client-key-data": "eA=="}, "a '...-data' value in it is not base64 ("),
        (
            {"client-certificate-data": "eA==", "client-key-data": "eA=="},
            "its client-certificate or client-key cannot be used (they are not a certificate and its key, ",
        ),
        ({"client-certificate-data": 5}, "it does not have the form of a kubeconfig"),
    ],
)
def test_damaged_credentials_are_reported_before_a_request(
    program: Program, kubeconfig: Path, user: dict[str, object], why: str
) -> None:
    write_kubeconfig(kubeconfig, "https://cluster.invalid", user)
    result = program("list")
    assert result.code == 3
    assert result.err.startswith(f"error: the kubeconfig {kubeconfig} cannot be used: {why}")
    assert result.err.count("\n") == 1


def test_a_damaged_certificate_authority_is_reported_before_a_request(program: Program, kubeconfig: Path) -> None:
    write_kubeconfig(kubeconfig, "https://cluster.invalid")
    authority = "    certificate-authority-data: eA==\n    server:"
    kubeconfig.write_text(kubeconfig.read_text().replace("    server:", authority))
    result = program("list")
    assert result.code == 3
    assert "its certificate-authority cannot be used (it is not a certificate in PEM form); " in result.err


@pytest.mark.parametrize("address", ["cluster.invalid:443", "cluster", "https://", "https://a:99999", "ftp://a", "h t"])
def test_a_server_must_be_an_address(program: Program, kubeconfig: Path, address: str) -> None:
    write_kubeconfig(kubeconfig, address)
    result = program("list")
    assert result.code == 3
    example = "and not an address such as https://<id>.<region>.eks.amazonaws.com; "
    assert f"its server is {address.rstrip('/')!r}, {example}" in result.err
    assert result.err.count("\n") == 1


def test_a_missing_server(program: Program, kubeconfig: Path) -> None:
    write_kubeconfig(kubeconfig, "")
    kubeconfig.write_text(kubeconfig.read_text().replace("server: ''", "other: 1"))
    assert "it has no server for this context; " in program("list").err


@pytest.mark.parametrize("proxy", ["proxy", "proxy:3128", "http://proxy:99999", "ftp://proxy"])
def test_a_proxy_must_be_an_address(
    program: Program, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    write_kubeconfig(kubeconfig, "https://cluster.invalid")
    result = program("list")
    assert result.code == 3
    assert result.err.startswith(f"error: the proxy is '{proxy}', and not an address that begins with http:// or https")
    monkeypatch.setenv("HTTPS_PROXY", "ftp://me:secret@proxy")
    assert program("list").err.startswith("error: the proxy is 'ftp://proxy', and not an address")


def test_a_proxy_that_is_not_used_is_not_checked(
    program: Program, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "proxy")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert program("list").code == 0


def test_a_dead_proxy_is_named_without_its_password(
    program: Program, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@127.0.0.1:1")
    write_kubeconfig(kubeconfig, "https://cluster.invalid")
    result = program("list")
    assert result.code == 3
    assert result.err.startswith(
        "error: no connection to https://cluster.invalid through the proxy http://127.0.0.1:1 (Failed to establish a "
        "new connection: [Errno 111] Connection refused); check HTTPS_PROXY and NO_PROXY, "
    )


def test_the_line_end_of_a_token_file_is_removed(
    program: Program, cluster: FakeCluster, kubeconfig: Path, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("secret\n")
    address = kubeconfig.read_text().partition("server: ")[2].partition("\n")[0]
    write_kubeconfig(kubeconfig, address, {"tokenFile": str(tmp_path / "token")})
    result = program("list")
    assert (result.code, result.err) == (0, "")


def test_a_server_without_tls(program: Program, cluster: FakeCluster, kubeconfig: Path) -> None:
    kubeconfig.write_text(kubeconfig.read_text().replace("http://", "https://"))
    result = program("list")
    assert result.code == 3
    assert " answers without TLS; check the server in the kubeconfig: " in result.err


def test_an_unknown_context_is_reported_with_the_known_ones(program: Program, cluster: FakeCluster) -> None:
    result = program("list", "--context=their")
    message = "error: '--context' is 'their', but it is not known; did you mean here? known: here\n"
    assert (result.code, result.err) == (2, message)
    assert program("list", "--context=here").code == 0


def test_a_namespace_can_be_chosen(program: Program, cluster: FakeCluster) -> None:
    assert program("list").out == "no jobs in namespace 'team'\n"
    assert program("list", "-n", "other").out == "no jobs in namespace 'other'\n"
    assert program("list", "-A").out == "no jobs in the cluster\n"


def test_an_unreachable_cluster_is_named_by_its_address(program: Program, kubeconfig: Path) -> None:
    write_kubeconfig(kubeconfig, "http://127.0.0.1:1")
    result = program("list")
    assert result.code == 3
    assert result.err.startswith("error: no connection to http://127.0.0.1:1; ")


def test_an_address_that_cannot_be_resolved(program: Program, kubeconfig: Path) -> None:
    write_kubeconfig(kubeconfig, "https://cluster.invalid")
    result = program("list")
    assert result.code == 3
    assert result.err.startswith("error: the name of https://cluster.invalid cannot be resolved; ")


def test_a_cluster_that_does_not_answer(
    program: Program, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training_workloads.cluster.client._ANSWER_SECONDS", 0.2)
    cluster.failures.append(Failure("hang"))
    result = program("list")
    assert result.code == 3
    assert "did not answer in time" in result.err


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed one, with its key."""
    key, signed, both = tmp_path / "key.pem", tmp_path / "cert.pem", tmp_path / "server.pem"
    request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other"
    subprocess.run([*request.split(), "-keyout", key, "-out", signed], check=True, capture_output=True)
    both.write_bytes(key.read_bytes() + signed.read_bytes())
    return both


def test_a_certificate_of_another_cluster(program: Program, kubeconfig: Path, certificate: Path) -> None:
    server = serve(FakeCluster(), certificate)
    write_kubeconfig(kubeconfig, f"https://127.0.0.1:{server.server_port}")
    result = program("list")
    server.shutdown()
    server.server_close()
    assert result.code == 3
    assert result.err.startswith(
        f"error: the certificate of https://127.0.0.1:{server.server_port} cannot be verified ([SSL: "
        "CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
    )


def test_insecure_skip_tls_verify_has_no_warning(program: Program, kubeconfig: Path, certificate: Path) -> None:
    fake = FakeCluster()
    server = serve(fake, certificate)
    write_kubeconfig(kubeconfig, f"https://127.0.0.1:{server.server_port}")
    trusting = kubeconfig.read_text().replace("    server:", "    insecure-skip-tls-verify: true\n    server:")
    kubeconfig.write_text(trusting)
    result = program("list")
    server.shutdown()
    server.server_close()
    assert (result.code, result.err) == (0, "")


def test_expired_credentials(program: Program, cluster: FakeCluster) -> None:
    cluster.failures.append(Failure(401))
    result = program("list")
    assert result.code == 3
    assert result.err.startswith("error: the cluster rejects your credentials")


def exec_user(script: str) -> dict[str, object]:
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "command": sys.executable,
            "args": ["-c", script],
            "interactiveMode": "Never",
        }
    }


def test_a_failed_program_for_credentials(program: Program, kubeconfig: Path) -> None:
    script = "import sys; sys.exit('Error loading SSO Token')"
    write_kubeconfig(kubeconfig, "https://cluster.invalid", exec_user(script))
    result = program("list")
    assert result.code == 3
    assert result.err == (
        "error: the kubeconfig's program for credentials failed: exec: process returned 1. Error loading SSO Token; "
        "check that it is installed (for EKS: the AWS CLI), and that you are logged in ('aws sso login', AWS_PROFILE)\n"
    )


def test_a_program_for_credentials_that_fails_on_a_terminal(
    program: Program, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kubeconfig(kubeconfig, "https://cluster.invalid", exec_user("import sys; sys.exit(1)"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    # The program inherits both, and pytest's are not files.
    monkeypatch.setattr("sys.stdin", sys.__stdin__)
    with (kubeconfig.parent / "errors").open("w") as errors:
        monkeypatch.setattr("sys.stderr", errors)
        program("list")
    assert "credentials failed: its output is above; check" in (kubeconfig.parent / "errors").read_text()


def test_a_program_for_credentials(program: Program, cluster: FakeCluster, kubeconfig: Path) -> None:
    answer = {"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": {"token": "t"}}
    address = kubeconfig.read_text().partition("server: ")[2].partition("\n")[0]
    write_kubeconfig(kubeconfig, address, exec_user(f"print('''{json.dumps(answer)}''')"))
    result = program("list")
    assert (result.code, result.err) == (0, "")


def test_a_missing_permission(program: Program, cluster: FakeCluster) -> None:
    message = 'mpijobs.kubeflow.org is forbidden: User "u" cannot list resource "mpijobs" in API group "kubeflow.org"'
    cluster.failures.append(Failure(403, "mpijobs", message=message))
    result = program("list")
    assert result.code == 3
    assert result.err.startswith("error: you may not list mpijobs.kubeflow.org in namespace 'team'")


def test_a_cluster_without_the_operator(program: Program, cluster: FakeCluster) -> None:
    del cluster.kinds["kubeflow.org/v2beta1"]
    for command in (["list"], ["status", "digits"]):
        result = program(*command)
        assert result.code == 3
        assert result.err.startswith("error: the cluster does not know MPIJobs; ")


def test_an_internal_error_of_the_server_ends_a_command_that_does_not_wait(
    program: Program, cluster: FakeCluster
) -> None:
    cluster.failures.append(Failure(500, message="etcdserver: leader changed"))
    result = program("list")
    assert result.code == 3
    assert "internal error (500: etcdserver: leader changed)" in result.err
