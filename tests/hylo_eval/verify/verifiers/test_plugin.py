"""Kind ``plugin``: the gates, the import, the call."""

from __future__ import annotations

import gc
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hylo_core import DigestMismatch
from hylo_core.verifier import VerifierRef
from hylo_eval import VerificationError
from hylo_eval.verify.verifiers.plugin import PluginVerifier
from hylo_eval.verify.verifiers.plugin_tree import PluginTree
from tests.verifiers import ARITHMETIC, PLUGIN, declare, write_plugin

TASK = {"prompt": "6 * 7?", "reference": "42"}


def function(body: str) -> str:
    """A module whose function has this body."""
    return f"def score_arithmetic(task, trajectory):\n    {body}\n"


def test_a_failed_import_stays_failed(tmp_path: Path) -> None:
    """Nothing is imported again, also when what was missing has come."""
    counter = tmp_path / "imports"
    source = f"with open(r'{counter}', 'a') as file:\n    file.write('x')\nimport not_here_yet\n{ARITHMETIC}"
    verifier = PluginVerifier(PLUGIN, write_plugin(tmp_path / "plugin", source))
    reasons = []
    for _ in range(3):
        with pytest.raises(VerificationError) as caught:
            verifier(TASK, "42")
        reasons.append(caught.value.reason)
    assert counter.read_text() == "x"
    assert len(set(reasons)) == 1


def test_a_module_that_exits_is_a_failed_import(tmp_path: Path) -> None:
    """It does not end the run."""
    verifier = PluginVerifier(PLUGIN, write_plugin(tmp_path, "import sys\nsys.exit(0)\n"))
    with pytest.raises(VerificationError, match="SystemExit"):
        verifier(TASK, "42")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_through(tmp_path: Path, error: type[BaseException]) -> None:
    """It is the operator's, and no failure of the verifier."""
    verifier = PluginVerifier(PLUGIN, write_plugin(tmp_path, function(f"raise {error.__name__}")))
    with pytest.raises(error):
        verifier(TASK, "42")


def test_first_tasks_in_several_threads_import_once(tmp_path: Path) -> None:
    """They wait for one another."""
    counter = tmp_path / "imports"
    source = f"with open(r'{counter}', 'a') as file:\n    file.write('x')\n{ARITHMETIC}"
    verifier = PluginVerifier(PLUGIN, write_plugin(tmp_path / "plugin", source))
    barrier, rewards = threading.Barrier(8), []

    def first() -> None:
        barrier.wait()
        rewards.append(verifier(TASK, "42"))

    threads = [threading.Thread(target=first) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (rewards, counter.read_text()) == ([1.0] * 8, "x")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return float('nan')", "must be finite"),
        ("return ' inf '", "must be finite"),
        ("return '1e400'", "must be finite"),
        ("return 10 ** 400", "OverflowError"),
        ("return 'good'", "ValueError"),
        ("return None", "TypeError"),
        ("return task['absent']", "KeyError"),
        ("task['reference'] = '41'; return 1.0", "TypeError"),
        ("assert trajectory == '42', 'wrong'", "AssertionError: wrong"),
    ],
)
def test_what_is_no_reward_is_an_error_and_no_zero(tmp_path: Path, body: str, reason: str) -> None:
    """Not finite, no number, an exception; and the task is read-only."""
    with pytest.raises(VerificationError, match=reason) as caught:
        PluginVerifier(PLUGIN, write_plugin(tmp_path, function(body)))(TASK, "41")
    assert (caught.value.kind, caught.value.ref) == ("plugin", PLUGIN.ref)
    assert "\n" not in caught.value.reason


def test_the_trajectory_arrives_as_it_is(tmp_path: Path) -> None:
    """Raw, not flattened: the same object."""
    trajectory = [{"type": "step", "index": 0}, {"type": "step", "index": 1}]
    verifier = PluginVerifier(PLUGIN, write_plugin(tmp_path, function("return id(trajectory)")))
    assert verifier(TASK, trajectory) == float(id(trajectory))


def test_two_plugins_may_both_hold_a_module_of_the_same_name(tmp_path: Path) -> None:
    """Each is imported under a private name, next to whatever is called ``verify`` on the path."""
    first = PluginVerifier(PLUGIN, write_plugin(tmp_path / "one", function("return 0.25")))
    second = PluginVerifier(PLUGIN, write_plugin(tmp_path / "two", function("return 0.75")))
    assert [first(TASK, ""), second(TASK, ""), first(TASK, "")] == [0.25, 0.75, 0.25]
    assert "verify" not in sys.modules


