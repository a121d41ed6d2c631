"""Where two queries over the same topics begin, when they begin at their end.

Dead letters are a query of their own. Each would ask for the latest offsets by itself, and a bad
record that came between the two questions would be neither a row nor a letter. So the ends are
asked for once, and kept with the checkpoint for a first run that is killed between its queries.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

from barnabas_pipeline.files import Files
from barnabas_pipeline.spec.model import PipelineSpec, SourceSpec, StartingOffsets
from barnabas_pipeline.topics import Topics

Offsets = Mapping[str, Mapping[str, int]]
_EARLIEST = -2


def shared_start(spec: PipelineSpec, files: Files, topics: Topics) -> SourceSpec:
    """The source as it is, unless it begins at the latest and has dead letters."""
    if spec.bad_records.action != "topic" or spec.source.starting_offsets.word != "latest":
        return spec.source
    path = f"{spec.checkpoint}/barnabas/start.json"
    ends = topics.ends()
    text = files.read_text(path)
    if text is None:
        files.write_text(path, json.dumps(ends, indent=1, sort_keys=True))
    kept = ends if text is None else json.loads(text)
    return replace(spec.source, starting_offsets=StartingOffsets(offsets=_complete(kept, ends)))


def _complete(kept: Offsets, now: Offsets) -> dict[str, dict[str, int]]:
    """Of every partition there is now; what was added since is read from its beginning."""
    return {
        topic: {each: kept.get(topic, {}).get(each, _EARLIEST) for each in partitions}
        for topic, partitions in now.items()
    }
