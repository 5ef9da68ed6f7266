"""The program that runs pytest in a task's interpreter."""

import subprocess
import sys
from pathlib import Path

from hylo_eval.verify.pytest_runs import program

SCRIPT = """
import sys
from hylo_eval.verify.pytest_runs import program
program.keep_installed_bytecode(program.installed_folders())
import importlib.util
import helper, this_is_installed, colorsys
for module in (helper, this_is_installed, colorsys):
    print(sys.modules["_frozen_importlib_external"].cache_from_source(module.__file__))
"""


def test_only_installed_modules_keep_their_compiled_files(tmp_path):
    """Those of the workspace are looked for in the grader's folder, an environment in the workspace included."""
    workspace, private, installed = tmp_path / "app", tmp_path / "private", tmp_path / "env" / "site-packages"
    planted = workspace / "env" / "site-packages"
    for folder in (workspace, private, installed, planted):
        folder.mkdir(parents=True)
    (workspace / "helper.py").write_text("")
    (installed / "this_is_installed.py").write_text("")
    (planted / "planted.py").write_text("")
    paths = [str(installed), str(planted), str(Path(program.__file__).parents[3])]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + "import planted\nprint(planted.__cached__)"],
        cwd=workspace,
        env={"PYTHONPYCACHEPREFIX": str(private), "PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    helper, kept, standard, in_workspace = map(Path, done.stdout.split())
    tag = sys.implementation.cache_tag
    assert helper == private / workspace.relative_to("/") / f"helper.{tag}.pyc"
    assert kept == installed / "__pycache__" / f"this_is_installed.{tag}.pyc"
    assert standard.parent.name == "__pycache__"
    assert in_workspace == private / planted.relative_to("/") / f"planted.{tag}.pyc"


def test_a_folder_around_the_workspace_is_not_an_installed_one(tmp_path, monkeypatch):
    """A workspace that happens to lie in a folder of that name is the candidate's all the same."""
    around = tmp_path / "site-packages"
    workspace = around / "app"
    workspace.mkdir(parents=True)
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(sys, "path", [str(around), *sys.path])
    folders = program.installed_folders()
    assert folders
    assert not any(str(workspace).startswith(folder) for folder in folders)


def test_origin_of_a_failure(tmp_path, monkeypatch):
    """A library that was called is not to blame, one that fails while it is imported is."""
    (tmp_path / "app").mkdir()
    (tmp_path / "library.py").write_text("def call():\n    raise ValueError\n")
    (tmp_path / "broken_library.py").write_text("import library\nlibrary.call()\n")
    (tmp_path / "app/caller.py").write_text("import library\nlibrary.call()\n")
    (tmp_path / "app/importer.py").write_text("import broken_library\n")
    script = (
        "import sys\nfrom pathlib import Path\nfrom hylo_eval.verify.pytest_runs import program\n"
        "try: __import__(sys.argv[1])\n"
        "except ValueError as error: print(Path(program.origin_of(error, sys.argv[2])).name)\n"
    )
    packages = [tmp_path / "app", tmp_path, Path(program.__file__).parents[3]]
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, packages)))

    def origin(name):
        command = [sys.executable, "-c", script, name, f"{tmp_path}/app/"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert origin("caller") == "caller.py"
    assert origin("importer") == "library.py"