def test_modules_of_a_plugin_import_each_other_relatively(tmp_path: Path) -> None:
    """Packages and attributes with dots too; the plugin reads its own files beside its module."""
    folder = write_plugin(tmp_path, "", parsing="LAST = -1\n")
    (folder / "sums").mkdir()
    (folder / "sums" / "key.txt").write_text("42")
    (folder / "sums" / "score.py").write_text(
        "from pathlib import Path\nfrom ..parsing import LAST\n"
        "class Sums:\n"
        "    def right(task, trajectory):\n"
        "        key = Path(__file__).with_name('key.txt').read_text()\n"
        "        return trajectory.split()[LAST] == key\n"
    )
    declare(folder)
    assert PluginVerifier(VerifierRef("plugin", "sums.score:Sums.right"), folder)(TASK, "it is 42") == 1.0


def test_a_changed_plugin_is_refused_after_the_start(tmp_path: Path) -> None:
    """The digest is pinned when the run begins; the mismatch names both digests."""
    folder = write_plugin(tmp_path / "plugin")
    pinned = PluginTree.read(folder).digest()
    verifier = PluginVerifier(PLUGIN, folder)
    write_plugin(folder, function("return 1.0"))
    with pytest.raises(VerificationError, match=pinned) as caught:
        verifier(TASK, "41")
    assert isinstance(caught.value.__cause__, DigestMismatch)
    with pytest.raises(VerificationError, match="is on record"):
        PluginVerifier(PLUGIN, folder, pinned=pinned)(TASK, "41")


def test_what_is_imported_is_the_copy_that_was_hashed(tmp_path: Path) -> None:
    """A change after the first task changes nothing; the copy goes with the verifier."""
    folder = write_plugin(
        tmp_path / "plugin", "from . import parsing\n" + function("return parsing.__file__ and 0.5"), parsing=""
    )
    verifier = PluginVerifier(PLUGIN, folder)
    assert verifier(TASK, "") == 0.5
    write_plugin(folder, function("return 1.0"))
    assert verifier(TASK, "") == 0.5
    (name,) = [name for name in sys.modules if "_hylo_plugin_" in name and name.endswith(".parsing")]
    copy = Path(str(sys.modules[name].__file__)).parent
    assert copy.is_dir()
    assert copy.stat().st_mode & 0o077 == 0
    del verifier
    gc.collect()
    assert not copy.exists()
    assert name not in sys.modules


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "holds no manifest.json"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "is not JSON"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "no JSON object"),
        (lambda folder: (folder / "manifest.json").write_text('{"kind": "environment"}'), "declares no digest"),
        (lambda folder: (folder / "link.py").symlink_to("verify.py"), "no plain file"),
        (lambda folder: (folder / "verify.py").rename(folder / "other.py"), "digest"),
    ],
)
def test_a_plugin_that_is_none_is_an_error_of_the_first_task(tmp_path: Path, break_it: Any, reason: str) -> None:
    """Where it reads as a deployment problem."""
    break_it(write_plugin(tmp_path))
    verifier = PluginVerifier(PLUGIN, tmp_path)
    with pytest.raises(VerificationError, match=reason):
        verifier(TASK, "42")


def test_a_folder_that_is_not_there_is_an_error_of_the_first_task(tmp_path: Path) -> None:
    """Also when it has come meanwhile: it was not pinned."""
    verifier = PluginVerifier(PLUGIN, tmp_path / "plugin")
    write_plugin(tmp_path / "plugin")
    with pytest.raises(VerificationError, match="was not there when the run began"):
        verifier(TASK, "42")
    with pytest.raises(VerificationError, match="is no folder"):
        PluginVerifier(PLUGIN, tmp_path / "absent")(TASK, "42")


def test_the_missing_digest_is_named_so_that_it_can_be_written(tmp_path: Path) -> None:
    """What the error says to write makes the plugin pass."""
    folder = write_plugin(tmp_path)
    (folder / "manifest.json").write_text('{"kind": "environment"}')
    with pytest.raises(VerificationError) as caught:
        PluginVerifier(PLUGIN, folder)(TASK, "42")
    digest = json.loads("{" + caught.value.reason.partition("fix: ")[2] + "}")["digest"]
    declare(folder, digest=digest)
    assert PluginVerifier(PLUGIN, folder)(TASK, "42") == 1.0


def test_the_digest_is_of_every_name_and_content(tmp_path: Path) -> None:
    """Byte code that Python leaves behind is none of it."""
    folder = write_plugin(tmp_path)
    seen = [PluginVerifier(PLUGIN, folder).digest]
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "verify.cpython-311.pyc").write_bytes(b"planted")
    assert PluginVerifier(PLUGIN, folder).digest == seen[0]
    (folder / "verify.py").write_text(ARITHMETIC + "\n")
    seen.append(PluginVerifier(PLUGIN, folder).digest)
    (folder / "verify.py").rename(folder / "verify2.py")
    seen.append(PluginVerifier(PLUGIN, folder).digest)
    seen.append(PluginVerifier(VerifierRef("plugin", "verify2:score_arithmetic"), folder).digest)
    assert len(set(seen)) == 4
