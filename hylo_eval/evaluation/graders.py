"""Graders from what people type: ``NAME[:VALUE][,OPTION=VALUE...]`` and the run they are for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from hylo_core.canonical import describe
from hylo_core.errors import describe_error
from hylo_core.frozen import thaw
from hylo_core.score import Grader
from hylo_core.verifier import VerifierRef
from hylo_eval import plugins
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.making import make_env_factory
from hylo_eval.families import env_availability
from hylo_eval.grading.operator import OperatorGrader
from hylo_eval.grading.predicate import PredicateGrader
from hylo_eval.grading.verdict import VerdictGrader
from hylo_eval.grading.verifier import VerifierGrader
from hylo_eval.grading.vlm_judge import VlmJudge, VlmOptions
from hylo_eval.interpreters.choosing import refuse_elsewhere
from hylo_eval.options import read_options, refuse_missing, split_pairs
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest
from hylo_eval.verify.extras import import_extra
from hylo_eval.verify.judging.connection import JudgeConnection
from hylo_eval.verify.spec import parse_spec
from hylo_eval.verify.verdict import GradingInfraError
from hylo_eval.verify.verifiers.chat_judge import ChatJudge
from hylo_eval.verify.verifiers.resolving import VerifierSetup, read_verifier, resolve_verifier
from hylo_eval.verify.verifiers.rubrics import Rubric, RubricFolder, read_rubric

_OPTIONS_OF_KIND: Final = {
    "rubric": ("rubrics", "rubric_version", "model"),
    "plugin": ("plugin", "plugin_digest", "processes", "timeout_seconds"),
    "endpoint": ("timeout_seconds",),
}


def make_grader(text: str, run: RunFolder) -> Grader:
    """The grader of a command line, for a run.

    After the name, or the reference ``package.module:Factory``, a colon and options: ``NAME=VALUE`` each, separated by
    commas; the first may be a bare value, which is that of the factory's first option (``verifier:judge.toml``). A
    factory that needs the run takes it as a first, positional-only parameter.

    Raises:
        EvalError: There is no such grader or option, or it cannot be made.
    """
    name, given = _parse(text)
    factory: Any = plugins.load("graders", name)
    what = f"grader {name!r}"
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError) as error:
        raise EvalError(
            f"{what} is {describe(factory)}, which makes no grader",
            fix="name a class or function that makes one; hylo-eval list graders",
        ) from error
    takes_run = bool(parameters) and parameters[0].kind is inspect.Parameter.POSITIONAL_ONLY
    names = [item.name for item in parameters[takes_run:] if item.kind is not inspect.Parameter.VAR_KEYWORD]
    pairs = split_pairs(_with_first_name(given, names, what), "--grader")
    options = read_options(factory, pairs, what=what)
    refuse_missing(factory, options, what=what, flag=f"--grader {name}:")
    try:
        grader = factory(*([run] if takes_run else []), **options)
    except GradingInfraError as error:
        raise EvalError(f"{what}: {error}", fix="mend what it names; docs/graders.md") from error
    except EvalError:
        raise
    except (Exception, SystemExit) as error:  # somebody's factory can raise anything
        raise EvalError(
            f"{what} cannot be made: {describe_error(error)}", fix="mend what it names; --debug shows where it raised"
        ) from error
    if not callable(getattr(grader, "grade", None)) or not isinstance(getattr(grader, "name", None), str):
        raise EvalError(
            f"{what} is a {type(grader).__name__}, which is no grader: it needs name and grade()",
            fix="give it a name and a method grade(); docs/graders.md says how",
        )
    return cast("Grader", grader)


def make_verifier(
    run: RunFolder,
    /,
    file: str = "",
    rubrics: str = "",
    rubric_version: str = "",
    model: str = "",
    plugin: str = "",
    plugin_digest: str = "",
    processes: int | None = None,
    timeout_seconds: float | None = None,
) -> VerifierGrader:
    """The grader ``verifier``: a rubric, a plugin's function or an endpoint.

    Args:
        run: The run to grade.
        file: Declares the verifier (``[verifier]`` of a TOML file, ``"verifier"`` of a ``manifest.json``); the run's
            benchmark does, unless given.
        rubrics: The folder of rubrics.
        rubric_version: In place of the newest.
        model: The judge's, in place of ``VERIFYIT_JUDGE_MODEL``.
        plugin: The plugin's folder; that of ``file`` when it is the plugin's own ``manifest.json``.
        plugin_digest: Of that folder, as pinned.
        processes: How many episodes a plugin judges at once, each in a process of its own; 1 unless given.
        timeout_seconds: For a whole exchange with an endpoint (60 unless given), or one call of a plugin (600).

    Raises:
        EvalError: There is no verifier, an option is missing, or one is given that its kind does not have.
        VerificationError: The rubric is gone.
    """
    ref = read_verifier(Path(file)) if file else _declared_verifier(run)
    given = {
        "rubrics": rubrics,
        "rubric_version": rubric_version,
        "model": model,
        "plugin": plugin,
        "plugin_digest": plugin_digest,
        "processes": processes,
        "timeout_seconds": timeout_seconds,
    }
    strange = [
        name for name, value in given.items() if value not in ("", None) and name not in _OPTIONS_OF_KIND[ref.kind]
    ]
    if strange:
        raise EvalError(f"a verifier of kind {ref.kind} has no option {strange[0]!r}", fix="leave it out")
    if processes is not None and processes < 1:
        raise EvalError(f"option 'processes' must be at least 1, not {processes}", fix="processes=1")
    folder = Path(plugin) if plugin else Path(file).parent if file.endswith(".json") else None
    if ref.kind == "plugin" and folder is not None and not (folder / "manifest.json").is_file():
        raise EvalError(
            f"{folder} is no plugin: it holds no manifest.json",
            fix="name the folder that holds manifest.json with plugin=FOLDER",
        )
    setup = VerifierSetup(
        rubrics=RubricFolder(Path(rubrics)) if rubrics else None,
        judge=lambda: ChatJudge(model=model),
        rubric_version=rubric_version,
        plugin_folder=folder,
        plugin_digest=plugin_digest,
        plugin_processes=1 if processes is None else processes,
        timeout_seconds=timeout_seconds,
    )
    return VerifierGrader(resolve_verifier(ref, setup))


def make_vlm_judge(
    run: RunFolder,
    /,
    rubric: str,
    rubrics: str = "",
    rubric_version: str = "",
    model: str = "",
    camera: str = "",
    frames: int = 8,
    longest_side: int = 512,
    votes: int = 1,
    temperature: float | None = None,
    timeout_seconds: float = 120.0,
    max_completion_tokens: int = 2048,
    prompt_price: float = 0.0,
    completion_price: float = 0.0,
) -> VlmJudge:
    """The grader ``vlm_judge``.

    Args:
        run: The run to grade.
        rubric: A file of a rubric, or ``<owner>/<name>`` in ``rubrics``.
        rubrics: The folder of rubrics.
        rubric_version: In place of the newest, of a rubric in ``rubrics``.
        model: In place of ``VERIFYIT_JUDGE_MODEL``.
        camera: Whose video; needed where there are several.
        frames: Pictures of the video.
        longest_side: Pixels of a picture's longer side.
        votes: How often the model is asked.
        temperature: Of the sampling.
        timeout_seconds: For a whole exchange.
        max_completion_tokens: Budget of a reply.
        prompt_price: Per million tokens that are sent.
        completion_price: Per million tokens that come back.

    Raises:
        EvalError: There is no such rubric, or an option is out of range.
        GradingInfraError: No address or no model is configured.
    """
    options = VlmOptions(
        frames=frames,
        longest_side=longest_side,
        camera=camera,
        votes=votes,
        temperature=temperature,
        timeout_seconds=timeout_seconds,
        max_completion_tokens=max_completion_tokens,
        prompt_price=prompt_price,
        completion_price=completion_price,
    )
    found = _rubric(rubric, rubrics, rubric_version)
    # Once here, and not once an episode.
    if not run.videos.is_dir():
        raise EvalError(f"{run.path} holds no videos to look at", fix="run with --video all")
    import_extra("httpx", extra="judge")
    import_extra("av", extra="video")
    return VlmJudge(found, JudgeConnection.from_environment(), run.videos, model=model, options=options)


def make_operator(run: RunFolder, /, by: str = "", player: str = "") -> OperatorGrader:
    """The grader ``operator``: a person at the terminal.

    Args:
        run: The run to grade.
        by: Who judges.
        player: A command that plays the videos it is given; they are named without one.
    """
    return OperatorGrader(by, videos=run.videos, player=player)


def make_predicate(run: RunFolder, /, tolerance: float = 1e-6) -> PredicateGrader:
    """The grader ``predicate``: the environment is made as the run's manifest says.

    Args:
        run: The run to grade.
        tolerance: How far a replayed observation may lie from the recorded one.

    Raises:
        EvalError: The manifest does not say how to make the environment.
    """
    env = _member(read_manifest(run.manifest), "env", run)
    name, options = env.get("ref"), env.get("options", {})
    if not isinstance(name, str) or not isinstance(options, dict):
        raise EvalError(
            f"{run.manifest} names no env factory: the run was given an object, which cannot be made again",
            fix="run it from the command line, which writes down what the environment is made from",
        )
    refuse_elsewhere(name, "the grader predicate makes the environment in this process")
    availability = env_availability(name)
    if not availability.usable:
        raise EvalError(f"env {name!r} cannot be made here: {', '.join(availability.missing)}", fix=availability.fix)
    made = make_env_factory(name, cast("dict[str, Any]", options), {})

    def make_env(task: Any) -> Any:
        return made.value(task, **made.options)

    return PredicateGrader(make_env, identity=thaw(made.ref), tolerance=tolerance)


def make_verdict(
    run: RunFolder, /, file: str, tests: str = "", source: str | None = None, workspace: str | None = None
) -> VerdictGrader:
    """The grader ``verdict``: any mode of the grader contract.

    Args:
        run: The run to grade; nothing of it is needed.
        file: A ``verifier.toml``.
        tests: The folder of the files it names; that of ``file`` unless given.
        source: Where the answer stands in the trace (``action``, ``reply:<path>``, ...).
        workspace: The folder that an execution mode judges, in place of ``source``.

    Raises:
        EvalError: The file cannot be read, or there is neither or both of source and workspace.
        SpecError: It is no specification.
    """
    del run
    path = Path(file)
    try:
        spec = parse_spec(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise EvalError(
            f"cannot read the specification {path}: {type(error).__name__}", fix="name a readable verifier.toml"
        ) from error
    return VerdictGrader(
        spec, Path(tests) if tests else path.parent, Path(workspace) if workspace else None, source=source
    )


def _declared_verifier(run: RunFolder) -> VerifierRef:
    declared = _member(read_manifest(run.manifest), "benchmark", run).get("verifier")
    if not isinstance(declared, dict):
        raise EvalError("the run's benchmark declares no verifier", fix="--grader verifier:<file that declares one>")
    return VerifierRef.from_dict(cast("dict[str, Any]", declared), source=str(run.manifest))


def _member(manifest: Mapping[str, Any], name: str, run: RunFolder) -> dict[str, Any]:
    found = manifest.get(name)
    if not isinstance(found, dict):
        raise EvalError(
            f"{run.manifest}: {name}: is missing or no object",
            fix="restore the manifest as the run wrote it, or run it again",
        )
    return cast("dict[str, Any]", found)


def _rubric(rubric: str, rubrics: str, version: str) -> Rubric:
    if rubrics:
        ref = VerifierRef("rubric", rubric)
        owner, _, name = ref.ref.partition("/")
        return RubricFolder(Path(rubrics)).get(owner, name, version)
    if version:
        raise EvalError("option 'rubric_version' is of a rubric in a folder of rubrics", fix="rubrics=<folder>")
    path = Path(rubric)
    return read_rubric(path, owner="file", name=path.stem)


def _parse(text: str) -> tuple[str, list[str]]:
    """Name and options of ``NAME:OPTIONS`` or ``package.module:Attr:OPTIONS``."""
    name, _, rest = text.partition(":")
    known: Callable[[str], bool] = {plugin.name for plugin in plugins.plugins("graders")}.__contains__
    if not known(name) and rest:
        attribute, _, rest = rest.partition(":")
        name = f"{name}:{attribute}"
    return name, [part for part in rest.split(",") if part]


def _with_first_name(given: list[str], names: list[str], what: str) -> list[str]:
    if not given or "=" in given[0]:
        return given
    if not names:
        raise EvalError(f"{what} has no options, so it takes no {given[0]!r}", fix="leave it out")
    return [f"{names[0]}={given[0]}", *given[1:]]
