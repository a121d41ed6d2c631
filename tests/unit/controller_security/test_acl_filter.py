"""Which entries a filter means: the answers of Kafka 4.3.1 for the same entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas_core.metadata.acl_filter import ANY, LITERAL, MATCH, PREFIXED, AclFilter
from barnabas_core.metadata.keyed_image import Acl

TOPIC, GROUP = 2, 3
READ, ALLOW, DENY = 3, 3, 2

ACLS = {
    "t": Acl(TOPIC, "t", LITERAL, "User:a", "*", READ, ALLOW),
    "t*": Acl(TOPIC, "t", PREFIXED, "User:a", "*", READ, ALLOW),
    "te*": Acl(TOPIC, "te", PREFIXED, "User:b", "h", READ, DENY),
    "all": Acl(TOPIC, "*", LITERAL, "User:*", "*", 2, ALLOW),
    "star*": Acl(TOPIC, "*", PREFIXED, "User:*", "*", READ, ALLOW),
    "group": Acl(GROUP, "t", LITERAL, "User:a", "*", READ, ALLOW),
}


@pytest.mark.parametrize(
    ("wanted", "matching"),
    [
        (AclFilter(), ["t", "t*", "te*", "all", "star*", "group"]),
        (AclFilter(TOPIC, "t", LITERAL), ["t"]),
        (AclFilter(TOPIC, "t", PREFIXED), ["t*"]),
        (AclFilter(TOPIC, "t", ANY), ["t", "t*"]),
        (AclFilter(TOPIC, "tea", MATCH), ["t*", "te*", "all"]),
        (AclFilter(TOPIC, "t", MATCH), ["t", "t*", "all"]),
        (AclFilter(TOPIC, "*", LITERAL), ["all"]),
        (AclFilter(TOPIC, "*", MATCH), ["all", "star*"]),
        (AclFilter(TOPIC, None, MATCH), ["t", "t*", "te*", "all", "star*"]),
        (AclFilter(ANY, "t", LITERAL), ["t", "group"]),
        (AclFilter(principal="User:b"), ["te*"]),
        (AclFilter(host="h"), ["te*"]),
        (AclFilter(operation=2), ["all"]),
        (AclFilter(permission_type=DENY), ["te*"]),
        (AclFilter(ANY, "", ANY), []),
    ],
)
def test_a_filter_matches(wanted: AclFilter, matching: list[str]) -> None:
    assert [name for name, acl in ACLS.items() if wanted.matches(acl)] == matching


@pytest.mark.parametrize("unknown", [0, 100])
def test_unknown_parts_are_a_fault(unknown: int) -> None:
    assert AclFilter().fault() is None
    assert AclFilter(resource_type=unknown).fault() == "Unknown patternFilter."
    assert AclFilter(pattern_type=unknown).fault() == "Unknown patternFilter."
    assert AclFilter(operation=unknown).fault() == "Unknown entryFilter."
    assert AclFilter(permission_type=unknown).fault() == "Unknown entryFilter."


names = st.text("ab*", min_size=1, max_size=4)


@given(
    acl=st.builds(
        Acl,
        st.integers(2, 7),
        names,
        st.sampled_from([LITERAL, PREFIXED]),
        st.just("User:a"),
        st.just("*"),
        st.integers(2, 15),
        st.integers(2, 3),
    )
)
def test_an_entry_matches_the_filter_that_spells_it_out_and_no_other_name(acl: Acl) -> None:
    exact = AclFilter(*acl)

    assert exact.matches(acl)
    assert not exact.matches(acl._replace(resource_name=acl.resource_name + "x"))
    assert exact._replace(pattern_type=MATCH).matches(acl)
