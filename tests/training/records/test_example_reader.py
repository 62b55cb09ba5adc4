import pytest
import tensorflow as tf

from training.records import example_reader


def example(**features: tf.train.Feature) -> bytes:
    return bytes(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def texts(*values: bytes) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def numbers(*values: int) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


@pytest.mark.parametrize("number", [0, 1, 1000, -1, 2**63 - 1, -(2**63)])
def test_reads_what_tensorflow_writes(number: int) -> None:
    content = bytes(range(256)) * 500
    rates = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, 1.5]))
    found = example_reader.features(example(jpeg=texts(content), label=numbers(number), rates=rates))
    assert found.one_bytes("jpeg", b"") == content
    assert found.one_int64("label", -1) == number


def test_a_missing_feature_is_the_default() -> None:
    found = example_reader.features(example(empty=tf.train.Feature()))
    assert (found.one_bytes("jpeg", b"none"), found.one_int64("label", -1), found.one_int64("empty", -2)) == (
        b"none",
        -1,
        -2,
    )
    assert example_reader.features(b"").one_int64("label", -3) == -3


@pytest.mark.parametrize("label", [numbers(), numbers(1, 2), texts(b"1")])
def test_rejects_another_kind_or_number_of_values_as_tensorflow_does(label: tf.train.Feature) -> None:
    content = example(label=label)
    with pytest.raises(ValueError, match="'label' is not one value of 'int64_list'"):
        example_reader.features(content).one_int64("label", -1)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_single_example(content, {"label": tf.io.FixedLenFeature([], tf.int64, default_value=-1)})


@pytest.mark.parametrize("content", [b"\xff", b"no example", example(label=numbers(1))[:-1]])
def test_rejects_an_invalid_example(content: bytes) -> None:
    with pytest.raises(ValueError, match="not an Example"):
        example_reader.features(content)
