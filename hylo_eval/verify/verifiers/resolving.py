"""From a reference to a verifier: what each kind needs beside its ref, and where a reference is declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_core.canonical import is_digest
from hylo_core.errors import ContractError
from hylo_core.verifier import VerifierRef
from hylo_eval.benchmarks import read_toml
from hylo_eval.errors import EvalError
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.verifiers import endpoint, plugin_process
from hylo_eval.verify.verifiers.contract import Verifier
from hylo_eval.verify.verifiers.endpoint import EndpointVerifier
from hylo_eval.verify.verifiers.plugin import PluginVerifier
from hylo_eval.verify.verifiers.plugin_process import PluginProcesses
from hylo_eval.verify.verifiers.rubric import Judge, RubricVerifier
from hylo_eval.verify.verifiers.rubrics import RubricStore

MAX_FILE_BYTES: Final = 1024 * 1024
"""A file that declares a verifier and is larger than this is refused unread."""

MEMBER: Final = "verifier"


@attrs.frozen(kw_only=True)
class VerifierSetup:
    """What references need beside themselves.

    Attributes:
        rubrics: Where rubrics are.
        judge: Makes the judge; called for kind ``rubric`` alone.
        rubric_version: In place of the newest.
        plugin_folder: The plugin's folder.
        plugin_digest: Of that folder, as pinned by the run; empty for the folder as it is.
        plugin_processes: In how many processes of its own a plugin's function is called, each with a deadline; 0 calls
            it in this process, where nothing can stop it and any object can be its trajectory.
        timeout_seconds: For a whole exchange with an endpoint, and for one call of a plugin's function in a process of
            its own; None for the kind's own (60, 600).
    """

    rubrics: RubricStore | None = None
    judge: Callable[[], Judge] | None = None
    rubric_version: str = ""
    plugin_folder: Path | None = None
    plugin_digest: str = ""
    plugin_processes: int = 0
    timeout_seconds: float | None = None


def resolve_verifier(ref: VerifierRef, setup: VerifierSetup) -> Verifier:
    """The verifier of a reference; as a function it is a ``VerifyFn``.

    Rubrics are pinned here. Nothing of a plugin is imported and no endpoint is asked.

    Raises:
        EvalError: The kind needs something that the setup lacks.
        VerificationError: A rubric is gone.
    """
    if ref.kind == "rubric":
        if setup.rubrics is None or setup.judge is None:
            raise EvalError(f"{ref} needs a store of rubrics and a judge", fix="rubrics=<folder of rubrics>")
        return RubricVerifier(ref, setup.rubrics, setup.judge(), version=setup.rubric_version)
    if ref.kind == "plugin":
        if setup.plugin_folder is None:
            raise EvalError(f"{ref} needs the folder of its plugin", fix="plugin=<folder with a manifest.json>")
        if setup.plugin_digest and not is_digest(setup.plugin_digest):
            raise EvalError(f"{setup.plugin_digest!r:.80} is no digest of a plugin: sha256:<64 hexadecimal digits>")
        return _plugin(ref, setup.plugin_folder, setup)
    timeout = endpoint.TIMEOUT_SECONDS if setup.timeout_seconds is None else setup.timeout_seconds
    return EndpointVerifier(ref, timeout_seconds=timeout)


def _plugin(ref: VerifierRef, folder: Path, setup: VerifierSetup) -> Verifier:
    if not setup.plugin_processes:
        return PluginVerifier(ref, folder, pinned=setup.plugin_digest)
    timeout = plugin_process.TIMEOUT_SECONDS if setup.timeout_seconds is None else setup.timeout_seconds
    return PluginProcesses(
        ref, folder, pinned=setup.plugin_digest, timeout_seconds=timeout, processes=setup.plugin_processes
    )


def read_verifier(path: Path) -> VerifierRef:
    """The reference a file declares: ``[verifier]`` of a TOML file, ``"verifier"`` of a ``manifest.json``.

    Raises:
        EvalError: The file cannot be read, is no TOML or JSON, or declares none.
        ContractError: It declares one that is none: another kind, no ref, a key too many.
    """
    if path.suffix == ".json":
        document = _read_json(path)
    else:
        document = read_toml(path, what="a verifier file", max_bytes=MAX_FILE_BYTES)
    found = document.get(MEMBER)
    if not isinstance(found, dict):
        raise EvalError(f"{path} declares no verifier", fix='[verifier] kind = "rubric", ref = "<owner>/<name>"')
    try:
        return VerifierRef.from_dict(cast("dict[str, Any]", found))
    except ContractError as error:
        raise error.under(MEMBER, source=str(path)) from None


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise EvalError(f"{path} is larger than {MAX_FILE_BYTES} bytes, too large for a manifest")
        document = decode_json(path.read_bytes().decode())
    except OSError as error:
        raise EvalError(f"cannot read the manifest {path}: {error.strerror}") from error
    except ValueError as error:
        raise EvalError(f"{path}: is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise EvalError(f"{path}: is no JSON object")
    return cast("dict[str, Any]", document)
