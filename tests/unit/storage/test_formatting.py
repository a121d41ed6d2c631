"""Formatting: what is written where, what is left alone, and what a crash leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.formatting import (
    DirectoryKind,
    FormatRefused,
    FormatSpec,
    format_directories,
)
from barnabas.storage.info import describe_storage
from barnabas.storage.state import Condition, Mismatch, storage_state
from barnabas_core.log.directories.directory_meta import MetaProperties
from barnabas_core.metadata.bootstrap import (
    BOOTSTRAP_FILE,
    FIRST_CHECKPOINT,
    bootstrap_metadata,
    effective_levels,
    load_bootstrap,
)
from barnabas_core.raft.checkpoint_file import read_checkpoint
from barnabas_core.raft.identity import Endpoint, NodeId, ReplicaKey
from barnabas_core.raft.voter import Voter, VoterSet
from barnabas_core.runtime.rng import SeededRng
from tests.support.fake_disk import Crash, FakeDisk
from tests.support.manual_clock import ManualClock

META, DATA = "/disk/meta", "/disk/data"
BOOTSTRAP = bootstrap_metadata(30, effective_levels(30, {}))
VOTER_ID = b"0123456789abcdef"
VOTERS = VoterSet.of([Voter(ReplicaKey(NodeId(1), VOTER_ID), (Endpoint("CONTROLLER", "h", 9093),))])


def spec(
    *, voters: VoterSet | None = None, node_id: int = 1, ignore_formatted: bool = False
) -> FormatSpec:
    return FormatSpec("cluster", node_id, (DATA, META), META, BOOTSTRAP, voters, ignore_formatted)


def run(disk: FakeDisk, wanted: FormatSpec, seed: int = 0) -> list[tuple[str, DirectoryKind]]:
    result = format_directories(disk, SeededRng(seed), ManualClock(), wanted)
    return [(one.path, one.kind) for one in result.formatted]


def meta_of(disk: FakeDisk, path: str) -> MetaProperties:
    data = disk.read(f"{path}/meta.properties")
    assert data is not None
    return MetaProperties.decode(data)


def files(disk: FakeDisk, path: str) -> list[str]:
    names = []
    for name, size in disk.list_dir(path):
        names += [name] if size >= 0 else [f"{name}/{one}" for one in files(disk, f"{path}/{name}")]
    return names


def test_every_directory_gets_an_id_and_the_bootstrap_metadata() -> None:
    disk = FakeDisk()

    formatted = run(disk, spec())

    assert formatted == [(DATA, DirectoryKind.DATA), (META, DirectoryKind.METADATA)]
    for path in (DATA, META):
        assert files(disk, path) == [BOOTSTRAP_FILE, "meta.properties"]
        assert load_bootstrap(disk, path) == BOOTSTRAP
    data, meta = meta_of(disk, DATA), meta_of(disk, META)
    assert (data.cluster_id, data.node_id) == ("cluster", 1)
    assert data.directory_id != meta.directory_id


def test_the_first_voters_are_in_the_first_snapshot() -> None:
    disk = FakeDisk()

    formatted = run(disk, spec(voters=VOTERS))

    assert formatted[1] == (META, DirectoryKind.DYNAMIC_METADATA_VOTER)
    content = read_checkpoint(disk.read(f"{META}/{FIRST_CHECKPOINT}") or b"")
    assert (content.kraft_version, content.voters, content.batches) == (1, VOTERS, [])
    assert meta_of(disk, META).directory_id == VOTER_ID
    assert meta_of(disk, DATA).directory_id != VOTER_ID
    assert FIRST_CHECKPOINT not in files(disk, DATA)


def test_a_node_that_is_no_voter_knows_the_voters_but_has_an_id_of_its_own() -> None:
    disk = FakeDisk()

    formatted = run(disk, spec(voters=VOTERS, node_id=2))

    assert formatted[1] == (META, DirectoryKind.DYNAMIC_METADATA)
    assert FIRST_CHECKPOINT in files(disk, META)
    assert meta_of(disk, META).directory_id != VOTER_ID


class RepeatingRng:
    """Draws everything twice."""

    def __init__(self) -> None:
        self.drawn = 0

    def randrange(self, stop: int) -> int:
        return 0

    def randbytes(self, size: int) -> bytes:
        self.drawn += 1
        return bytes([(self.drawn + 1) // 2] * size)


def test_no_two_directories_have_one_id() -> None:
    disk = FakeDisk()

    format_directories(disk, RepeatingRng(), ManualClock(), spec())

    assert meta_of(disk, DATA).directory_id != meta_of(disk, META).directory_id


def test_a_formatted_directory_is_not_formatted_again() -> None:
    disk = FakeDisk()
    run(disk, spec())
    before = {path: disk.read(f"{path}/meta.properties") for path in (DATA, META)}

    with pytest.raises(FormatRefused, match="/disk/data is already formatted"):
        run(disk, spec(), seed=1)

    assert run(disk, spec(ignore_formatted=True), seed=1) == []
    assert {path: disk.read(f"{path}/meta.properties") for path in (DATA, META)} == before


def test_a_new_directory_is_formatted_beside_the_others() -> None:
    disk = FakeDisk()
    run(disk, spec())
    disk.remove_tree(DATA)

    with pytest.raises(FormatRefused, match="already formatted"):
        run(disk, spec())
    assert storage_state(disk, [DATA]).directories[0].condition is Condition.ABSENT

    assert run(disk, spec(ignore_formatted=True), seed=1) == [(DATA, DirectoryKind.DATA)]
    assert meta_of(disk, DATA).directory_id != meta_of(disk, META).directory_id


@pytest.mark.parametrize("ignore_formatted", [False, True])
def test_another_clusters_or_nodes_directory_is_never_touched(ignore_formatted: bool) -> None:
    disk = FakeDisk()
    run(disk, FormatSpec("other", 1, (META,), META, BOOTSTRAP))

    with pytest.raises(Mismatch, match="Expected cluster, but read other"):
        run(disk, spec(ignore_formatted=ignore_formatted))
    other_node = FormatSpec("other", 2, (META, DATA), META, BOOTSTRAP, None, ignore_formatted)
    with pytest.raises(Mismatch, match="Stored node id 1 doesn't match the node id 2"):
        run(disk, other_node)

    assert storage_state(disk, [DATA]).directories[0].condition is Condition.ABSENT


def test_directories_that_were_copied_are_noticed() -> None:
    disk = FakeDisk()
    run(disk, FormatSpec("cluster", 1, (META,), META, BOOTSTRAP))
    disk.make_dirs(DATA)
    disk.replace(f"{DATA}/meta.properties", disk.read(f"{META}/meta.properties") or b"")

    with pytest.raises(Mismatch, match="Duplicate directory ID"):
        run(disk, spec(ignore_formatted=True))


def test_a_directory_that_cannot_be_read_is_left_out_unless_it_is_the_only_one() -> None:
    disk = FakeDisk()
    disk.make_dirs(DATA)
    disk.replace(f"{DATA}/meta.properties", b"version=1")

    assert run(disk, spec()) == [(META, DirectoryKind.METADATA)]
    with pytest.raises(FormatRefused, match="No available log directories"):
        run(disk, FormatSpec("cluster", 1, (DATA,), DATA, BOOTSTRAP))
    assert disk.read(f"{DATA}/meta.properties") == b"version=1"


def test_the_metadata_directory_is_one_of_the_directories() -> None:
    with pytest.raises(FormatRefused, match="was not one of the given directories"):
        run(FakeDisk(), FormatSpec("cluster", 1, (DATA,), META, BOOTSTRAP))


def test_a_metadata_log_keeps_its_voters_even_if_meta_properties_was_lost() -> None:
    disk = FakeDisk()
    run(disk, spec(voters=VOTERS))
    disk.replace(f"{META}/__cluster_metadata-0/{0:020d}.log", b"records")
    disk.remove(f"{META}/meta.properties")
    disk.remove(f"{DATA}/meta.properties")

    with pytest.raises(FormatRefused, match="holds a metadata log"):
        run(disk, spec(voters=VOTERS))
    run(disk, spec())

    assert FIRST_CHECKPOINT in files(disk, META)


def test_voters_of_a_format_that_was_cut_short_do_not_stay() -> None:
    disk = FakeDisk()
    run(disk, spec(voters=VOTERS))
    disk.remove(f"{META}/meta.properties")
    disk.remove(f"{DATA}/meta.properties")

    run(disk, spec())

    assert FIRST_CHECKPOINT not in files(disk, META)


def operation_count() -> int:
    disk = FakeDisk()
    run(disk, spec(voters=VOTERS))
    return disk.operation_count


OPERATIONS = operation_count()


@given(crash_at=st.integers(1, OPERATIONS), seed=st.integers(0, 2**32), machine=st.booleans())
def test_a_crash_leaves_a_directory_whole_or_unformatted(
    crash_at: int, seed: int, machine: bool
) -> None:
    disk = FakeDisk(seed)
    disk.crash_after(crash_at)
    with pytest.raises(Crash):
        run(disk, spec(voters=VOTERS))
    if machine:
        disk.crash_machine()
    else:
        disk.crash_process()

    for one in storage_state(disk, (DATA, META)).formatted:
        assert load_bootstrap(disk, one.path) == BOOTSTRAP
    run(disk, spec(voters=VOTERS, ignore_formatted=True), seed=1)
    assert_formatted(disk)


@given(seed=st.integers(0, 2**32))
def test_what_was_formatted_survives_the_machine(seed: int) -> None:
    disk = FakeDisk(seed)
    run(disk, spec(voters=VOTERS))

    disk.crash_machine()

    assert_formatted(disk)


def assert_formatted(disk: FakeDisk) -> None:
    state = storage_state(disk, (DATA, META))
    state.check("cluster", 1)
    assert len(state.formatted) == 2
    assert describe_storage(state)[1] == 0
    assert load_bootstrap(disk, META) == BOOTSTRAP
    assert read_checkpoint(disk.read(f"{META}/{FIRST_CHECKPOINT}") or b"").voters == VOTERS
    assert meta_of(disk, META).directory_id == VOTER_ID
