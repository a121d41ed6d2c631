"""Plays a scripted conversation: commands, each with what the nodes then say and do.

A script is a list of blocks, a command, `----`, the expected lines, an empty line between blocks:

    cluster voters=1,2,3         options: spares=4 observers=5 dynamic auto-join small-fetches
    stand 1                      its clock runs until it stands for election
    deliver                      all messages, until nobody has anything to say
    deliver 3                    the next three
    drop 1 2                     what is under way from 1 to 2 is lost (`*` for any)
    cut 3 / join 3               no message gets to or from node 3 / they do again
    append 1 a                   a record at node 1
    pass 500                     half a second for everyone
    run 500                      the same, delivering as they go; idle fetches are not shown
    hold 2 / sync 2              node 2's disk stops syncing / catches up
    crash 2 / start 2            the machine dies, unsynced writes with it / comes back
    replace 2 9                  node 2 gets an empty disk, directory 9
    snapshot 1                   node 1 snapshots what is committed and drops the log before it
    add-voter 1 4 / remove-voter 1 2 [disk] / upgrade 1     an administrator asks node 1
    resign 1
    status
"""

from typing import TYPE_CHECKING

from barnabas_core.raft import RaftConfig, Resign
from barnabas_core.raft.message import AddVoterRequest, RemoveVoterRequest, UpgradeVersionRequest
from tests.support.raft_lab import Lab, key
from tests.support.raft_transcript import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_MS = 5_000


def _is_idle(line: str) -> bool:
    return " Fetch epoch" in line or " FetchResponse " in line


class Conversation:
    def __init__(self) -> None:
        self._lab: Lab | None = None
        self._lines: list[str] = []
        self._correlation = 0
        self._commands: dict[str, Callable[..., None]] = {
            "cluster": self._cluster,
            "stand": lambda node: self.lab.stand(int(node)),
            "deliver": self._deliver,
            "drop": self._drop,
            "cut": lambda node: self.lab.cut(int(node)),
            "join": lambda node: self.lab.join(int(node)),
            "append": lambda node, text: self._show(self.lab.append(int(node), text)),
            "pass": lambda duration: self.lab.pass_ms(int(duration)),
            "run": self._run,
            "hold": lambda node: self.lab.hold_disk(int(node)),
            "sync": lambda node: self.lab.sync(int(node)),
            "crash": lambda node: self.lab.crash(int(node)),
            "start": lambda node: self.lab.start(int(node)),
            "replace": lambda node, disk: self.lab.replace_disk(int(node), int(disk)),
            "snapshot": lambda node: self._show(self.lab.take_snapshot(int(node))),
            "add-voter": self._add_voter,
            "remove-voter": self._remove_voter,
            "upgrade": self._upgrade,
            "resign": self._resign,
            "status": self._status,
        }

    @property
    def lab(self) -> Lab:
        assert self._lab is not None, "a script starts with `cluster`"
        return self._lab

    def play(self, script: str) -> str:
        """The script with what really happened below each command."""
        blocks = []
        for block in script.strip().split("\n\n"):
            head = block.partition("----")[0].rstrip("\n")
            command = [line for line in head.splitlines() if not line.startswith("#")]
            if not command:
                blocks.append(head)
                continue
            self._lines = []
            for line in command:
                name, *arguments = line.split()
                self._commands[name](*arguments)
            blocks.append("\n".join([head, "----", *(self._lines or ["nothing"])]))
        return "\n\n".join(blocks) + "\n"

    def _show(self, _: object) -> None:
        """The lines that the nodes told say it all."""

    def _cluster(self, *options: str) -> None:
        flags = {option for option in options if "=" not in option}
        named = dict(option.split("=") for option in options if "=" in option)
        ids = {name: [int(one) for one in value.split(",")] for name, value in named.items()}
        config = RaftConfig(
            auto_join="auto-join" in flags,
            fetch_max_bytes=1 if "small-fetches" in flags else 1000,
            snapshot_max_bytes=6,
        )
        self._lab = Lab(
            ids["voters"],
            spares=ids.get("spares", ()),
            observers=ids.get("observers", ()),
            dynamic="dynamic" in flags,
            config=config,
        )
        self._lab.drop()
        self._lab.tell = self._lines_append

    def _lines_append(self, line: str) -> None:
        self._lines.append(line)

    def _deliver(self, count: str | None = None) -> None:
        if count is None:
            self.lab.deliver()
            return
        for _ in range(int(count)):
            assert self.lab.deliver_one(), "there is nothing to deliver"

    def _run(self, duration: str) -> None:
        self.lab.run(int(duration))
        self._lines = [line for line in self._lines if not _is_idle(line)]
        self.lab.tell = self._lines_append

    def _drop(self, source: str, target: str) -> None:
        ends = [None if one == "*" else int(one) for one in (source, target)]
        for message in self.lab.drop(*ends):
            self._lines.append(
                f"lost: {message.source} -> {message.target} {text_of(message.body)}"
            )

    def _next(self) -> int:
        self._correlation += 1
        return self._correlation

    def _add_voter(self, leader: str, node: str, disk: str = "1") -> None:
        voter = key(int(node), int(disk))
        self.lab.ask(int(leader), AddVoterRequest(self._next(), voter, (), TIMEOUT_MS))

    def _remove_voter(self, leader: str, node: str, disk: str = "1") -> None:
        voter = key(int(node), int(disk))
        self.lab.ask(int(leader), RemoveVoterRequest(self._next(), voter, TIMEOUT_MS))

    def _upgrade(self, leader: str) -> None:
        self.lab.ask(int(leader), UpgradeVersionRequest(self._next(), 1, TIMEOUT_MS))

    def _resign(self, node: str) -> None:
        self.lab[int(node)].step(Resign(self.lab[int(node)].quorum.epoch))
        self.lab.pump(int(node))

    def _status(self) -> None:
        for node_id, bench in self.lab.benches.items():
            if bench.node is None:
                self._lines.append(f"{node_id} is down")
                continue
            quorum = bench.node.quorum
            log = self.lab.log(node_id)
            voters = ",".join(str(one) for one in quorum.history.voters.ids)
            self._lines.append(
                f"{node_id} is {quorum.state.name}, epoch {quorum.epoch}, log "
                f"{log.start_offset}-{log.end_offset}@{log.last_epoch}, "
                f"committed {quorum.high_watermark}, voters {voters or 'unknown'}"
            )
