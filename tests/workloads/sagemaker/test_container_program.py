import pytest

from tests.workloads.sagemaker.sagemaker_samples import own_job
from training_workloads.sagemaker.container_program import ContainerProgram
from training_workloads.validation import InputError


def program(*command: str) -> ContainerProgram:
    return own_job(*command).program


def test_options_with_a_value_are_hyperparameters_and_the_rest_stays_in_its_order() -> None:
    made = program("python", "-m", "mine", "--flag", "--rate", "0.1", "--tag", "a", "--tag", "b", "--k=v")
    assert made.words == ["python", "-m", "mine", "--flag", "--tag", "a", "--tag", "b", "--k=v"]
    assert made.hyperparameters == {"rate": "0.1"}


def test_a_negative_value_belongs_to_its_option() -> None:
    assert program("python", "train.py", "--shift", "-1").hyperparameters == {"shift": "-1"}


@pytest.mark.parametrize("words", [("fit", "--rate", "0.1"), ("--rate", "0.1", "fit"), ("--rate", "0.1", "--", "-x")])
def test_with_other_arguments_all_stay_together(words: tuple[str, ...]) -> None:
    made = program("python", "train.py", *words)
    assert made.words == ["python", "train.py", *words]
    assert made.hyperparameters == {}


def test_the_own_folder_is_the_one_that_sagemaker_keeps() -> None:
    made = program(
        "python", "train.py", "--checkpoints", "/fsx/runs/mine/c", "--logs=/fsx/runs/mine", "--other", "/fsx/runs/x"
    )
    assert made.hyperparameters == {"checkpoints": "/opt/ml/checkpoints/c", "other": "/opt/ml/input/data/other"}
    assert made.words == ["python", "train.py", "--logs=/opt/ml/checkpoints"]
    assert made.inputs == {"other": "runs/x"}
    assert made.writes


def test_a_data_set_is_a_folder_whatever_its_name() -> None:
    made = program("python", "train.py", "--data-dir", "/fsx/data/images.v2", "--weights", "/fsx/data/w.h5")
    assert made.hyperparameters == {
        "data-dir": "/opt/ml/input/data/training",
        "weights": "/opt/ml/input/data/weights/w.h5",
    }


def test_a_path_that_only_looks_like_one_of_the_file_system_is_left() -> None:
    assert program("python", "train.py", "--a", "/fsx2/data", "--b", "s3://x/fsx/y").inputs == {}


def test_a_path_without_an_option_is_rejected() -> None:
    with pytest.raises(InputError, match="'command' is '/fsx/data', but SageMaker has no /fsx, and only the"):
        own_job("python", "train.py", "/fsx/data")


def test_a_program_that_writes_into_its_data_is_rejected() -> None:
    message = "SageMaker gives data read-only, and keeps nothing of what is written there; write to /opt/ml/checkpoints"
    with pytest.raises(InputError, match=message):
        own_job("python", "train.py", "--output-dir", "/opt/ml/input/data/training/out")


def test_one_option_with_two_places_is_rejected() -> None:
    with pytest.raises(InputError, match="'--data-dir' is given for data/a too, and a channel has one place"):
        own_job("python", "train.py", "--data-dir", "/fsx/data/a", "--data-dir", "/fsx/data/b")
