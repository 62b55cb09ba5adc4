import pytest

from training_workloads import InputError
from training_workloads.names import check_dns_label


@pytest.mark.parametrize("name", ["a", "0", "team-a", "a" * 63])
def test_dns_labels_are_taken(name: str) -> None:
    check_dns_label("namespace", name)


@pytest.mark.parametrize("name", ["", "Team", "team_a", "team.a", "-a", "a-", "a" * 64, "a\n", None, 7])
def test_other_names_are_refused_with_the_rule(name: object) -> None:
    with pytest.raises(InputError) as refused:
        check_dns_label("namespace", name)
    assert str(refused.value) == f"'namespace' is {name!r}; give lower-case letters, digits and '-', at most 63"
