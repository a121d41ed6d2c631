"""SCRAM credentials on the command line."""

import base64

import pytest

from barnabas.storage.scram_argument import BadCredential, parse_credential
from barnabas_core.runtime.rng import SeededRng


def test_only_what_verifies_the_password_is_kept() -> None:
    # Keys as Kafka 4.3.1 derives them from this password and salt.
    record = parse_credential(
        "SCRAM-SHA-256=[name=alice,password=alice-secret,salt=c2FsdA==]", SeededRng(0)
    )

    assert (record.name, record.mechanism, record.iterations) == ("alice", 1, 4096)
    assert record.salt == b"salt"
    assert record.stored_key.hex().startswith("83e8b5520efdb3b445f00042e49bd8f8")
    assert record.server_key.hex().startswith("a6321757759e84f1b23ce608afbea296")


def test_a_password_may_come_salted() -> None:
    record = parse_credential(
        'SCRAM-SHA-512=[name=bob,iterations=8192,salt="N3E=",saltedpassword="YCE="]', SeededRng(0)
    )

    assert (record.mechanism, record.iterations, record.salt) == (2, 8192, b"7q")
    assert record.stored_key.hex().startswith("7176a349f91eb2e11d99e95730813516")
    assert len(record.server_key) == 64


def test_a_salt_is_drawn_where_none_is_given() -> None:
    text = "SCRAM-SHA-256=[name=alice,password=secret]"
    first, other = parse_credential(text, SeededRng(1)), parse_credential(text, SeededRng(2))

    assert first.salt != other.salt
    assert len(first.salt) >= 16
    again = text.replace("]", f",salt={base64.b64encode(first.salt).decode()}]")
    assert parse_credential(again, SeededRng(3)) == first


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SCRAM-SHA-256", "equals sign"),
        ("SCRAM-SHA-1=[name=a,password=hidden]", "SCRAM-SHA-1 is not supported"),
        ("SCRAM-SHA-256=name=a,password=hidden]", "start with ["),
        ("SCRAM-SHA-256=[name=a,password=hidden", "end with ]"),
        ("SCRAM-SHA-256=[password=hidden]", "'name'"),
        ("SCRAM-SHA-256=[name=a]", "'password' or 'saltedpassword'"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=YQ==]", "'salt' with 'saltedpassword'"),
        ("SCRAM-SHA-256=[name=a,password=hidden,salt=!]", "decode given salt"),
        ("SCRAM-SHA-256=[name=a,salt=YQ==,saltedpassword=hidden]", "decode given saltedpassword"),
        ("SCRAM-SHA-256=[name=a,password=hidden,iterations=4095]", ">= 4096"),
        ("SCRAM-SHA-256=[name=a,password=hidden,iterations=16385]", "<= 16384"),
        ("SCRAM-SHA-256=[name=a,password=hidden,iterations=x]", "iterations count"),
        ("SCRAM-SHA-256=[name=a,password=hidden,colour=1]", "configurations: colour"),
        ("SCRAM-SHA-256=[name=a,password=hidden,rest]", "No equals sign"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(text: str, reason: str) -> None:
    with pytest.raises(BadCredential) as raised:
        parse_credential(text, SeededRng(0))

    assert reason in str(raised.value)
    assert "hidden" not in str(raised.value)
