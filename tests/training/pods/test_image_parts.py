"""What the checks of all images share; those of NCCL's age are in test_image_check.py."""

from training.pods import image_parts


def test_a_release_candidate_of_python_is_a_problem() -> None:
    assert list(image_parts.python("final")) == []
    (problem,) = image_parts.python("candidate")
    assert problem.endswith("is no release; build with a Python that gets security updates")


def test_a_second_nccl_in_the_process_is_a_problem() -> None:
    line = "7f00-7f01 r-xp 00000000 08:01 1 {}/libnccl.so.2\n"
    first, second = "/usr/lib/x86_64-linux-gnu", "/opt/venv/lib/python3.11/site-packages/nvidia/nccl/lib"
    assert list(image_parts.one_nccl(line.format(first) * 3)) == []
    (problem,) = image_parts.one_nccl(line.format(first) + line.format(second))
    assert f"{second}/libnccl.so.2, {first}/libnccl.so.2" in problem
