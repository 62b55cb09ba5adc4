from typing import Any

import pytest
from aws_cdk import App, Stack, Token
from aws_cdk.assertions import Template
from training_cluster.monitoring.budget import TrainingBudget

from tests.constructs.site import properties
from training_workloads import InputError


def budget(*, monthly_usd: Any = 2000, email: str = "team@example.com") -> dict[str, Any]:
    stack = Stack(App(), "Money")
    TrainingBudget(stack, "Budget", monthly_usd=monthly_usd, email=email)
    (made,) = properties(Template.from_stack(stack), "AWS::Budgets::Budget")
    return made


def test_a_monthly_budget_of_the_account() -> None:
    assert budget()["Budget"] == {
        "BudgetType": "COST",
        "TimeUnit": "MONTHLY",
        "BudgetLimit": {"Amount": 2000, "Unit": "USD"},
    }


def test_it_writes_at_80_percent_spent_and_100_percent_forecast() -> None:
    notifications = budget()["NotificationsWithSubscribers"]
    assert [notice["Notification"] for notice in notifications] == [
        {
            "NotificationType": kind,
            "ComparisonOperator": "GREATER_THAN",
            "Threshold": percent,
            "ThresholdType": "PERCENTAGE",
        }
        for kind, percent in (("ACTUAL", 80), ("FORECASTED", 100))
    ]
    subscriber = {"SubscriptionType": "EMAIL", "Address": "team@example.com"}
    assert [notice["Subscribers"] for notice in notifications] == [[subscriber], [subscriber]]


def test_an_amount_known_at_deployment() -> None:
    assert budget(monthly_usd=Token.as_number({"Ref": "Usd"}))["Budget"]["BudgetLimit"]["Amount"] == {"Ref": "Usd"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monthly_usd": 0}, "'monthly_usd' is 0; give 1 or more"),
        ({"monthly_usd": 99.5}, "'monthly_usd' is 99.5; give a whole number, 1 or more"),
        ({"email": "team"}, "'email' is 'team'; give one email address, such as team@example.com"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        budget(**options)
    assert str(caught.value) == message
