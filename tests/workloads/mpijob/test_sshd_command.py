import pytest

from training_workloads.mpijob.sshd_command import sshd_of, worker_commands


@pytest.mark.parametrize(
    ("words", "stays", "port", "extra"),
    [
        ("/usr/sbin/sshd -De", True, None, None),
        ("/usr/sbin/sshd -e", False, None, None),
        ("exec /usr/sbin/sshd -eDp 2222", True, 2222, None),
        ("sshd -D -o Port=2022 -f /config", True, 2022, None),
        ("sshd -D -oPort=2022 sleep 3", True, 2022, "sleep"),
        ("sshd -D 2 >& 1", True, None, None),
        ("sshd -D -p", True, None, None),
        ("sshd -D -p x", True, None, None),
    ],
)
def test_the_options_of_sshd(words: str, stays: bool, port: int | None, extra: str | None) -> None:
    found = sshd_of(words.split())
    assert found is not None
    assert (found.stays, found.port, found.extra) == (stays, port, extra)
    assert found.has_config == ("-f" in words)


def test_another_program_is_no_sshd() -> None:
    assert sshd_of(["service", "sshd", "start"]) is None
    assert sshd_of([]) is None


def test_the_program_of_this_project_before_sshd_is_left_out() -> None:
    argv = ["python", "-m", "training.pods.worker", "--", "/usr/sbin/sshd", "-De"]
    assert worker_commands(argv) == [["/usr/sbin/sshd", "-De"]]
