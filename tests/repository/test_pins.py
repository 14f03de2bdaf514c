"""environment.yml, pyproject.toml and constraints.txt name the same packages and the same versions."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMED_BY_THE_COURSE = {"torch", "numpy", "numba", "jupyterlab", "matplotlib", "nbval", "ipywidgets"}


def pins(text):
    found = re.findall(r"^[\s-]*([\w.-]+)==([\w.]+)$", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


CONSTRAINTS = pins((ROOT / "constraints.txt").read_text())
ENVIRONMENT = (ROOT / "environment.yml").read_text()


def requirements():
    extras = PROJECT["optional-dependencies"]
    lines = PROJECT["dependencies"] + [line for extra in extras.values() for line in extra]
    return [Requirement(line) for line in lines]


def test_every_constraint_is_an_exact_pin():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) == len(CONSTRAINTS)


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_each_dependency_is_pinned_to_a_version_it_admits(requirement):
    pinned = CONSTRAINTS.get(canonicalize_name(requirement.name))
    assert pinned is not None, f"{requirement.name} has no pin in constraints.txt"
    assert requirement.specifier.contains(pinned)


def test_conda_users_get_the_same_pins():
    listed = pins(ENVIRONMENT)
    assert set(listed) == NAMED_BY_THE_COURSE
    assert listed == {name: CONSTRAINTS[name] for name in listed}
    assert "--constraint constraints.txt" in ENVIRONMENT
    assert "--editable .[lab,test]" in ENVIRONMENT
    assert "cxx-compiler" in ENVIRONMENT and "make" in ENVIRONMENT


def test_conda_offers_only_pythons_that_the_project_admits():
    python = re.search(r"- python(.*)", ENVIRONMENT).group(1).split(",")[0]
    assert python == PROJECT["requires-python"]


def test_the_supported_versions_of_torch_hold_the_pin():
    torch = next(r for r in requirements() if r.name == "torch")
    for version in ("2.11.0", "2.12.1", "2.13.0", "2.14.1"):
        assert torch.specifier.contains(version)
    assert not torch.specifier.contains("2.10.2") and not torch.specifier.contains("2.15.0")
    assert CONSTRAINTS["torch"] == "2.13.0"


def test_numba_cuda_stays_with_a_numpy_it_works_with():
    numpy = next(r for r in requirements() if r.name == "numpy")
    assert not numpy.specifier.contains("2.5.0")
    assert CONSTRAINTS["numba-cuda"].startswith("0.30.")
