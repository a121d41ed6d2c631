"""The CONTROLLER listener: every version of every API that it announces is asked and answered."""

from collections.abc import Iterator

import pytest

from barnabas_core.wire.api import API_BY_KEY, ApiKey
from barnabas_core.wire.messages.api_versions_request import ApiVersionsRequest
from barnabas_core.wire.messages.api_versions_response import ApiVersionsResponse
from tests.support.admin_requests import ADMIN_REQUESTS, admin_request
from tests.support.api_tests import CONTROLLER, served_apis
from tests.support.controller_process import controllers
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    with controllers(tmp_path_factory.mktemp("quorum"), 1) as quorum:
        active = quorum.wait_active()
        with RawClient(quorum[active].address) as connected:
            yield connected


def announced(client: RawClient) -> dict[ApiKey, range]:
    answer = client.ask(ApiVersionsRequest("tests", "1.0"), 4, ApiVersionsResponse)
    return {
        ApiKey(one.api_key): range(one.min_version, one.max_version + 1) for one in answer.api_keys
    }


def test_what_a_controller_serves_is_in_the_table(client: RawClient) -> None:
    assert announced(client).keys() == served_apis(CONTROLLER).keys()


def test_no_api_is_announced_twice(client: RawClient) -> None:
    answer = client.ask(ApiVersionsRequest("tests", "1.0"), 4, ApiVersionsResponse)

    assert len(answer.api_keys) == len(announced(client))


@pytest.mark.parametrize("version", range(5))
def test_api_versions(client: RawClient, version: int) -> None:
    answer = client.ask(ApiVersionsRequest("tests", "1.0"), version, ApiVersionsResponse)

    assert answer.error_code == 0


@pytest.mark.parametrize(
    "key", sorted(served_apis(CONTROLLER).keys() - {ApiKey.API_VERSIONS}), ids=lambda key: key.name
)
def test_every_version_is_answered(client: RawClient, key: ApiKey) -> None:
    assert key in ADMIN_REQUESTS
    for version in announced(client)[key]:
        # It has the right version, or it could not be decoded.
        answer = client.ask(admin_request(key, version), version, API_BY_KEY[key].response)
        assert type(answer) is API_BY_KEY[key].response
