"""The objects of the samples, whole: `BARNABAS_GOLDEN=write make unit` writes them anew.

A change of these files is a change of what runs in people's clusters: read the difference.
"""

import os
from pathlib import Path

import pytest

from barnabas_operator.manifest_text import to_yaml_documents
from barnabas_operator.specs.cluster_objects import cluster_objects
from tests.support.blueprints import sample_blueprint

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["smallest", "development", "production"])
def test_the_objects_of_a_sample_are_those_that_were_read(name: str) -> None:
    path = GOLDEN / f"{name}.yaml"
    text = to_yaml_documents(cluster_objects(sample_blueprint(name)))

    if os.environ.get("BARNABAS_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == text
