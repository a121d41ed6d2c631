"""The bytes that large requests may hold together."""

from barnabas_core.server.budget import ByteBudget


def granted(order: list[str], name: str, budget: ByteBudget, count: int) -> bool:
    return budget.take_or_wait(count, lambda: order.append(name))


def test_what_fits_is_taken_at_once() -> None:
    budget = ByteBudget(100)
    order: list[str] = []

    assert granted(order, "a", budget, 60)
    assert granted(order, "b", budget, 40)

    assert budget.used_bytes == 100
    assert order == []


def test_those_who_wait_are_served_in_the_order_of_asking() -> None:
    budget = ByteBudget(100)
    order: list[str] = []
    granted(order, "holder", budget, 100)
    assert not granted(order, "large", budget, 80)
    assert not granted(order, "small", budget, 10)
    assert budget.is_short

    budget.give_back(50)
    assert order == []
    budget.give_back(50)

    assert order == ["large", "small"]
    assert budget.used_bytes == 90
    assert not budget.is_short


def test_a_wish_larger_than_the_budget_is_served_alone() -> None:
    budget = ByteBudget(100)
    order: list[str] = []
    granted(order, "holder", budget, 1)
    assert not granted(order, "huge", budget, 500)

    budget.give_back(1)

    assert order == ["huge"]


def test_one_that_is_gone_no_longer_blocks_those_behind_it() -> None:
    budget = ByteBudget(100)
    order: list[str] = []
    granted(order, "holder", budget, 50)

    def gone() -> None:
        order.append("gone")

    assert not budget.take_or_wait(90, gone)
    assert not granted(order, "next", budget, 30)
    budget.forget(gone)

    assert order == ["next"]
    assert budget.used_bytes == 80
