"""ACLs are stored, found and deleted. Messages and codes are those of Kafka 4.3.1."""

from dataclasses import replace

import pytest

from barnabas_controller.managers.acls.create_acls import decide_create_acls
from barnabas_controller.managers.acls.delete_acls import decide_delete_acls
from barnabas_controller.managers.acls.describe_acls import decide_describe_acls
from barnabas_core.metadata.acl_filter import ANY, LITERAL, MATCH, PREFIXED
from barnabas_core.metadata.keyed_image import Acl
from barnabas_core.wire.error_code import ErrorCode
from barnabas_core.wire.messages.create_acls_request import AclCreation, CreateAclsRequest
from barnabas_core.wire.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from barnabas_core.wire.messages.describe_acls_request import DescribeAclsRequest
from tests.support.controller_lab import SETTINGS, ControllerLab

TOPIC, GROUP, CLUSTER = 2, 3, 4
READ, WRITE = 3, 4
DENY, ALLOW = 2, 3
STANDARD = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
READ_T = Acl(TOPIC, "t", LITERAL, "User:a", "*", READ, ALLOW)
OK = (ErrorCode.NONE, "")
Outcome = tuple[ErrorCode, str | None]


@pytest.fixture
def lab() -> ControllerLab:
    return ControllerLab(replace(SETTINGS, static_configs=STANDARD))


def create(lab: ControllerLab, *acls: Acl) -> list[Outcome]:
    request = CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                resource_pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
            for acl in acls
        ]
    )
    answer = lab.decide(decide_create_acls, request)
    return [(ErrorCode(each.error_code), each.error_message) for each in answer.results]


def deletion(
    resource_type: int = ANY,
    name: str | None = None,
    pattern_type: int = ANY,
    principal: str | None = None,
    operation: int = ANY,
) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=resource_type,
        resource_name_filter=name,
        pattern_type_filter=pattern_type,
        principal_filter=principal,
        host_filter=None,
        operation=operation,
        permission_type=ANY,
    )


def delete(lab: ControllerLab, *filters: DeleteAclsFilter) -> list[tuple[Outcome, list[Acl]]]:
    answer = lab.decide(decide_delete_acls, DeleteAclsRequest(filters=list(filters)))
    return [
        (
            (ErrorCode(result.error_code), result.error_message),
            [
                Acl(
                    acl.resource_type,
                    acl.resource_name,
                    acl.pattern_type,
                    acl.principal,
                    acl.host,
                    acl.operation,
                    acl.permission_type,
                )
                for acl in result.matching_acls
            ],
        )
        for result in answer.filter_results
    ]


def stored(lab: ControllerLab) -> list[Acl]:
    return list(lab.image.acls.values())


def test_an_entry_is_stored_under_an_id_of_its_own(lab: ControllerLab) -> None:
    prefixed = READ_T._replace(pattern_type=PREFIXED)

    assert create(lab, READ_T, prefixed) == [OK, OK]

    assert stored(lab) == [READ_T, prefixed]
    assert len(set(lab.image.acls)) == 2


def test_an_entry_that_is_there_is_a_success_and_no_record(lab: ControllerLab) -> None:
    assert create(lab, READ_T, READ_T) == [OK, OK]
    assert len(lab.records) == 1

    assert create(lab, READ_T) == [OK]
    assert lab.records == []


@pytest.mark.parametrize(
    ("acl", "message"),
    [
        (
            READ_T._replace(resource_type=CLUSTER, resource_name="other"),
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        (READ_T._replace(resource_name=""), "Invalid empty resource name"),
        (
            READ_T._replace(principal="a"),
            (
                "Could not parse principal from `a` (no colon is present separating the principal "
                "type from the principal name)"
            ),
        ),
        (READ_T._replace(resource_type=ANY), "Invalid resourceType ANY"),
        (READ_T._replace(resource_type=50), "Invalid resourceType UNKNOWN"),
        (READ_T._replace(pattern_type=MATCH), "Invalid patternType MATCH"),
        (READ_T._replace(pattern_type=ANY), "Invalid patternType ANY"),
        (READ_T._replace(pattern_type=50), "Invalid patternType UNKNOWN"),
        (READ_T._replace(operation=ANY), "Invalid operation ANY"),
        (READ_T._replace(operation=99), "Invalid operation UNKNOWN"),
        (READ_T._replace(permission_type=ANY), "Invalid permissionType ANY"),
        (READ_T._replace(permission_type=9), "Invalid permissionType UNKNOWN"),
    ],
)
def test_a_wrong_entry_is_refused_and_the_others_are_stored(
    lab: ControllerLab, acl: Acl, message: str
) -> None:
    assert create(lab, acl, READ_T) == [(ErrorCode.INVALID_REQUEST, message), OK]

    assert stored(lab) == [READ_T]


@pytest.mark.parametrize(
    "acl",
    [
        READ_T._replace(resource_type=CLUSTER, resource_name="kafka-cluster"),
        READ_T._replace(resource_name="bad name!"),
        READ_T._replace(resource_name="*", principal="User:*"),
        READ_T._replace(host="no such host"),
        READ_T._replace(principal=":"),
        READ_T._replace(operation=14),
    ],
)
def test_what_makes_little_sense_is_stored_as_kafka_does(lab: ControllerLab, acl: Acl) -> None:
    assert create(lab, acl) == [OK]


def test_entries_beyond_one_append_are_refused() -> None:
    settings = replace(SETTINGS, static_configs=STANDARD, max_records_per_decision=1)
    lab = ControllerLab(settings)

    outcomes = create(lab, READ_T, READ_T._replace(operation=WRITE))

    assert [error for error, _ in outcomes] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]


