"""Every api that a controller decides: some of them are loaded when they are first asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas_controller import managers
from barnabas_controller.managers.registry import LATER, apis_of, decided_apis


@pytest.mark.parametrize("package", LATER)
def test_what_is_loaded_later_is_what_the_package_decides(package: str) -> None:
    apis = apis_of(package)

    assert tuple(apis) == LATER[package]
    assert not any(api.cluster_action for api in apis.values())


def test_whatever_a_package_decides_is_in_the_table() -> None:
    packages = [path.parent.name for path in Path(managers.__path__[0]).glob("*/apis.py")]
    all_of_them = [key for package in packages for key in apis_of(package)]

    assert len(packages) > len(LATER)
    assert sorted(decided_apis()) == sorted(all_of_them)


def test_what_administrators_ask_for_is_not_loaded_at_the_start() -> None:
    program = (
        "import sys, barnabas_controller.service\n"
        "from barnabas_controller.managers.registry import LATER\n"
        "late = [f'barnabas_controller.managers.{package}.apis' for package in LATER]\n"
        "assert not [name for name in late if name in sys.modules]"
    )

    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
