"""The vectors in profiles/vectors are well formed and explained, and both programs decide as the vectors say."""

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
SCHEMAS = sorted(path.name for path in (ROOT / "profiles/schema").glob("*.schema.json"))


def load(path: Path) -> Json:
    """Read a JSON document that is an object."""
    document: Json = json.loads(path.read_text(encoding="utf-8"))
    return document


def vectors() -> Iterator[Json]:
    """Yield every vector. The cases of a file share its header, but for the members that a case has itself."""
    for path in sorted((ROOT / "profiles/vectors").glob("*.json")):
        document = load(path)
        for case in document["cases"]:
            yield case | {"header": document["header"] | case.get("header", {})}


VECTORS = list(vectors())


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


def test_the_folder_holds_vectors() -> None:
    """A folder that has lost vectors is an error, not a success."""
    assert len(VECTORS) == len({vector["name"] for vector in VECTORS}) >= AT_LEAST
    assert "vector.schema.json" in SCHEMAS


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_admits_nothing_unknown(name: str) -> None:
    """Every object in a schema is closed, and the schema says what each property means."""
    Draft202012Validator.check_schema(schema(name))
    closed = list(objects(schema(name)))
    assert all(each["additionalProperties"] is False for each in closed)
    meanings = [meaning for each in closed for meaning in each["properties"].values()]
    assert all({"description", "$ref", "items", "const"} & set(meaning) for meaning in meanings)


def test_a_vector_is_well_formed_and_derives_each_decision(subtests: pytest.Subtests) -> None:
    """The test also checks each line as a document of its own, because processes exchange single lines."""
    whole = validator("vector.schema.json")
    header, line, answer = (
        validator(f"{name}.schema.json") for name in ("trace-header", "trace-observation", "decision")
    )
    for vector in VECTORS:
        with subtests.test(vector["name"]):
            assert [error.message for error in whole.iter_errors(vector)] == []
            assert len(vector["observations"]) == len(vector["expected"]) == len(vector["derivation"])
            header.validate(vector["header"])
            for observation in vector["observations"]:
                line.validate(observation)
            for decision in vector["expected"]:
                answer.validate(decision)


def test_reference_and_program_decide_as_derived(
    happe_sim: HappeSim, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The reference and the governor's own loop agree with the decisions made by hand, byte for byte."""
    for vector in VECTORS:
        with subtests.test(vector["name"]):
            lines = [vector["header"], *vector["observations"]]
            expected = list(map(compact, vector["expected"]))
            assert list(map(compact, decide(lines))) == expected
            trace = tmp_path / f"{vector['name']}.jsonl"
            trace.write_text("".join(compact(each) + "\n" for each in lines), encoding="utf-8")

            ran = happe_sim.run("replay", str(trace))

            assert (ran.returncode, ran.stderr) == (0, b"")
            assert ran.stdout.decode().splitlines() == expected
