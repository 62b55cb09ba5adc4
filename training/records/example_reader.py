"""The features of a tf.train.Example, read without TensorFlow.

By the runtime of Protocol Buffers, from the published definition of the format:
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/feature.proto
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "training.example"

# Message: its fields (number, name, type, whether it is a list). A map is a list of entries, on the wire too.
_MESSAGES: dict[str, list[tuple[int, str, int | str, bool]]] = {
    "BytesList": [(1, "value", _FIELD.TYPE_BYTES, True)],
    "FloatList": [(1, "value", _FIELD.TYPE_FLOAT, True)],
    "Int64List": [(1, "value", _FIELD.TYPE_INT64, True)],
    "Feature": [
        (1, "bytes_list", "BytesList", False),
        (2, "float_list", "FloatList", False),
        (3, "int64_list", "Int64List", False),
    ],
    "Entry": [(1, "key", _FIELD.TYPE_STRING, False), (2, "value", "Feature", False)],
    "Features": [(1, "feature", "Entry", True)],
    "Example": [(1, "features", "Features", False)],
}


@dataclass(frozen=True, slots=True)
class Features:
    """The features of one Example, by name."""

    by_name: Mapping[str, Any]

    def one_bytes(self, name: str, default: bytes) -> bytes:
        """Return the only value of a feature; the default without the feature.

        Raises:
            ValueError: It has another kind, or not one value.
        """
        value: bytes = self._one(name, "bytes_list", default)
        return value

    def one_int64(self, name: str, default: int) -> int:
        """Return the only value of a feature, as `one_bytes` does."""
        value: int = self._one(name, "int64_list", default)
        return value

    def _one(self, name: str, kind: str, default: Any) -> Any:
        feature = self.by_name.get(name)
        # A feature of no kind is one that is missing, as for TensorFlow.
        if feature is None or not feature.ListFields():
            return default
        if not feature.HasField(kind) or len(getattr(feature, kind).value) != 1:
            raise ValueError(f"{name!r} is not one value of {kind!r}")
        return getattr(feature, kind).value[0]


def features(example: bytes) -> Features:
    """Return the features of a serialized Example.

    Raises:
        ValueError: It is not an example.
    """
    try:
        parsed = _example_class().FromString(example)
    except message.DecodeError as error:
        raise ValueError("not an Example") from error
    # Of equal keys the last one counts, as in every map of the format.
    return Features({entry.key: entry.value for entry in parsed.features.feature})


@cache
def _example_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="training/example.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        made = file.message_type.add(name=name)
        for number, field, kind, is_list in fields:
            label = _FIELD.LABEL_REPEATED if is_list else _FIELD.LABEL_OPTIONAL
            if isinstance(kind, str):
                made.field.add(
                    number=number, name=field, label=label, type=_FIELD.TYPE_MESSAGE, type_name=f".{_PACKAGE}.{kind}"
                )
            else:
                made.field.add(number=number, name=field, label=label, type=kind)
    # A second pool: TensorFlow's has the same messages under its own names.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Example"))
