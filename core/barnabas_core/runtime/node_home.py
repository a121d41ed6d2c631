"""What a node's process has to get before any of its roles: its properties and its directories.

The locks come first, before anything in a directory is read: a second process on the same
directories ends with one line. Both roles of a combined node then stand on the same disk.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from barnabas_core.config.error import ConfigError
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.server_properties import load_server_properties
from barnabas_core.log.directories.directory_meta import MetaProperties
from barnabas_core.log.directories.formatted import open_directories
from barnabas_core.log.error import LogError
from barnabas_core.ports import DiskError, Locked
from barnabas_core.runtime.clock import SystemClock
from barnabas_core.runtime.disk import RealDisk
from barnabas_core.runtime.log_setup import EventLog
from barnabas_core.runtime.node_disk import NodeDisk
from barnabas_core.runtime.process import CannotStart
from barnabas_core.runtime.rng import SystemRng


def load_node(name: str, path: str, log: EventLog) -> NodeProperties | None:
    """None if they are wrong, of which `name` has complained on standard error."""
    try:
        properties = load_server_properties(path, os.environ, RealDisk().read, to_serve=True)
    except (ConfigError, DiskError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None
    for warning in properties.warnings:
        log.warning(warning)
    return properties


@dataclass(frozen=True, slots=True)
class NodeHome:
    disk: NodeDisk
    cluster_id: str
    metas: Mapping[str, MetaProperties]
    """Of the directories that can be used, by path."""

    def meta(self, directory: str) -> MetaProperties:
        """`CannotStart` if it is not one of them."""
        if directory not in self.metas:
            raise CannotStart(f"the metadata directory {directory} cannot be used")
        return self.metas[directory]


@contextmanager
def node_home(properties: NodeProperties, log: EventLog) -> Iterator[NodeHome]:
    """The directories of the node, taken for as long; `CannotStart` if they cannot be."""
    disk = NodeDisk()
    directories = dict.fromkeys(properties.log_dirs)
    if properties.is_controller:
        directories[properties.metadata_log_dir] = None
    try:
        for directory in directories:
            _hold(disk, directory)
        yield _look(disk, properties, list(directories), log)
    finally:
        disk.release()


def _hold(disk: NodeDisk, directory: str) -> None:
    try:
        if disk.size_of(directory) is not None:
            disk.hold(directory)
    except Locked as error:
        raise CannotStart(f"{error}; one process uses a log directory at a time") from error
    except DiskError:
        return  # it will be found to be of no use


def _look(
    disk: NodeDisk, properties: NodeProperties, directories: list[str], log: EventLog
) -> NodeHome:
    try:
        found = open_directories(disk, SystemRng(), SystemClock(), directories, properties.node_id)
    except (LogError, DiskError) as error:
        raise CannotStart(str(error)) from error
    for reason in found.problems.values():
        log.error("log directory cannot be used", reason=reason)
    return NodeHome(disk, found.cluster_id, found.metas)
