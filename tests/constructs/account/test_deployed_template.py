"""A deployed template in YAML is as the one in JSON."""

from tests.constructs.account.stubbed_account import StubbedAccount
from training_cluster.account.deployed_template import deployed_template

YAML = """
Resources:
  A:
    Type: AWS::S3::Bucket
    Condition: Here
    Properties:
      One: !Ref B
      Two: !GetAtt B.Arn
      Three: !Sub "${B}-a"
      Four: !Join ["", [a, !Ref C]]
      Five: !If [Here, a, !Ref AWS::NoValue]
      Six: !Sub ["${X}", {X: !ImportValue e}]
"""


def test_the_short_forms_of_functions_are_read() -> None:
    account = StubbedAccount()
    account.answer("cloudformation", "get_template", {"TemplateBody": YAML})
    found = deployed_template(account, "TrainingClusterStack")["Resources"]["A"]
    assert found["Condition"] == "Here"
    assert found["Properties"] == {
        "One": {"Ref": "B"},
        "Two": {"Fn::GetAtt": ["B", "Arn"]},
        "Three": {"Fn::Sub": "${B}-a"},
        "Four": {"Fn::Join": ["", ["a", {"Ref": "C"}]]},
        "Five": {"Fn::If": ["Here", "a", {"Ref": "AWS::NoValue"}]},
        "Six": {"Fn::Sub": ["${X}", {"X": {"Fn::ImportValue": "e"}}]},
    }
