"""DescribeLaunchTemplateVersions with every field: the emulator stores them, and leaves most out of its answer."""

from typing import Any
from xml.sax.saxutils import escape

import botocore.session
from botocore.model import Shape
from ministack.services import ec2

DATA = botocore.session.get_session().get_service_model("ec2").shape_for("ResponseLaunchTemplateData")


def render(shape: Shape, value: Any) -> str:
    """Return a value as XML, by the names that EC2's model has for its fields."""
    if shape.type_name == "structure":
        unknown = value.keys() - shape.members.keys()
        if unknown:
            raise ValueError(f"EC2 has no field {sorted(unknown)} in {shape.name}; it has {sorted(shape.members)}")
        return "".join(
            f"<{tag}>{render(member, value[name])}</{tag}>"
            for name, member in shape.members.items()
            if name in value
            for tag in [member.serialization.get("name", name)]
        )
    if shape.type_name == "list":
        return "".join(f"<item>{render(shape.member, item)}</item>" for item in value)
    return escape(str(value).lower() if isinstance(value, bool) else str(value))


def data_as_xml(data: dict[str, Any]) -> str:
    """Return the data of a version."""
    return render(DATA, data)


ec2._lt_data_xml = data_as_xml
