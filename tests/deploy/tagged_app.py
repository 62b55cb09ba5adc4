"""The app with a tag on everything, as docs/configuration.md shows it; the context has its value."""

from typing import Any

import aws_cdk as cdk

from app import build
from training_cluster import load_config

app = cdk.App()
context: dict[str, Any] = dict(app.node.get_all_context())
cdk.Tags.of(app).add("team", context.pop("team"))
build(load_config(context.pop("config"), context), app).synth()
