"""SCRAM mechanisms and the keys that are kept of a password (RFC 5802, RFC 7677).

A client sends the password salted and hashed many times over. Of that only the stored key and the
server key are kept: with them a server can check a client, but nobody can pose as one.
"""

import hmac
from dataclasses import dataclass
from hashlib import new as new_hash
from typing import Final

ITERATIONS_MAX: Final = 16_384


@dataclass(frozen=True, slots=True)
class ScramMechanism:
    type: int
    hash_name: str
    iterations_min: int

    def stored_key(self, salted_password: bytes) -> bytes:
        client_key = hmac.digest(salted_password, b"Client Key", self.hash_name)
        return new_hash(self.hash_name, client_key).digest()

    def server_key(self, salted_password: bytes) -> bytes:
        return hmac.digest(salted_password, b"Server Key", self.hash_name)


MECHANISMS: Final = {
    1: ScramMechanism(1, "sha256", 4096),
    2: ScramMechanism(2, "sha512", 4096),
}
