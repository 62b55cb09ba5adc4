"""AWS::Budgets::Budget, on the emulator's Budgets."""

from ministack.services import budgets
from ministack.services.cloudformation import provisioners

from tests.deploy.emulated_aws.registration import Attributes, Properties, answer, register


def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Create a budget with its notifications."""
    budget = dict(properties["Budget"])
    name = budget.setdefault("BudgetName", provisioners._physical_name(stack_name, logical_id, max_len=100))
    # The API's amounts are text.
    budget["BudgetLimit"] = budget["BudgetLimit"] | {"Amount": str(budget["BudgetLimit"]["Amount"])}
    notifications = properties.get("NotificationsWithSubscribers", [])
    answer(budgets._create_budget({"Budget": budget, "NotificationsWithSubscribers": notifications}))
    return name, {}


def delete(physical_id: str, properties: Properties) -> None:
    """Delete the budget."""
    answer(budgets._delete_budget({"BudgetName": physical_id}))


register("AWS::Budgets::Budget", create=create, delete=delete)
