"""A user's own JSONL set: imported, run, scored, without code."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from hylo_core.errors import ContractError
from hylo_eval.benchmarks import dump_benchmark, load_benchmark
from hylo_eval.errors import EvalError
from hylo_eval.response_benchmarks import importing
from hylo_eval.response_benchmarks.importing import ImportOptions, import_responses
from hylo_eval.verify.response.truth import read_truth, score_against

Image = pytest.importorskip("PIL.Image")

RECORDS = [
    {"image": "pictures/a.png", "prompt": 'How many? End with {"answer": n}', "answer": 3},
    {
        "id": "where",
        "image": ["pictures/a.png", "pictures/b.png"],
        "prompt": "Where?",
        "answer": {"type": "option_letter", "value": "B"},
        "annotation": {"type": "point", "value": [20, 10]},
    },
]


@pytest.fixture
def folder(tmp_path):
    """Two pictures and a file of two questions."""
    (tmp_path / "pictures").mkdir()
    for name, shade in (("a", 10), ("b", 200)):
        Image.fromarray(np.full((30, 40, 3), shade, np.uint8)).save(tmp_path / "pictures" / f"{name}.png")
    write(tmp_path, RECORDS)
    return tmp_path


def write(folder, records):
    """Write the questions."""
    (folder / "set.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")


def test_each_record_becomes_a_task(folder):
    """Prompt, truth, contract, and pictures by path and digest."""
    made = import_responses(folder / "set.jsonl", folder / "mine.toml")
    first, second = made.tasks
    assert (made.id, first.id, second.id) == ("mine", "mine/1", "mine/where")
    assert first.instruction == 'How many? End with {{"answer": n}}'
    assert (first.params["truth"]["mode"], second.params["truth"]["mode"]) == ("answer", "answer_and_annotation")
    assert second.params["truth"]["annotation_tau"] == 0.5
    assert second.params["truth"]["contract"]["annotation"]["id"] == "point_soft_distance_v0"
    assert [item["path"] for item in second.params["images"]] == ["pictures/a.png", "pictures/b.png"]
    assert tuple(first.params["truth"]["image_size"]) == (40, 30)


def test_import_run_and_score_without_code(folder, hylo):
    """From the command line, from another working folder than the file's."""
    outcome = hylo("benchmark", "import-responses", folder / "set.jsonl", "-o", folder / "mine.toml", "--tau", "0.25")
    assert (outcome.code, "2 questions" in outcome.out) == (0, True)
    assert load_benchmark(folder / "mine.toml").tasks[1].params["truth"]["annotation_tau"] == 0.25
    ran = hylo(
        "run", folder / "mine.toml", "--agent", "response-scripted", "--agent-arg", "accuracy=1",
        "--run-root", folder / "runs", "--run-id", "r", "--json",
    )  # fmt: skip
    assert (ran.code, ran.json["scores"]["success"]["mean"]) == (0, 1.0)
    # An answer in text has no control rate and no slices of actions that anybody could declare.
    assert {"control_hz", "action"}.isdisjoint(ran.json["unknown"])
    manifest = json.loads((folder / "runs" / "r" / "manifest.json").read_text())
    assert manifest.pop("invocation")["benchmark"] == str(folder / "mine.toml")  # for --resume, from any folder
    assert str(folder) not in json.dumps(manifest)


def test_nothing_is_written_over(folder, hylo):
    """Neither a file nor a link, even one that leads nowhere."""
    (folder / "mine.toml").write_text("mine", encoding="utf-8")
    (folder / "link.toml").symlink_to(folder / "none.toml")
    for name in ("mine.toml", "link.toml"):
        done = hylo("benchmark", "import-responses", folder / "set.jsonl", "-o", folder / name)
        assert (done.code, "nothing is written over" in done.err) == (2, True)
    assert (folder / "mine.toml").read_text(encoding="utf-8") == "mine"
    assert not (folder / "none.toml").exists()


def test_a_changed_picture_stops_the_run(folder, hylo):
    """The digest is that of what is shown, so another picture is not shown."""
    hylo("benchmark", "import-responses", folder / "set.jsonl", "-o", folder / "mine.toml")
    Image.fromarray(np.zeros((30, 40, 3), np.uint8)).save(folder / "pictures" / "a.png")
    ran = hylo("run", folder / "mine.toml", "--agent", "response-scripted", "--run-root", folder / "runs")
    assert ran.code == 2
    assert "SHA-256 differs" in ran.err


