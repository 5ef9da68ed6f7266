"""Kind ``plugin``: ``module:callable`` inside a plugin folder, imported at the first task and once."""

from __future__ import annotations

import importlib
import itertools
import math
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from hylo_core.canonical import describe, digest
from hylo_core.errors import HyloError, describe_error
from hylo_core.refs import parse_ref
from hylo_core.verifier import VerifierRef
from hylo_eval.errors import EvalError
from hylo_eval.verify.verifiers.contract import Verification, failure
from hylo_eval.verify.verifiers.plugin_tree import PluginTree, check_digest

_NUMBERS: Final = itertools.count()
_PRIVATE: Final = "_hylo_plugin_"


class PluginVerifier:
    """A function of a plugin. It gets the task, read-only, and the trajectory as it is.

    Nothing is imported here. The first task checks the three digests (:mod:`.plugin_tree`), copies the plugin to a
    private folder and imports it under a private name, so that no other module of its name on the path takes its
    place; its own modules import each other relatively (``from . import parsing``). A first task that fails in this
    fails for good: every later one raises the same, and nothing is imported again.

    The function may print, start threads and raise. It cannot be stopped here: :class:`.plugin_process.PluginProcesses`
    calls it in a process that can.

    Args:
        ref: Of kind ``plugin``.
        folder: The plugin.
        pinned: The digest of the whole folder that this run is to use. Unless given, that of the folder as it is now.
    """

    takes_events = True
    parallel = False  # somebody's code, and nobody said that several threads may run it

    def __init__(self, ref: VerifierRef, folder: Path, *, pinned: str = "") -> None:
        self.ref = ref
        self._folder = folder
        self._lock = threading.Lock()
        self._function: Callable[[Mapping[str, Any], Any], Any] | None = None
        self._failure: BaseException | None = None
        # What cannot be read now is an error of the first task: there it reads as a deployment problem.
        self.pinned = pinned or _digest_now(folder)
        self.digest = digest({"verifier": ref.to_dict(), "plugin": self.pinned})

    def verify(self, task: Mapping[str, Any], trajectory: Any) -> Verification:
        """Call the function."""
        function = self._loaded()
        try:
            returned = function(MappingProxyType(dict(task)), trajectory)
            reward = float(returned)
        except Exception as error:  # raising is how somebody's verifier says that it cannot answer
            raise failure(self.ref, describe_error(error)) from error
        if not math.isfinite(reward):
            raise failure(self.ref, f"the reward must be finite, not {describe(returned)}")
        return Verification(reward=reward, metadata={"plugin": self.pinned})

    def __call__(self, task: Mapping[str, Any], trajectory: Any) -> float:
        """The reward."""
        return self.verify(task, trajectory).reward

    def load(self) -> None:
        """Check and import the plugin, where the first task has not done it yet.

        Raises:
            VerificationError: It cannot be imported, now and ever.
        """
        self._loaded()

    def _loaded(self) -> Callable[[Mapping[str, Any], Any], Any]:
        with self._lock:
            if self._function is None and self._failure is None:
                try:
                    self._function = self._load()
                except (Exception, SystemExit) as error:  # noqa: BLE001 - a module can raise anything, and exit too
                    self._failure = error
            if self._function is None:
                raise failure(self.ref, _reason(self._failure)) from self._failure
            return self._function

    def _load(self) -> Callable[[Mapping[str, Any], Any], Any]:
        fetched = PluginTree.read(self._folder)
        fetched.check_declared()
        if not self.pinned:
            raise EvalError(f"the plugin {self._folder} was not there when the run began; start again")
        check_digest(self.pinned, fetched.digest(), what=f"the plugin {self._folder}, pinned for this run,")
        # Private to this user, and kept as long as the verifier: the plugin may read files of its own.
        installed = Path(tempfile.mkdtemp(prefix="hylo-plugin-"))
        package = f"{_PRIVATE}{next(_NUMBERS)}"
        weakref.finalize(self, _forget, package, installed)
        fetched.write(installed)
        check_digest(self.pinned, PluginTree.read(installed).digest(), what=f"the copy of the plugin in {installed}")
        return import_privately(installed, package, self.ref.ref)


def import_privately(folder: Path, package: str, ref: str) -> Callable[..., Any]:
    """The callable ``module:callable`` of a folder, its module imported under a name that nothing else has.

    Args:
        folder: Where the module lies.
        package: The private name of the folder.
        ref: ``module:callable``.

    Raises:
        Exception: Whatever the module raises.
        AttributeError: It has no such attribute.
        ModuleNotFoundError: The folder has no such module.
        TypeError: What is named cannot be called.
    """
    parsed = parse_ref(ref)
    parent = ModuleType(package)
    parent.__path__ = [str(folder)]
    sys.modules[package] = parent
    importlib.invalidate_caches()
    found: Any = importlib.import_module(f"{package}.{parsed.module}")
    for name in parsed.attribute.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{ref} is {describe(found)}, which cannot be called")
    return found


def _forget(package: str, folder: Path) -> None:
    """Remove the private copy of a plugin and its modules, which nobody else can import."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        sys.modules.pop(name, None)


def _reason(failed: BaseException | None) -> str:
    if failed is None or isinstance(failed, HyloError):
        return str(failed)
    return f"importing it raised {describe_error(failed)}"


def _digest_now(folder: Path) -> str:
    try:
        return PluginTree.read(folder).digest()
    except HyloError:
        return ""