def test_a_filter_deletes_what_it_matches_and_tells_it(lab: ControllerLab) -> None:
    kept = READ_T._replace(resource_name="other")
    create(lab, READ_T, kept)

    assert delete(lab, deletion(TOPIC, "t", LITERAL)) == [((ErrorCode.NONE, None), [READ_T])]

    assert stored(lab) == [kept]


def test_each_filter_sees_what_there_was_and_an_entry_goes_once(lab: ControllerLab) -> None:
    create(lab, READ_T)

    results = delete(lab, deletion(TOPIC, "t"), deletion(principal="User:a"))

    assert [acls for _, acls in results] == [[READ_T], [READ_T]]
    assert len(lab.records) == 1
    assert stored(lab) == []


def test_a_filter_of_unknown_parts_deletes_nothing_and_the_others_do(lab: ControllerLab) -> None:
    create(lab, READ_T)

    results = delete(lab, deletion(99), deletion(operation=99), deletion(name="none"))

    assert [outcome for outcome, _ in results] == [
        (ErrorCode.INVALID_REQUEST, "Unknown patternFilter."),
        (ErrorCode.INVALID_REQUEST, "Unknown entryFilter."),
        (ErrorCode.NONE, None),
    ]
    assert stored(lab) == [READ_T]


def test_filters_that_together_would_delete_too_many_are_refused_from_there_on() -> None:
    settings = replace(SETTINGS, static_configs=STANDARD, max_records_per_decision=2)
    lab = ControllerLab(settings)
    for name in "abc":
        create(lab, READ_T._replace(resource_name=name))

    results = delete(lab, deletion(name="a"), deletion(name="b"), deletion(name="c"))

    message = "Cannot remove more than 2 acls in a single delete operation."
    assert results[2] == ((ErrorCode.POLICY_VIOLATION, message), [])
    assert [acl.resource_name for acl in stored(lab)] == ["c"]


def test_entries_are_described_by_resource(lab: ControllerLab) -> None:
    write = READ_T._replace(operation=WRITE)
    prefixed = READ_T._replace(pattern_type=PREFIXED)
    create(lab, READ_T, prefixed, write, READ_T._replace(resource_type=GROUP))
    request = DescribeAclsRequest(
        resource_type_filter=TOPIC,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )

    answer = lab.decide(decide_describe_acls, request)

    described = {
        (each.resource_type, each.resource_name, each.pattern_type): [
            (acl.principal, acl.host, acl.operation, acl.permission_type) for acl in each.acls
        ]
        for each in answer.resources
    }
    assert described == {
        (TOPIC, "t", LITERAL): [("User:a", "*", READ, ALLOW), ("User:a", "*", WRITE, ALLOW)],
        (TOPIC, "t", PREFIXED): [("User:a", "*", READ, ALLOW)],
    }


def test_a_description_by_unknown_parts_is_refused(lab: ControllerLab) -> None:
    answer = lab.decide(decide_describe_acls, DescribeAclsRequest(resource_type_filter=99))

    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_without_an_authorizer_security_is_disabled() -> None:
    lab = ControllerLab()
    disabled = (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")

    assert create(lab, READ_T, READ_T) == [disabled, disabled]
    assert delete(lab, deletion()) == [(disabled, [])]
    answer = lab.decide(decide_describe_acls, DescribeAclsRequest(resource_type_filter=ANY))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.SECURITY_DISABLED,
        "No Authorizer is configured on the broker",
    )
    assert stored(lab) == []
