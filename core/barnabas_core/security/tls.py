"""Mutual TLS on the links between our own processes, with files that are re-read when they change.

Kubernetes and certificate managers renew certificates by replacing files under a running process.
The serving end reads its files anew for every handshake, the calling end for every channel: both
are rare, and the files small. Streams that are open live on. Files that are half replaced (a new
certificate beside the old key) are refused by gRPC, which goes on with the pair it had.

gRPC opens its sockets itself, so nothing here runs in a simulation; it is imported with the first
credentials that are made.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class TlsError(Exception):
    """A file of the internal TLS set-up cannot be read."""


class CertificateFiles(NamedTuple):
    """What the files held."""

    certificate: bytes
    key: bytes
    ca: bytes


@dataclass(frozen=True, slots=True)
class InternalTls:
    """`internal.tls.certificate`, `internal.tls.key` and `internal.tls.ca`: paths of PEM files."""

    certificate_path: str
    key_path: str
    ca_path: str
    """Whose signature the other end's certificate must carry."""

    def read(self) -> CertificateFiles:
        return CertificateFiles(
            _read(self.certificate_path), _read(self.key_path), _read(self.ca_path)
        )


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TlsError(f"cannot read {path}: {error.strerror}") from error


class _Renewal:
    """Asked by gRPC, in a thread of its own, before each handshake."""

    def __init__(self, tls: InternalTls, make: "Callable[[CertificateFiles], Any]") -> None:
        self._tls = tls
        self._make = make
        self._current = tls.read()
        self.first = make(self._current)

    def __call__(self) -> Any:  # noqa: ANN401 - gRPC has no types
        try:
            files = self._tls.read()
        except TlsError:
            return None  # between remove and rename: the last good ones stay
        if files == self._current:
            return None
        self._current = files
        return self._make(files)


def server_credentials(tls: InternalTls) -> Any:  # noqa: ANN401
    """Only callers with a certificate of our authority get in. `TlsError` if files are missing."""
    import grpc  # type: ignore[import-untyped]  # noqa: PLC0415

    def make(files: CertificateFiles) -> Any:  # noqa: ANN401
        pairs = [(files.key, files.certificate)]
        return grpc.ssl_server_certificate_configuration(pairs, root_certificates=files.ca)

    renewal = _Renewal(tls, make)
    return grpc.dynamic_ssl_server_credentials(
        renewal.first, renewal, require_client_authentication=True
    )


def channel_credentials(tls: InternalTls) -> Any:  # noqa: ANN401
    """For one channel, from the files as they are now. `TlsError` if one is missing."""
    import grpc  # noqa: PLC0415

    files = tls.read()
    return grpc.ssl_channel_credentials(files.ca, files.key, files.certificate)
