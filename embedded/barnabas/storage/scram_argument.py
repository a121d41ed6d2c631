"""SCRAM credentials that a cluster starts with: `SCRAM-SHA-256=[name=alice,password=secret]`.

Only what verifies a password is kept (RFC 5802): salt, stored key, server key. The password itself
may be given salted already, as `salt=...,saltedpassword=...` in base64.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

from barnabas_core.config.number import INT32_MAX, parse_whole
from barnabas_core.ports.rng import Rng
from barnabas_core.wire.messages.user_scram_credential_record import UserScramCredentialRecord

ITERATIONS_DEFAULT = 4096
SALT_BYTES = 24


class BadCredential(Exception):
    """The text describes no credential. It is not repeated: it may hold a password."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    name: str
    code: int
    hash_name: str
    iterations_least: int
    iterations_most: int


MECHANISMS = {
    "SCRAM-SHA-256": Mechanism("SCRAM-SHA-256", 1, "sha256", 4096, 16384),
    "SCRAM-SHA-512": Mechanism("SCRAM-SHA-512", 2, "sha512", 4096, 16384),
}
_KNOWN = frozenset({"name", "password", "saltedpassword", "salt", "iterations"})


def parse_credential(text: str, rng: Rng) -> UserScramCredentialRecord:
    mechanism, fields = _split(text.strip())
    if "name" not in fields:
        raise BadCredential("You must supply 'name' to add-scram")
    iterations = _iterations(mechanism, fields.get("iterations"))
    salt = _base64("salt", fields["salt"]) if "salt" in fields else rng.randbytes(SALT_BYTES)
    salted = _salted_password(mechanism, fields, salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", mechanism.hash_name)
    return UserScramCredentialRecord(
        name=fields["name"],
        mechanism=mechanism.code,
        salt=salt,
        stored_key=hashlib.new(mechanism.hash_name, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", mechanism.hash_name),
        iterations=iterations,
    )


def _split(text: str) -> tuple[Mechanism, dict[str, str]]:
    name, separator, config = text.partition("=")
    if not separator:
        raise BadCredential("Failed to find equals sign in SCRAM argument")
    mechanism = MECHANISMS.get(name)
    if mechanism is None:
        raise BadCredential(f"The add-scram mechanism {name} is not supported.")
    if not config.startswith("["):
        raise BadCredential("Expected configuration string to start with [")
    if not config.endswith("]"):
        raise BadCredential("Expected configuration string to end with ]")
    fields = dict(_field(part) for part in config[1:-1].split(","))
    unknown = sorted(fields.keys() - _KNOWN)
    if unknown:
        raise BadCredential(f"Unknown SCRAM configurations: {', '.join(unknown)}")
    return mechanism, fields


def _field(part: str) -> tuple[str, str]:
    name, separator, value = part.partition("=")
    if not separator:
        raise BadCredential("No equals sign found in SCRAM component")
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return name, value


def _iterations(mechanism: Mechanism, text: str | None) -> int:
    if text is None:
        return ITERATIONS_DEFAULT
    try:
        iterations = parse_whole(text, INT32_MAX)
    except ValueError:
        raise BadCredential(f"Failed to parse iterations count: {text}") from None
    least, most = mechanism.iterations_least, mechanism.iterations_most
    if not least <= iterations <= most:
        raise BadCredential(
            f"The 'iterations' value must be >= {least} and <= {most} for add-scram using "
            f"{mechanism.name}"
        )
    return iterations


def _salted_password(
    mechanism: Mechanism, fields: dict[str, str], salt: bytes, iterations: int
) -> bytes:
    if "password" in fields:
        password = fields["password"].encode()
        return hashlib.pbkdf2_hmac(mechanism.hash_name, password, salt, iterations)
    if "saltedpassword" not in fields:
        raise BadCredential("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if "salt" not in fields:
        raise BadCredential("You must supply 'salt' with 'saltedpassword' to add-scram")
    return _base64("saltedpassword", fields["saltedpassword"])


def _base64(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadCredential(f"Failed to decode given {name}") from None
