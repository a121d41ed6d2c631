"""`kafka-storage format`: from options and a node's properties to what is formatted, and how."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.storage.formatting import (
    FormatRefused,
    FormatResult,
    FormatSpec,
)
from barnabas.storage.scram_argument import parse_credential
from barnabas.storage.voter_argument import (
    InitialVoter,
    parse_initial_voters,
    standalone_voter,
    voter_set,
)
from barnabas_core.config.node_properties import NodeProperties
from barnabas_core.config.number import INT16_MAX, parse_whole
from barnabas_core.log.directories.directory import new_directory_id
from barnabas_core.metadata.bootstrap import bootstrap_metadata, effective_levels
from barnabas_core.metadata.feature import (
    FEATURES,
    KRAFT_VERSION,
    METADATA_VERSION,
    FeatureError,
    feature,
    level_of_name,
    name_of_level,
)
from barnabas_core.ports.rng import Rng
from barnabas_core.raft.voter import VoterSet


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """The command line. At most one of the three about controllers is given."""

    cluster_id: str
    is_standalone: bool = False
    initial_controllers: str | None = None
    no_initial_controllers: bool = False
    features: tuple[str, ...] = ()
    release_version: str | None = None
    scram: tuple[str, ...] = ()
    ignore_formatted: bool = False

    @property
    def names_voters(self) -> bool:
        return self.is_standalone or self.initial_controllers is not None


def node_directories(node: NodeProperties) -> tuple[str, ...]:
    return tuple(sorted({*node.log_dirs, node.metadata_log_dir}))


def format_spec(node: NodeProperties, options: FormatOptions, rng: Rng) -> FormatSpec:
    """`FormatRefused`, `FeatureError`, `BadVoter` or `BadCredential` if it cannot be."""
    voters = _voters(node, options, rng)
    unstable = node.flag("unstable.feature.versions.enable")
    wanted = parse_features(options.features)
    release = _release_level(options.release_version, wanted, unstable=unstable)
    wanted[KRAFT_VERSION] = _kraft_level(node, options, wanted.get(KRAFT_VERSION))
    levels = effective_levels(release, wanted, unstable=unstable)
    credentials = [parse_credential(text, rng) for text in options.scram]
    return FormatSpec(
        cluster_id=options.cluster_id,
        node_id=node.node_id,
        directories=node_directories(node),
        metadata_directory=node.metadata_log_dir,
        bootstrap=bootstrap_metadata(release, levels, credentials),
        voters=voters,
        ignore_formatted=options.ignore_formatted,
    )


def _voters(node: NodeProperties, options: FormatOptions, rng: Rng) -> VoterSet | None:
    if options.names_voters and node.quorum_voters:
        raise FormatRefused(
            "You cannot specify controller.quorum.voters and format the node with "
            "--initial-controllers or --standalone. If you want to use dynamic quorum, please "
            "remove controller.quorum.voters and specify controller.quorum.bootstrap.servers "
            "instead."
        )
    if options.is_standalone:
        if not node.is_controller:
            raise FormatRefused("You can only use --standalone on a controller.")
        return voter_set(node, [standalone_voter(node, new_directory_id(rng))])
    if options.initial_controllers is not None:
        voters: Iterable[InitialVoter] = parse_initial_voters(options.initial_controllers)
        return voter_set(node, voters)
    if node.is_controller and not node.quorum_voters and not options.no_initial_controllers:
        raise FormatRefused(
            "Because controller.quorum.voters is not set on this controller, you must specify one "
            "of the following: --standalone, --initial-controllers, or --no-initial-controllers."
        )
    return None


def parse_features(texts: Iterable[str]) -> dict[str, int]:
    """Levels of `feature=level`; the last one wins."""
    levels = {}
    for text in texts:
        name, separator, level = text.partition("=")
        refusal = f"Can't parse feature=level string {text}:"
        if not separator:
            raise FeatureError(f"{refusal} equals sign not found.")
        try:
            levels[name.strip()] = parse_whole(level.strip(), INT16_MAX)
        except ValueError:
            raise FeatureError(f"{refusal} unable to parse {level} as a short.") from None
    return levels


def _release_level(name: str | None, wanted: Mapping[str, int], *, unstable: bool) -> int:
    """The metadata version: as the release or the feature says, else the latest."""
    if METADATA_VERSION in wanted:
        if name is not None:
            raise FeatureError(
                f"Use --release-version instead of --feature {METADATA_VERSION}=X to avoid "
                "ambiguity."
            )
        return wanted[METADATA_VERSION]
    if name is None:
        return feature(METADATA_VERSION).maximum(unstable=unstable)
    return release_level(name, unstable=unstable)


def release_level(name: str, *, unstable: bool) -> int:
    """The level of a release that may be used; `FeatureError` lists those."""
    metadata_version = FEATURES[METADATA_VERSION]
    most = metadata_version.maximum(unstable=unstable)
    try:
        level = level_of_name(name)
    except FeatureError:
        level = most + 1
    if level > most:
        known = (name_of_level(one) for one in range(metadata_version.minimum, most + 1))
        raise FeatureError(
            f"Unknown {METADATA_VERSION} '{name}'. Supported {METADATA_VERSION} are: "
            f"{', '.join(known)}"
        )
    return level


def _kraft_level(node: NodeProperties, options: FormatOptions, wanted: int | None) -> int:
    """1 where the log names the voters, 0 where a property does (KIP-853)."""
    flags = "--standalone, --initial-controllers, or --no-initial-controllers"
    is_flagged = options.names_voters or options.no_initial_controllers
    is_dynamic = is_flagged and not node.quorum_voters
    if wanted is None:
        return 1 if is_dynamic else 0
    if wanted == 0 and is_dynamic:
        raise FormatRefused(
            f"Cannot set {KRAFT_VERSION} to 0 if controller.quorum.voters is empty and one of the "
            f"flags {flags} is used. Try removing the --feature flag for {KRAFT_VERSION}."
        )
    if wanted != 0 and not is_dynamic:
        raise FormatRefused(
            f"Cannot set {KRAFT_VERSION} to {wanted} unless controller.quorum.voters is empty and "
            f"one of the flags {flags} is used."
        )
    return wanted


def describe_format(spec: FormatSpec, result: FormatResult) -> list[str]:
    """What the tool prints about it."""
    lines = [
        f"I/O error trying to read log directory {one}. Ignoring..." for one in result.unreadable
    ]
    if not result.formatted:
        return [*lines, "All of the log directories are already formatted."]
    levels = ", ".join(f"{name}={level}" for name, level in spec.bootstrap.feature_levels.items())
    credential_count = len(spec.bootstrap.records) - len(spec.bootstrap.feature_levels)
    also = f", {credential_count} SCRAM credentials" if credential_count else ""
    lines.append(f"Bootstrap metadata: {levels}{also}")
    release = name_of_level(spec.bootstrap.metadata_level)
    lines += [
        f"Formatting {one.kind.value} directory {one.path} with {METADATA_VERSION} {release}."
        for one in result.formatted
    ]
    return lines
