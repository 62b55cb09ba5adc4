#!/usr/bin/env python
"""PyTorch's `torchrun`, without its hole: nothing that its agents read in the store runs code.

The agents keep the state of their rendezvous as a pickle in a store without authentication, and unpickle it
(`_BackendRendezvousStateHolder.sync`, read in torch 2.15.0). The set-up and the image install this file in the place of
PyTorch's program, so it imports nothing from this package. It reads the same pickles, but only plain values, times, and
the two classes of that state, whose values it copies into new objects.
"""

import datetime
import io
import pickle
import pickletools
import sys
from types import SimpleNamespace
from typing import Any

from torch.distributed.elastic.rendezvous import dynamic_rendezvous
from torch.distributed.run import main

_MODULE = dynamic_rendezvous.__name__

# They cannot be changed, and their calls only make values.
_TIMES = {f"datetime.{each.__name__}": each for each in (datetime.datetime, datetime.timedelta, datetime.timezone)}

_PLAIN = (bool, int, float, str, type(None), datetime.datetime)


def rendezvous_state(content: bytes) -> Any:
    """Return the state of a rendezvous.

    Args:
        content: A pickle.

    Raises:
        UnpicklingError: It is no such state.
    """
    # New classes for each pickle: a pickle can change a class that it names.
    names = {f"{_MODULE}.{name}": type(name, (), {}) for name in ("_RendezvousState", "_NodeDesc")}

    class Unpickler(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found = {**names, **_TIMES}.get(f"{module}.{name}")
            if found is None:
                raise pickle.UnpicklingError(f"holds {module}.{name}, which may run code")
            return found

    try:
        _check_memory(content)
        read = Unpickler(io.BytesIO(content)).load()
        state, values = dynamic_rendezvous._RendezvousState(), _copied(vars(read), names[f"{_MODULE}._NodeDesc"])
        if type(read) is not names[f"{_MODULE}._RendezvousState"] or vars(state).keys() != values.keys():
            raise TypeError(f"is a {type(read).__name__} with other values")
    # A broken pickle raises almost anything.
    except Exception as error:
        raise pickle.UnpicklingError(f"the state in the store is rejected: {error}") from error
    vars(state).update(values)
    return state


def _check_memory(content: bytes) -> None:
    """Reject a pickle with a place of its memo that it cannot fill: one operation can reserve 4 billion."""
    for operation, argument, _ in pickletools.genops(content):
        if operation.name.endswith("PUT") and isinstance(argument, int) and argument > len(content):
            raise pickle.UnpicklingError(f"has place {argument} of its memo in {len(content)} bytes")


def _copied(value: Any, node: type) -> Any:
    """Return a copy that consists of plain values, times and descriptions of nodes."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is set:
        return {_copied(each, node) for each in value}
    if kind is dict:
        return {_copied(key, node): _copied(each, node) for key, each in value.items()}
    if kind is node:
        return dynamic_rendezvous._NodeDesc(**_copied(vars(value), node))
    raise TypeError(f"holds a {kind.__name__}")


def guard() -> None:
    """Have the agents of this process read states with `rendezvous_state`."""
    dynamic_rendezvous.pickle = SimpleNamespace(
        dumps=pickle.dumps, loads=rendezvous_state, PickleError=pickle.PickleError
    )


if __name__ == "__main__":
    guard()
    sys.exit(main())
