"""The uniform assignor: loads differ by at most one where they can, and partitions stay put.

First every member keeps what it had, as far as that still exists and is still subscribed to. Where
all subscribe to the same topics (by far the most common) each has a fair share, gives up what is
above it and gets what is missing: no assignment as balanced moves fewer partitions. Otherwise what
is left over goes to those with the least, and then one partition at a time is moved, until no move
from one member to another makes the two more equal.
"""

from heapq import heapify, heappop, heappush, heapreplace

from barnabas_coordinator.group.consumer.assignor_view import (
    Assignment,
    GroupView,
    stable_order,
)
from barnabas_coordinator.group.consumer.member import partitions_of


def assign_uniform(view: GroupView) -> Assignment:
    draft = _Draft(view)
    if len({one.topics for one in view.subscribers.values()}) == 1:
        draft.share_equally()
    else:
        draft.deal_out()
        draft.even_out()
    return {member_id: partitions_of(held.items()) for member_id, held in draft.held.items()}


class _Draft:
    def __init__(self, view: GroupView) -> None:
        self.held: dict[str, dict[bytes, list[int]]] = {}
        """Numbers of partitions by member and topic."""
        self._load: dict[str, int] = {}
        self._order = stable_order(view.subscribers)
        self._members_of: dict[bytes, list[str]] = {}
        taken: dict[bytes, set[int]] = {}
        for member_id in self._order:
            subscriber = view.subscribers[member_id]
            for topic_id in subscriber.topics:
                self._members_of.setdefault(topic_id, []).append(member_id)
            self.held[member_id] = {}
            self._load[member_id] = 0
            for topic_id in sorted(subscriber.current.keys() & subscriber.topics):
                others = taken.setdefault(topic_id, set())
                valid = range(view.partition_counts[topic_id])
                kept = [n for n in sorted(subscriber.current[topic_id] - others) if n in valid]
                others.update(kept)
                self.held[member_id][topic_id] = kept
                self._load[member_id] += len(kept)
        self._free = {
            topic_id: [n for n in range(view.partition_counts[topic_id]) if n not in gone]
            for topic_id in sorted(self._members_of)
            for gone in (taken.get(topic_id, ()),)
        }

    def share_equally(self) -> None:
        total = sum(self._load.values()) + sum(map(len, self._free.values()))
        quota, extra = divmod(total, len(self._order))
        shares: dict[str, int] = {}
        # One more than the others: rather those who have that many already.
        for member_id in sorted(self._order, key=lambda each: self._load[each] <= quota):
            shares[member_id] = quota + (extra > 0)
            extra -= extra > 0
        for member_id in self._order:
            self._give_up(member_id, self._load[member_id] - shares[member_id])
        left = iter([(topic_id, n) for topic_id, some in self._free.items() for n in some])
        for member_id in self._order:
            for _ in range(shares[member_id] - self._load[member_id]):
                self._give(member_id, *next(left))

    def deal_out(self) -> None:
        """Each to the subscriber with the least; topics with the fewest subscribers first."""
        for topic_id in sorted(self._free, key=lambda each: (len(self._members_of[each]), each)):
            members = self._members_of[topic_id]
            heap = [(self._load[each], place) for place, each in enumerate(members)]
            heapify(heap)
            for number in self._free[topic_id]:
                load, place = heap[0]
                self._give(members[place], topic_id, number)
                heapreplace(heap, (load + 1, place))

    def even_out(self) -> None:
        """Every move makes the sum of the squares of loads smaller: it ends."""
        topics = sorted(self._members_of)
        while sum(self._even_out_topic(topic_id) for topic_id in topics):
            pass

    def _even_out_topic(self, topic_id: bytes) -> bool:
        members = self._members_of[topic_id]
        takers = [(self._load[each], place) for place, each in enumerate(members)]
        givers = [
            (-load, place) for load, place in takers if self.held[members[place]].get(topic_id)
        ]
        heapify(takers)
        heapify(givers)
        has_moved = False
        # Who gave stays in `takers` with too much, who took in `givers` with too little: no move is
        # wrong for it, and one that is left out comes in the next round.
        while givers and -givers[0][0] - takers[0][0] > 1:
            load, giver = heappop(givers)
            taker = takers[0][1]
            number = self.held[members[giver]][topic_id].pop()
            self._load[members[giver]] -= 1
            self._give(members[taker], topic_id, number)
            heapreplace(takers, (self._load[members[taker]], taker))
            if self.held[members[giver]][topic_id]:
                heappush(givers, (load + 1, giver))
            has_moved = True
        return has_moved

    def _give(self, member_id: str, topic_id: bytes, number: int) -> None:
        self.held[member_id].setdefault(topic_id, []).append(number)
        self._load[member_id] += 1

    def _give_up(self, member_id: str, count: int) -> None:
        """The last ones of its topics by turns, so that it keeps some of each."""
        held = self.held[member_id]
        while count > 0:
            for topic_id in [each for each, numbers in held.items() if numbers][-count:]:
                self._free[topic_id].append(held[topic_id].pop())
                self._load[member_id] -= 1
                count -= 1
