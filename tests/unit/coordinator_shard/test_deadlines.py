"""Deadlines come in their order, and only the last one set for a key counts."""

from random import Random

from barnabas_coordinator.shard.deadlines import Deadlines


def test_the_next_comes_first_and_once() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("late", 30)
    deadlines.set("early", 10)

    assert deadlines.next_ms() == 10
    assert deadlines.pop_due(20) == ["early"]
    assert deadlines.pop_due(20) == []
    assert deadlines.pop_due(30) == ["late"]
    assert deadlines.next_ms() is None


def test_setting_again_moves_it_and_cancelling_takes_it_away() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 10)
    deadlines.set("a", 50)
    deadlines.set("b", 20)
    deadlines.cancel("b")

    assert deadlines.pop_due(49) == []
    assert deadlines.pop_due(50) == ["a"]


def test_it_behaves_as_a_sorted_dict_and_does_not_grow() -> None:
    rng = Random(7)
    deadlines: Deadlines[int] = Deadlines()
    model: dict[int, int] = {}
    for now_ms in range(5_000):
        key = rng.randrange(20)
        if rng.random() < 0.8:
            model[key] = now_ms + rng.randrange(1, 50)
            deadlines.set(key, model[key])
        else:
            model.pop(key, None)
            deadlines.cancel(key)
        due = deadlines.pop_due(now_ms)
        assert sorted(due) == sorted(it for it, at_ms in model.items() if at_ms <= now_ms)
        model = {it: at_ms for it, at_ms in model.items() if at_ms > now_ms}
        assert len(deadlines) == len(model)
        assert len(deadlines._heap) < 500
