"""What a broker imports and compiles for its first client; `codec` times the import of this."""

from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.codec import decoder, encoder
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.frame import decode_request_header

FIRST_APIS = {
    ApiKey.API_VERSIONS: 4,
    ApiKey.METADATA: 13,
    ApiKey.INIT_PRODUCER_ID: 5,
    ApiKey.PRODUCE: 13,
    ApiKey.LIST_OFFSETS: 10,
    ApiKey.FETCH: 17,
}


def start() -> None:
    assert not ErrorCode.NONE
    decode_request_header(b"\0\x12\0\3\0\0\0\0\xff\xff\0")
    for key, version in FIRST_APIS.items():
        api = API_BY_KEY[key]
        decoder(api.request, version)
        encoder(api.response, version)


start()
