"""A monthly budget that writes a mail before the money is gone."""

from aws_cdk import Token
from aws_cdk import aws_budgets as budgets
from constructs import Construct

from training_cluster.monitoring.alarms import check_email
from training_workloads.validation import check_at_least

__all__ = ["TrainingBudget"]

# Percent of the budget. https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-best-practices.html
_NOTIFICATIONS = (("ACTUAL", 80), ("FORECASTED", 100))


class TrainingBudget(Construct):
    """A budget for everything in the account, with mails at 80 % spent and at 100 % forecast.

    It warns and stops nothing. It covers the account and not the cluster, because costs can be told apart only by a tag
    that somebody first activates for billing, and until then a budget of that tag would stay at 0 without a word
    (https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html).

    Attributes:
        budget: The budget, with a name that CloudFormation makes.
    """

    def __init__(self, scope: Construct, id: str, *, monthly_usd: int, email: str) -> None:
        """Defines the budget.

        Args:
            scope: A stack that outlives the clusters, or a construct in one.
            id: Id in the scope.
            monthly_usd: Dollars per calendar month.
            email: Who is told.

        Raises:
            InputError: `monthly_usd` is not a whole number of 1 or more, or `email` is not one email address.
        """
        super().__init__(scope, id)
        if not Token.is_unresolved(monthly_usd):
            check_at_least("monthly_usd", monthly_usd, 1)
        check_email("email", email)
        budget = budgets.CfnBudget
        self.budget = budget(
            self,
            "Resource",
            budget=budget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budget.SpendProperty(amount=monthly_usd, unit="USD"),
            ),
            notifications_with_subscribers=[_notification(kind, percent, email) for kind, percent in _NOTIFICATIONS],
        )


def _notification(kind: str, percent: int, email: str) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
    budget = budgets.CfnBudget
    return budget.NotificationWithSubscribersProperty(
        notification=budget.NotificationProperty(
            notification_type=kind,
            comparison_operator="GREATER_THAN",
            threshold=percent,
            threshold_type="PERCENTAGE",
        ),
        subscribers=[budget.SubscriberProperty(subscription_type="EMAIL", address=email)],
    )
