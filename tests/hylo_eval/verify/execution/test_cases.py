"""The hidden cases of ``stdio``: none is left out in silence, and none lies where the program could read it."""

import pytest

from hylo_eval.verify.execution.cases import load_cases
from hylo_eval.verify.verdict import InvalidTask


@pytest.fixture
def cases(tmp_path):
    """A folder of cases with one case, beside a folder of the tests directory that holds another."""
    folder = tmp_path / "cases"
    folder.mkdir()
    write(folder, "1")
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", "2")
    return folder


def write(folder, number):
    (folder / f"input_{number}.txt").write_text(number)
    (folder / f"output_{number}.txt").write_text(number)


def numbers(cases):
    return [case.number for case in load_cases(cases.parent, cases.name)]


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("hard", "../other"),
        ("hard", "gone"),
        ("hard", "hard"),
        ("input_2.txt", "gone"),
        ("input_2.txt", "../other/input_2.txt"),
        ("input_2.txt", ".."),
        ("input_2.txt", "."),
        ("output_1.txt", "../other/output_2.txt"),
        ("output_1.txt", "/etc/hostname"),
    ],
)
def test_links_out_of_the_folder(cases, link, target):
    """A link to nothing, or to a case or folder elsewhere, is the task's defect: there nothing is hidden."""
    (cases / link).unlink(missing_ok=True)
    (cases / link).symlink_to(target)
    with pytest.raises(InvalidTask, match=link):
        numbers(cases)


def test_links_within_the_folder(cases):
    """Links to files and folders of the same folder are followed, as far as the cases are not found anyway."""
    (cases / "real").mkdir()
    write(cases / "real", "3")
    (cases / "alias").symlink_to("real")
    (cases / "all").symlink_to(".")
    (cases / "input_4.txt").symlink_to("real/input_3.txt")
    (cases / "output_4.txt").symlink_to("alias/output_3.txt")
    (cases / "input_5.txt").write_text("5")
    (cases / "answers").mkdir()
    (cases / "answers/output_5.txt").write_text("5")
    (cases / "outputs").symlink_to("answers")
    assert numbers(cases) == ["1", "3", "4", "5"]


def test_the_folder_itself_may_be_a_link(cases):
    """The folder of the cases may be another one of the tests directory."""
    (cases.parent / "named").symlink_to("cases")
    assert numbers(cases.parent / "named") == ["1"]


def test_other_files_are_no_cases(cases):
    """What does not look like part of a case is left alone, links to it as well."""
    (cases / "README").write_text("hello")
    (cases / "LICENSE").symlink_to("../other/input_2.txt")
    assert numbers(cases) == ["1"]


@pytest.mark.parametrize("place", ["", "outputs", "deep"])
def test_output_without_input(cases, place):
    """An output that no input goes with shows that an input is missing."""
    (cases / place).mkdir(exist_ok=True)
    (cases / place / "output_2.txt").write_text("2")
    with pytest.raises(InvalidTask, match="input_2"):
        numbers(cases)


def test_output_that_another_one_stands_before(cases):
    """An output in two of the places where it may stand is none too many."""
    (cases / "outputs").mkdir()
    (cases / "outputs/output_1.txt").write_text("1")
    assert numbers(cases) == ["1"]


def test_folder_in_the_place_of_a_file(cases):
    """A case that is no regular file is not passed over."""
    (cases / "input_7.txt").mkdir()
    with pytest.raises(InvalidTask, match="input_7"):
        numbers(cases)
