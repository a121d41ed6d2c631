"""What a pod does before its node starts."""

import json
from pathlib import Path

import pytest

from barnabas import pod_setup
from barnabas.pod_setup import MissingFact, fill, format_arguments, main, without_unknown

TEMPLATE = "node.id=@NODE_ID@\nadvertised.listeners=A://@POD_NAME@.x:1\nbroker.rack=@RACK@\n"


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("NODE_ID", "7")
    monkeypatch.setenv("POD_NAME", "demo-main-7")
    monkeypatch.setattr(pod_setup, "_OPERATOR_SECONDS", 0.0)
    monkeypatch.setattr(pod_setup, "_GIVE_UP_SECONDS", 0.0)
    (tmp_path / "template").write_text(TEMPLATE)
    return [
        f"--template={tmp_path / 'template'}",
        f"--facts={tmp_path / 'facts'}",
        f"--output={tmp_path / 'run' / 'server.properties'}",
    ]


def _written(tmp_path: Path) -> str:
    return (tmp_path / "run" / "server.properties").read_text()


def test_every_name_is_filled_in_or_told() -> None:
    assert fill("a=@A@\nb=@B_1@", {"A": "1", "B_1": "2"}) == "a=1\nb=2"
    with pytest.raises(MissingFact, match="B"):
        fill("a=@A@\nb=@B@", {"A": "1"})


def test_an_address_of_mail_is_no_name() -> None:
    assert fill("a=me@example.com", {}) == "a=me@example.com"


def test_lines_that_nobody_can_fill_in_are_left_out() -> None:
    assert without_unknown("a=@A@\nb=@B@\nc=1\n", {"A": "1"}) == "a=@A@\nc=1\n"


def test_facts_of_the_operator_are_used_and_remembered(
    tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "facts").write_text(json.dumps({"RACK": "zone-a"}))

    status = main([*arguments, f"--remembered={tmp_path / 'disk' / 'facts.json'}"])

    assert status == 0
    assert _written(tmp_path) == (
        "node.id=7\nadvertised.listeners=A://demo-main-7.x:1\nbroker.rack=zone-a\n"
    )
    assert json.loads((tmp_path / "disk" / "facts.json").read_text()) == {"RACK": "zone-a"}


def test_without_an_operator_the_disk_says_where_it_was(
    tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "facts").write_text("")
    (tmp_path / "facts.json").write_text(json.dumps({"RACK": "zone-b"}))

    assert main([*arguments, f"--remembered={tmp_path / 'facts.json'}"]) == 0
    assert "broker.rack=zone-b\n" in _written(tmp_path)


def test_the_operator_is_believed_before_the_disk(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "facts").write_text(json.dumps({"RACK": "zone-c"}))
    (tmp_path / "facts.json").write_text(json.dumps({"RACK": "zone-b"}))

    assert main([*arguments, f"--remembered={tmp_path / 'facts.json'}"]) == 0
    assert "broker.rack=zone-c\n" in _written(tmp_path)
    assert "zone-c" in (tmp_path / "facts.json").read_text()


def test_a_disk_that_remembers_nothing_does_not_start_without_its_facts(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, f"--remembered={tmp_path / 'facts.json'}"]) == 1
    assert capsys.readouterr().err == "pod_setup: the operator did not say: RACK\n"
    assert not (tmp_path / "run").exists()


def test_a_pod_without_a_disk_starts_without_what_it_can_do_without(
    tmp_path: Path, arguments: list[str]
) -> None:
    assert main([*arguments, "--optional"]) == 0
    assert _written(tmp_path) == "node.id=7\nadvertised.listeners=A://demo-main-7.x:1\n"


def test_broken_facts_are_as_none(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "facts").write_text('{"RACK"')

    assert main(arguments) == 1


@pytest.mark.parametrize(
    ("voters", "node_id", "options"),
    [
        ("7@a:9093:x,8@b:9093:y\n", "7", ["--initial-controllers", "7@a:9093:x,8@b:9093:y"]),
        ("7@a:9093:x,8@b:9093:y", "9", ["--no-initial-controllers"]),
        ("77@a:9093:x", "7", ["--no-initial-controllers"]),
        ("", "7", ["--no-initial-controllers"]),
    ],
)
def test_only_the_first_controllers_start_a_quorum(
    voters: str, node_id: str, options: list[str]
) -> None:
    assert format_arguments(voters, node_id) == options


def test_options_for_the_format_are_written_one_per_line(
    tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "facts").write_text(json.dumps({"RACK": "a"}))
    (tmp_path / "voters").write_text("7@a:9093:x")

    main(
        [
            *arguments,
            f"--initial-controllers={tmp_path / 'voters'}",
            f"--format-arguments={tmp_path / 'options'}",
        ]
    )

    assert (tmp_path / "options").read_text() == "--initial-controllers\n7@a:9093:x\n"
