"""The checksum of batches: Castagnoli's, loaded without what the package brings along."""

import subprocess
import sys

from barnabas_core.records.checksum import crc32c


def test_it_is_castagnolis_polynomial() -> None:
    # The check value of CRC-32C, RFC 3720 appendix B.4 and every catalogue since.
    assert crc32c(b"123456789") == 0xE3069283


def test_it_takes_a_view_without_copying() -> None:
    assert crc32c(memoryview(bytearray(b"0123456789"))[1:]) == crc32c(b"123456789")


def test_loading_it_reads_no_package_metadata() -> None:
    code = "import sys, barnabas_core.records.checksum; print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
