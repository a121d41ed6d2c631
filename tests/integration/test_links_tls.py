"""Links between processes over mutual TLS: who is not of the cluster is not heard.

`tls/` holds two authorities and a node of each, made for these tests and good for a hundred years.
"""

from pathlib import Path

import pytest

from barnabas_core.ports.link import Call, LinkError
from barnabas_core.security.tls import InternalTls
from tests.support.link_lab import Lab, Servant, in_lab

FILES = Path(__file__).parent / "tls"


def tls(node: str, authority: str = "ours") -> InternalTls:
    return InternalTls(
        str(FILES / f"{node}.pem"), str(FILES / f"{node}.key"), str(FILES / f"{authority}-ca.pem")
    )


def test_a_call_passes_between_nodes_of_one_authority() -> None:
    async def scenario(lab: Lab) -> None:
        server = await lab.serve(Servant(), links=lab.links(1, tls=tls("ours")))
        link = lab.open(server.address, links=lab.links(2, tls=tls("ours")))

        assert bytes(await link.call(Call(0, 7, b"body"), 10_000)) == b"body"

    in_lab("grpc", scenario)


@pytest.mark.parametrize(
    "client", [tls("theirs"), tls("theirs", "theirs"), tls("ours", "theirs"), None]
)
def test_nobody_else_is_served(client: InternalTls | None) -> None:
    async def scenario(lab: Lab) -> None:
        servant = Servant()
        server = await lab.serve(servant, links=lab.links(1, tls=tls("ours")))
        link = lab.open(server.address, links=lab.links(2, tls=client))

        with pytest.raises(LinkError):
            await link.call(Call(0, 7, b"body"), 2_000)
        assert servant.calls == []

    in_lab("grpc", scenario)
