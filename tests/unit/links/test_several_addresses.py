"""A name that stands for several nodes: ourselves left out, another first with every attempt."""

import asyncio

from barnabas_core.links.several_addresses import SeveralAddresses, is_own_address
from barnabas_core.ports.link import Address

NAME = Address("controllers.example", 10_093)


def attempts(known: list[str], own: str, count: int, name: Address = NAME) -> list[list[str]]:
    several = SeveralAddresses(lambda _: known, lambda host: host == own)

    async def scenario() -> list[list[str]]:
        return [[one.host for one in await several.others(name)] for _ in range(count)]

    return asyncio.run(scenario())


def test_every_attempt_begins_with_another_and_never_with_ourselves() -> None:
    known = ["10.0.0.3", "10.0.0.1", "10.0.0.2"]

    assert attempts(known, "10.0.0.1", 3) == [
        ["10.0.0.2", "10.0.0.3"],
        ["10.0.0.3", "10.0.0.2"],
        ["10.0.0.2", "10.0.0.3"],
    ]


def test_where_there_is_no_choice_the_name_is_left_to_grpc() -> None:
    assert attempts(["10.0.0.1"], "10.0.0.9", 1) == [[]]
    assert attempts([], "10.0.0.9", 1) == [[]]
    assert attempts(["10.0.0.1", "10.0.0.1"], "10.0.0.1", 1) == [[]]
    assert attempts(["10.0.0.1", "10.0.0.2"], "", 1, Address("10.0.0.1", 1)) == [[]]


def test_one_that_is_left_beside_ourselves_is_taken() -> None:
    assert attempts(["10.0.0.1", "10.0.0.2"], "10.0.0.1", 1) == [["10.0.0.2"]]


def test_our_own_addresses_are_those_that_can_be_bound() -> None:
    assert is_own_address("127.0.0.1")
    assert not is_own_address("192.0.2.1")
