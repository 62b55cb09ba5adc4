"""The objects of a manifest are read, whatever only the deployment knows."""

from typing import Any

from training_cluster.account.manifests import documents


def joined(function: Any) -> dict[str, Any]:
    return {"Manifest": {"Fn::Join": ["", ['[{"kind": "ConfigMap", "data": {"a": "', function, '"}}]']]}}


def test_a_function_is_its_text() -> None:
    (found,) = documents(joined({"Ref": "Lustre"}))
    assert found["data"]["a"] == '{"Ref": "Lustre"}'
    (changed,) = documents(joined({"Ref": "Lustre"}), {"Lustre"})
    assert changed["data"]["a"] == '{"Ref": "Lustre"} (new)'


def test_a_function_may_have_quotes_and_backslashes() -> None:
    (found,) = documents(joined({"Fn::Sub": 'say "${Name}"\\n'}))
    assert found["data"]["a"] == r'{"Fn::Sub": "say \"${Name}\"\\n"}'
