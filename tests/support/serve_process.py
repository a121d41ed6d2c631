"""A node as `barnabas serve FILE` runs it, whatever its `process.roles` says."""

import re
from pathlib import Path

from barnabas_core.log.directories.directory_meta import CLEAN_SHUTDOWN_FILE
from tests.support.barnabas_process import PROGRAM
from tests.support.controller_process import (
    CLUSTER_ID,
    DEADLINE_S,
    HOST,
    free_controller_port,
    run_storage,
    until,
)
from tests.support.node_process import NodeProcess


class ServedNode(NodeProcess):
    """`port` is for clients, `controller_port` for controllers; links are 1000 above that."""

    def __init__(self, directory: Path, node_id: int = 1) -> None:
        super().__init__(directory, f"node {node_id}")
        self.id = node_id
        self.port = free_controller_port()
        self.controller_port = free_controller_port()
        self.data = self.directory / "data"

    @property
    def server(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def clean_shutdown(self) -> str | None:
        path = self.data / CLEAN_SHUTDOWN_FILE
        return path.read_text() if path.exists() else None

    def command(self) -> list[str]:
        return [str(PROGRAM), "serve", str(self.properties)]

    def configure(self, text: str) -> None:
        self.properties.write_text(text)

    def format(self, *arguments: str) -> None:
        run_storage("format", "-t", CLUSTER_ID, "-c", str(self.properties), *arguments)

    def wait_said(self, words: str, deadline_s: float = DEADLINE_S) -> None:
        """A line of its present run begins with them."""

        def has_said() -> bool:
            assert self.is_running, f"{self.name} ended:\n{self.output()}"
            assert self.child is not None
            return re.search(rf"\] {words}\b", self.child.output()) is not None

        until(has_said, f"{self.name} says: {words}", deadline_s)

    def wait_started(self) -> None:
        self.wait_said("started")

    def restart(self) -> None:
        self.start()
        self.wait_started()

    def complaint(self) -> str:
        """The one line that it ends with, instead of starting; warnings may come before it."""
        self.start()
        assert self.wait_ended() == 1
        assert self.child is not None
        lines = self.child.output().splitlines()
        (line,) = [line for line in lines if "[warning" not in line]
        return line
