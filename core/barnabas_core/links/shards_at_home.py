"""The links of a node whose coordinators run in its own process.

Sessions of shards stay within the process, whatever address they are opened to; nobody else is
served them. Everything else goes over the network that the node has anyway.
"""

from barnabas_core.links.local_links import LocalNetwork
from barnabas_core.links.transport import Accept, Listening, Network, Transport
from barnabas_core.ports.link import Address, Purpose


class ShardsAtHome:
    def __init__(self, local: LocalNetwork, others: Network) -> None:
        self._local = local
        self._others = others

    async def connect(self, purpose: Purpose, address: Address) -> Transport:
        network: Network = self._local if purpose is Purpose.SHARD else self._others
        return await network.connect(purpose, address)

    async def listen(
        self, address: Address, purposes: tuple[Purpose, ...], accept: Accept
    ) -> Listening:
        # Whoever serves shards serves nothing else.
        network: Network = self._local if Purpose.SHARD in purposes else self._others
        return await network.listen(address, purposes, accept)