def test_a_picture_outside_the_folder_is_refused_with_a_way_out(folder):
    """Benchmark and pictures must be able to move together."""
    with pytest.raises(EvalError, match="does not lie in the folder") as refused:
        import_responses(folder / "set.jsonl", folder / "elsewhere" / "mine.toml")
    assert "beside the pictures" in refused.value.fix


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"image_size": [80, 60]}, "the picture has 40 x 30"),
        ({"image_size": [80, 60], "image": ["pictures/a.png", "pictures/b.png"]}, "pictures have 40 x 30"),
        ({"image": "none.png"}, "record '1'.*cannot read"),
        ({"answer": None}, "line 1.*answer"),
        ({"answer": {"a": None}}, "null"),
        ({"id": "a#b"}, "#"),
        ({"annotation": {"type": "point", "value": "x"}}, "annotation.value"),
        ({"annotation": {"type": "point", "value": [41, 10]}}, r"record '1'\.annotation\.value.*picture of 40 x 30"),
        ({"colour": 1}, "colour"),
    ],
)
def test_a_record_that_cannot_be_asked_is_refused_by_name(folder, change, reason):
    """File, record and field stand in the error."""
    write(folder, [RECORDS[0] | change])
    with pytest.raises((EvalError, ContractError), match=reason):
        import_responses(folder / "set.jsonl", folder / "mine.toml")


@pytest.mark.parametrize(
    ("answer", "reply", "wrong"),
    [
        (99999999999999999999999, "99999999999999999999999", "99999999999999999999998"),
        (
            {"type": "integer", "value": "-99999999999999999999999"},
            "-99999999999999999999999",
            "99999999999999999999999",
        ),
        ({"type": "number", "value": 1e16}, "1e16", "10000000000000001"),
        ({"type": "number", "value": 1e300}, "1e300", "1e299"),
    ],
)
def test_an_answer_that_json_readers_would_round_is_asked_exactly(folder, answer, reply, wrong):
    """The file holds its digits as text, and the right number scores: every digit of it counts."""
    write(folder, [RECORDS[0] | {"answer": answer}])
    made = import_responses(folder / "set.jsonl", folder / "mine.toml")
    (folder / "mine.toml").write_text(dump_benchmark(made), encoding="utf-8")
    truth = read_truth(load_benchmark(folder / "mine.toml").tasks[0].params)
    for said, score in ((reply, 1.0), (json.dumps(reply), 1.0), (wrong, 0.0)):
        assert score_against(f'{{"answer": {said}}}', truth).values["overall"] == score


@pytest.mark.parametrize("answer", [[1, 2**53], {"a": [1e16]}, {"type": "matrix", "value": [[2**60]]}])
def test_a_number_within_an_answer_that_would_be_rounded_is_refused(folder, answer):
    """Text in its place would be another answer, so the error does not ask for it."""
    write(folder, [RECORDS[0] | {"answer": answer}])
    with pytest.raises(ContractError, match=r"answer\.value: holds the number .* only an answer that is one number"):
        import_responses(folder / "set.jsonl", folder / "mine.toml")


def test_what_is_no_regular_file_or_too_large_is_not_read(folder, monkeypatch):
    """A device has no end, and a pipe that nobody writes to would be waited for."""
    os.mkfifo(folder / "pipe.jsonl")
    for path in (folder / "pipe.jsonl", Path("/dev/zero"), folder):
        with pytest.raises(EvalError, match=r"no regular file|Is a directory"):
            import_responses(path, folder / "mine.toml")
    monkeypatch.setattr(importing, "MAX_FILE_BYTES", 20)
    with pytest.raises(EvalError, match="larger than 20 bytes"):
        import_responses(folder / "set.jsonl", folder / "mine.toml")
    with pytest.raises(EvalError, match=r"larger than 20 bytes"):
        import_responses(Path("/proc/self/smaps"), folder / "mine.toml")


def test_the_frame_of_the_prompts_goes_into_the_truth(folder):
    """So it is in the digest, and the scorers use it."""
    options = ImportOptions(coordinate_unit="per_mille", coordinate_order="yx")
    write(folder, [RECORDS[1] | {"image": "pictures/a.png"}])
    made = import_responses(folder / "set.jsonl", folder / "mine.toml", options=options)
    truth = made.tasks[0].params["truth"]
    assert (truth["coordinate_unit"], truth["coordinate_order"]) == ("per_mille", "yx")


def test_files_that_are_no_jsonl_are_refused(folder, hylo):
    """Missing, not text, another ending of the output."""
    (folder / "bytes.jsonl").write_bytes(b"\xff\xfe")
    for name, reason in (("none.jsonl", "cannot read"), ("bytes.jsonl", "not UTF-8")):
        with pytest.raises(EvalError, match=reason):
            import_responses(folder / name, folder / "mine.toml")
    outcome = hylo("benchmark", "import-responses", folder / "set.jsonl", "-o", folder / "mine.json")
    assert (outcome.code, ".toml" in outcome.err) == (2, True)
