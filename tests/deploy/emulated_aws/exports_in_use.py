"""An export that another stack imports cannot be deleted or changed: the emulator checks that for stacks only."""

from typing import Any

from ministack.services.cloudformation import _exports, _stacks, handlers, stacks

_resolve_outputs = stacks._resolve_stack_outputs


def importer(export: str, owner: str) -> str | None:
    """Return a stack that imports an export."""
    return next(
        (
            name
            for name, stack in _stacks.items()
            if name != owner
            and not stack["StackStatus"].startswith("DELETE")
            and export in handlers._imported_export_names(stack, name)
        ),
        None,
    )


def checked_outputs(*arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the outputs and exports of a stack; fail as CloudFormation does if one that is in use goes or changes."""
    outputs, exports = _resolve_outputs(*arguments)
    stack_name, stack_id = arguments[-2:]
    for export, found in list(_exports.items()):
        new = exports.get(export, {}).get("Value")
        user = importer(export, stack_name)
        if found["StackId"] == stack_id and user and new != found["Value"]:
            verb = "deleted" if new is None else "updated"
            raise ValueError(f"Export {export} cannot be {verb} as it is in use by {user}")
    return outputs, exports


stacks._resolve_stack_outputs = checked_outputs
