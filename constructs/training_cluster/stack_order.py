"""Which stack waits for which: two stacks that need each other are rejected where the second need is defined.

CDK finds such a circle at synthesis only, and reports it as a traceback with the names of resources (DependencyCycle).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from aws_cdk import CfnResource, Stack, Stage, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

from training_workloads.validation import InputError, Problem, Problems, check

__all__ = ["order_stacks", "outermost_stack"]

#: The stacks that a stack waits for, by address, with the two constructs that are the reason, by path.
_Needs = dict[str, dict[str, tuple[str, str]]]

# By the app.
_NEEDS: WeakKeyDictionary[IConstruct, _Needs] = WeakKeyDictionary()


def order_stacks(scope: Construct, id: str, **needed: Any) -> None:
    """Record that a construct needs others, by the names of its arguments: its stack is deployed after theirs.

    Raises:
        InputError: The stack of one of them waits for the construct's stack.
    """
    needs = _NEEDS.setdefault(scope.node.root, {})
    here, path = outermost_stack(scope), "/".join(filter(None, (scope.node.path, id)))
    for name, other in needed.items():
        check(_is_a_key_of_the_region(name, other, Stack.of(scope).region))
        if not isinstance(other, Construct):
            continue
        for inner in _inner(other):
            _add(needs, other, inner)
        if not _is_deployed(other):
            continue
        check(_in_one_app(name, other, scope), _in_one_environment(name, other, Stack.of(scope)))
        there = outermost_stack(other)
        if reasons := _way(needs, there, here):
            raise InputError(_circle(name, other, there, here, path, reasons))
        _add_edge(needs, here, there, path, other.node.path)


def _is_a_key_of_the_region(name: str, other: Any, region: str) -> Problems:
    """Reject a key of another region, which no service takes; an imported one has that of its ARN."""
    if other is None or not hasattr(other, "key_arn") or Token.is_unresolved(region):
        return
    there = other.env.region
    if not Token.is_unresolved(there) and there != region:
        fix = "give a key of the region, or a replica of a multi-Region key"
        yield Problem(
            path=(name,), given=other.node.path, allowed=f"it is of {there}, and the stack of {region}", fix=fix
        )


def _in_one_app(name: str, other: Construct, scope: Construct) -> Problems:
    """Reject a resource of another app or stage, which is deployed for itself."""
    if Stage.of(scope) is not Stage.of(other):
        fix = "define both in one app and stage, or import the resource"
        yield Problem(path=(name,), given=other.node.path, allowed="it is of another app or stage", fix=fix)


def _in_one_environment(name: str, other: Construct, here: Stack) -> Problems:
    """Reject a resource of a stack in another account or region: CDK knows its name there only if that is fixed.

    A VPC and its subnets, clusters, file systems and keys are of one region in any case.
    """
    there = Stack.of(other)
    if here.environment != there.environment and not _has_a_fixed_name(other):
        yield Problem(
            path=(name,),
            given=other.node.path,
            allowed=f"its stack {there.node.path} is in {_place(there)}, and {here.node.path} in {_place(here)}",
            fix="create both stacks with the same env=cdk.Environment(account=..., region=...), or import the resource",
        )


def _has_a_fixed_name(other: Construct) -> bool:
    """Return whether the user named a bucket or a repository, which other accounts and regions can reach by that."""
    resource = other.node.default_child
    name = resource.bucket_name if isinstance(resource, s3.CfnBucket) else None
    name = resource.repository_name if isinstance(resource, ecr.CfnRepository) else name
    return name is not None and not Token.is_unresolved(name)


def _place(stack: Stack) -> str:
    account, region = (
        "of the deployment" if Token.is_unresolved(each) else each for each in (stack.account, stack.region)
    )
    return f"account {account}, region {region}"


def _circle(
    name: str, other: Construct, there: Stack, here: Stack, path: str, reasons: list[tuple[str, str]]
) -> Problem:
    because = ", ".join(f"{needing} needs {needed}" for needing, needed in reasons)
    return Problem(
        path=(name,),
        given=other.node.path,
        allowed=f"its stack {there.node.path} waits for {here.node.path} ({because}); each would wait for the other",
        fix=f"define {path} in the stack {there.node.path}, or {reasons[-1][1]} in a separate stack",
    )


def _inner(other: Construct) -> Iterator[Construct]:
    """Return the constructs that a construct of CDK refers to, as far as it knows them."""
    try:
        vpc = getattr(other, "vpc", None)
    except RuntimeError:  # Of an imported cluster that does not know it.
        vpc = None
    if isinstance(vpc, ec2.Vpc):
        yield vpc
    groups = getattr(getattr(other, "connections", None), "security_groups", None) or ()
    yield from (group for group in groups if isinstance(group, ec2.SecurityGroup))


def _add(needs: _Needs, other: Construct, inner: Construct) -> None:
    if _is_deployed(other) and _is_deployed(inner):
        _add_edge(needs, outermost_stack(other), outermost_stack(inner), other.node.path, inner.node.path)


def _add_edge(needs: _Needs, here: Stack, there: Stack, path: str, needed: str) -> None:
    if here.node.addr != there.node.addr:
        needs.setdefault(here.node.addr, {}).setdefault(there.node.addr, (path, needed))


def _way(needs: _Needs, start: Stack, end: Stack) -> list[tuple[str, str]]:
    """Return the reasons why one stack waits for another; empty if it does not."""
    if start.node.addr == end.node.addr:
        return []
    ways: dict[str, list[tuple[str, str]]] = {start.node.addr: []}
    waiting: deque[str] = deque(ways)
    while waiting:
        stack = waiting.popleft()
        for other, reason in needs.get(stack, {}).items():
            if other not in ways:
                ways[other] = [*ways[stack], reason]
                waiting.append(other)
    return ways.get(end.node.addr, [])


def _is_deployed(construct: Construct) -> bool:
    """Return whether the construct defines a resource: an imported one refers to an existing resource."""
    children: Iterable[IConstruct] = construct.node.children
    return any(isinstance(child, CfnResource) for child in children)


def outermost_stack(construct: Construct) -> Stack:
    """Return the stack, or the one around its nested stacks."""
    stack = Stack.of(construct)
    while stack.nested_stack_parent:
        stack = stack.nested_stack_parent
    return stack
