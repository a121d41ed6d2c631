"""Whether two ends are in touch: heard of within a second, and hearing."""

from barnabas_core.links.contact import Contact

PAUSE_MS = 1_000


def contact() -> Contact:
    return Contact(0, PAUSE_MS)


def test_who_is_heard_of_twice_a_second_is_in_touch() -> None:
    one = contact()

    for now_ms in range(500, 5_001, 500):
        one.on_heard(0, now_ms)

    assert one.length_ms(5_999) == 5_000


def test_a_second_of_silence_is_a_pause_and_it_counts_anew_from_its_end() -> None:
    one = contact()

    assert one.length_ms(1_000) == 0
    one.on_heard(0, 1_700)

    assert one.length_ms(1_700) == 0
    one.on_heard(0, 2_500)
    assert one.length_ms(2_500) == 800


def test_one_word_after_a_pause_does_not_make_a_second() -> None:
    """What the pause held up may have been cut off again behind it."""
    one = contact()
    one.on_heard(0, 5_000)

    assert one.length_ms(5_999) == 0


def test_who_was_stopped_was_out_of_touch_though_much_is_waiting_to_be_read() -> None:
    one = contact()
    one.on_heard(0, 500)

    for _ in range(3):
        one.on_heard(0, 9_000)
    one.on_heard(0, 9_100)

    assert one.length_ms(9_100) == 100


def test_who_does_not_confirm_what_was_sent_is_out_of_touch_whatever_it_says() -> None:
    one = contact()
    one.on_sent(100)

    for now_ms in range(200, 1_500, 200):
        one.on_heard(0, now_ms)
    assert one.length_ms(1_500) == 0

    one.on_heard(1, 1_600)
    one.on_heard(1, 2_000)
    assert one.length_ms(2_000) == 400


def test_as_long_as_something_is_confirmed_the_rest_may_be_under_way() -> None:
    one = contact()

    for number in range(10):
        one.on_sent(number * 500)
        one.on_heard(number, number * 500 + 400)

    assert one.length_ms(5_000) == 4_900
