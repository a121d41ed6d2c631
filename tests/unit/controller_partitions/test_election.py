from barnabas_controller.managers.partitions.election import NOBODY, Elected, Election, elect
from barnabas_core.metadata.partition_image import NO_LEADER, RECOVERED, PartitionImage

PARTITION = PartitionImage(
    replicas=(1, 2, 3),
    directories=(bytes(16),) * 3,
    isr=(3, 2, 1),
    removing_replicas=(),
    adding_replicas=(),
    eligible_leader_replicas=(),
    last_known_elr=(),
    leader=2,
    leader_recovery_state=RECOVERED,
    leader_epoch=5,
    partition_epoch=8,
)


def elected(
    partition: PartitionImage, *alive: int, election: Election = Election.ONLINE, elr: bool = True
) -> Elected:
    return elect(partition, election, alive.__contains__, has_elr=elr)


def test_a_leader_that_can_lead_stays() -> None:
    assert elected(PARTITION, 1, 2, 3) == Elected(2)


def test_a_preferred_election_takes_the_first_replica_from_a_leader_that_could_stay() -> None:
    assert elected(PARTITION, 1, 2, 3, election=Election.PREFERRED) == Elected(1)


def test_a_preferred_election_leaves_the_leader_where_the_first_replica_is_not_in_sync() -> None:
    partition = PARTITION._replace(isr=(2, 3))

    assert elected(partition, 1, 2, 3, election=Election.PREFERRED) == Elected(2)


def test_the_order_of_the_replicas_decides_who_follows_a_dead_leader() -> None:
    assert elected(PARTITION._replace(replicas=(3, 1, 2)), 1, 3) == Elected(3)


def test_nobody_outside_the_isr_is_elected_online() -> None:
    assert elected(PARTITION._replace(isr=(2,)), 1, 3) == NOBODY


def test_an_unclean_election_still_prefers_the_isr() -> None:
    partition = PARTITION._replace(isr=(3,), leader=NO_LEADER)

    assert elected(partition, 1, 3, election=Election.UNCLEAN) == Elected(3)


def test_an_unclean_election_takes_the_first_live_replica() -> None:
    partition = PARTITION._replace(isr=(2,))

    answer = elected(partition, 1, 3, election=Election.UNCLEAN)

    assert answer == Elected(1, is_clean=False)


def test_an_eligible_replica_is_a_clean_leader_once_the_isr_is_empty() -> None:
    partition = PARTITION._replace(isr=(), leader=NO_LEADER, eligible_leader_replicas=(3,))

    assert elected(partition, 1, 3) == Elected(3)


def test_an_eligible_replica_waits_while_somebody_is_in_the_isr() -> None:
    partition = PARTITION._replace(isr=(2,), eligible_leader_replicas=(3,))

    assert elected(partition, 3) == NOBODY


def test_the_last_known_leader_leads_again_when_nobody_else_is_eligible() -> None:
    partition = PARTITION._replace(isr=(), leader=NO_LEADER, last_known_elr=(2,))

    assert elected(partition, 1, 2) == Elected(2, is_clean=False)
    assert elected(partition, 1) == NOBODY
    assert elected(partition, 1, 2, elr=False) == NOBODY


def test_the_last_known_leader_waits_for_those_that_are_eligible() -> None:
    partition = PARTITION._replace(
        isr=(), leader=NO_LEADER, eligible_leader_replicas=(3,), last_known_elr=(2,)
    )

    assert elected(partition, 1, 2) == NOBODY


def test_several_last_known_members_do_not_say_who_led() -> None:
    partition = PARTITION._replace(isr=(), leader=NO_LEADER, last_known_elr=(2, 3))

    assert elected(partition, 2, 3) == NOBODY


def test_a_last_known_leader_that_is_no_replica_any_more_is_not_elected() -> None:
    partition = PARTITION._replace(isr=(), leader=NO_LEADER, last_known_elr=(4,))

    assert elected(partition, 4) == NOBODY
