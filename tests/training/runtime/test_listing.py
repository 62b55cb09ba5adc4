from training.runtime.listing import first


def test_the_rest_of_a_long_list_is_counted() -> None:
    assert first([], 3) == ""
    assert first(["a", "b", "c"], 3) == "a, b, c"
    assert first(range(5003), 3, "; ") == "0; 1; 2; and 5,000 more"
