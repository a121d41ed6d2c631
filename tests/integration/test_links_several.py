"""Links to a name that stands for several nodes, over gRPC."""

import pytest

from barnabas_core.links.grpc_links import GrpcNetwork
from barnabas_core.links.link_config import LinkConfig
from barnabas_core.links.several_addresses import SeveralAddresses
from barnabas_core.links.stream_links import StreamLinks
from barnabas_core.ports.link import Address, Call, Identity
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.security.tls import InternalTls
from tests.integration.test_links_tls import tls
from tests.support.link_lab import Lab, Servant, in_lab

NODES = ["127.0.0.2", "127.0.0.3"]


def links_to(lab: Lab, nodes: list[str], secured: InternalTls | None) -> StreamLinks:
    several = SeveralAddresses(lambda _: nodes, lambda _: False)
    network = GrpcNetwork(LinkConfig(), secured, several)
    return StreamLinks(network, Identity("cluster", 2, "broker"), SystemClock(), lab.log)


@pytest.mark.parametrize("secured", [None, tls("ours")], ids=["plain", "tls"])
def test_every_new_link_reaches_one_of_them(secured: InternalTls | None) -> None:
    """With TLS, certificates are checked for the name that was asked for.

    Which one is not said here: gRPC turns to the next address if the first takes long to answer.
    """

    async def scenario(lab: Lab) -> None:
        servants = [Servant(), Servant()]
        first = await lab.serve(servants[0], Address(NODES[0], 0), links=lab.links(1, tls=secured))
        second = Address(NODES[1], first.address.port)
        await lab.serve(servants[1], second, links=lab.links(1, tls=secured))
        links = links_to(lab, NODES, secured)

        for _ in range(2):
            link = lab.open(Address("localhost", second.port), links=links)
            assert bytes(await link.call(Call(0, 7, b"body"), 10_000)) == b"body"

        assert sum(len(one.calls) for one in servants) == 2

    in_lab("grpc", scenario)


def test_one_that_is_away_costs_no_attempt() -> None:
    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant(), Address(NODES[1], 0))
        link = lab.open(
            Address("nodes.example", server.address.port), links=links_to(lab, NODES, None)
        )

        assert bytes(await link.call(Call(0, 7, b"body"), 10_000)) == b"body"

    in_lab("grpc", scenario)
