"""The vectors in profiles/vectors: well formed, explained, and what both programs decide."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from program import ROOT, HappeSim
from reference import compact, decide

Json = dict[str, Any]

AT_LEAST = 25
VECTORS = sorted((ROOT / "profiles/vectors").glob("*.json"))
SCHEMAS = sorted(path.name for path in (ROOT / "profiles/schema").glob("*.schema.json"))


def load(path: Path) -> Json:
    """Read a JSON document that is an object."""
    document: Json = json.loads(path.read_text(encoding="utf-8"))
    return document


def schema(name: str) -> Json:
    """Read profiles/schema/`name`."""
    return load(ROOT / "profiles/schema" / name)


def validator(name: str) -> Draft202012Validator:
    """Return the validator of profiles/schema/`name`, which knows the schemas it refers to."""
    known = [(each["$id"], Resource[Any].from_contents(each)) for each in map(schema, SCHEMAS)]
    return Draft202012Validator(schema(name), registry=Registry[Any]().with_resources(known))


def objects(node: object) -> Iterator[Json]:
    """Yield each subschema that names properties."""
    if isinstance(node, dict):
        if "properties" in node and node.get("type") == "object":
            yield node
        for child in node.values():
            yield from objects(child)
    elif isinstance(node, list):
        for child in node:
            yield from objects(child)


@pytest.fixture(params=VECTORS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    """Return each vector's file in turn."""
    vector: Path = request.param
    return vector


@pytest.fixture
def vector(path: Path) -> Json:
    """Return each vector in turn."""
    return load(path)


def test_the_folder_holds_vectors() -> None:
    """An empty or thinned folder is an error, not a success."""
    assert len(VECTORS) >= AT_LEAST
    assert "vector.schema.json" in SCHEMAS


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_admits_nothing_unknown(name: str) -> None:
    """Every object a schema describes is closed, and says of each property what it means."""
    Draft202012Validator.check_schema(schema(name))
    closed = list(objects(schema(name)))
    assert all(each["additionalProperties"] is False for each in closed)
    meanings = [meaning for each in closed for meaning in each["properties"].values()]
    assert all({"description", "$ref", "items", "const"} & set(meaning) for meaning in meanings)


def test_a_vector_has_the_shape_of_its_schema(vector: Json) -> None:
    """The vector's schema refers to those of header, observation and decision, so that it checks them too."""
    assert [error.message for error in validator("vector.schema.json").iter_errors(vector)] == []


def test_each_part_of_a_vector_has_the_shape_of_its_own_schema(vector: Json) -> None:
    """What crosses a process is one line, so each line is checked as a document by itself."""
    validator("trace-header.schema.json").validate(vector["header"])
    for observation in vector["observations"]:
        validator("trace-observation.schema.json").validate(observation)
    for decision in vector["expected"]:
        validator("decision.schema.json").validate(decision)


def test_a_vector_bears_the_name_of_its_file(path: Path, vector: Json) -> None:
    """A failing test's name leads to the file."""
    assert vector["name"] == path.stem


def test_a_vector_derives_each_decision(vector: Json) -> None:
    """No expected decision stands without its arithmetic."""
    assert len(vector["observations"]) == len(vector["expected"]) == len(vector["derivation"])


def test_the_reference_decides_as_derived(vector: Json) -> None:
    """The independent statement agrees with the hand."""
    decided = decide([vector["header"], *vector["observations"]])
    assert list(map(compact, decided)) == list(map(compact, vector["expected"]))


def test_the_program_decides_as_derived(happe_sim: HappeSim, path: Path, vector: Json, tmp_path: Path) -> None:
    """The governor's own loop agrees with the hand, byte for byte."""
    trace = tmp_path / f"{path.stem}.jsonl"
    lines = [vector["header"], *vector["observations"]]
    trace.write_text("".join(compact(line) + "\n" for line in lines), encoding="utf-8")

    ran = happe_sim.run("replay", str(trace))

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.decode() == "".join(compact(decision) + "\n" for decision in vector["expected"])
