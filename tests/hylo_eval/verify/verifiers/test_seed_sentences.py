"""Every sentence of the verifier page that can be tested, in its order; each docstring quotes its sentence."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hylo_core import ContractError
from hylo_core.verifier import VerifierRef
from hylo_eval import VerificationError
from hylo_eval.verify.verifiers.contract import Verifier
from hylo_eval.verify.verifiers.endpoint import EndpointVerifier
from hylo_eval.verify.verifiers.resolving import VerifierSetup, read_verifier, resolve_verifier
from hylo_eval.verify.verifiers.rubrics import RubricFolder
from tests.hylo_eval.verify.modes.test_judge import Server, serving
from tests.verifiers import ARITHMETIC, PLUGIN, RUBRIC, SayingJudge, declare, write_plugin, write_rubric

TASK = {"prompt": "What is 6 * 7?", "reference": "42"}


def endpoint(server: Server) -> VerifierRef:
    """The reference of a local server."""
    return VerifierRef("endpoint", f"http://127.0.0.1:{server.server_port}/score")


def rubric(root: Path, judge: SayingJudge | None = None) -> Verifier:
    """The verifier of the rubric in a folder."""
    return resolve_verifier(RUBRIC, VerifierSetup(rubrics=RubricFolder(root), judge=lambda: judge or SayingJudge()))


def plugin(folder: Path, ref: str = PLUGIN.ref) -> Verifier:
    """The verifier of a plugin folder."""
    return resolve_verifier(VerifierRef("plugin", ref), VerifierSetup(plugin_folder=folder))


def test_a_manifest_declares_kind_and_ref(tmp_path: Path) -> None:
    """`{ "verifier": { "kind": "rubric", "ref": "alice/arithmetic-correctness" } }`"""
    path = tmp_path / "manifest.json"
    path.write_text('{ "verifier": { "kind": "rubric", "ref": "alice/arithmetic-correctness" } }')
    assert read_verifier(path) == RUBRIC


def test_it_is_always_a_reference() -> None:
    """它永远是一个指向「已经拥有这个答案的东西」的引用, 而不是平台自己实现的东西。"""
    assert RUBRIC.to_dict() == {"kind": "rubric", "ref": "alice/arithmetic-correctness"}
    with pytest.raises(TypeError, match="ref"):
        VerifierRef("rubric")  # type: ignore[call-arg]
    with pytest.raises(ContractError, match="ref: must not be empty"):
        VerifierRef("rubric", "")


@pytest.mark.parametrize(
    ("kind", "ref"),
    [
        ("rubric", "alice/arithmetic-correctness"),
        ("plugin", "verify:score_arithmetic"),
        ("endpoint", "https://verifier.corp/score"),
    ],
)
def test_three_kinds_each_with_a_ref_of_its_own_form(kind: Any, ref: str) -> None:
    """rubric: 一个 Rubric 的 <owner>/<name> · plugin: module:callable · endpoint: 一个 HTTP URL"""
    assert VerifierRef(kind, ref).ref == ref
    for other in {"rubric", "plugin", "endpoint"} - {kind}:
        with pytest.raises(ContractError, match="ref"):
            VerifierRef(other, ref)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["builtin", "built-in", "python", "Rubric", "", None, 1])
def test_there_is_no_fourth_kind_least_of_all_a_built_in_one(kind: Any, tmp_path: Path) -> None:
    """刻意没有第四种, 尤其没有「内置」这一种。"""
    with pytest.raises(ContractError, match="must be one of 'rubric', 'plugin', 'endpoint'"):
        VerifierRef(kind, "alice/x")
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"verifier": {"kind": kind, "ref": "alice/x"}}))
    with pytest.raises(ContractError, match=r"manifest\.json: verifier\.kind"):
        read_verifier(path)


def test_whatever_the_kind_a_resolved_verifier_looks_the_same(tmp_path: Path) -> None:
    """无论哪一种, 解析出来的 verifier 在平台侧长得都一样: VerifyFn = Callable[[Mapping[str, Any], Any], float]"""
    with serving('{"reward": 1}') as server:
        found = [
            rubric(write_rubric(tmp_path / "rubrics")),
            plugin(write_plugin(tmp_path / "plugin")),
            resolve_verifier(endpoint(server), VerifierSetup()),
        ]
        rewards = [verifier(TASK, "so 42") for verifier in found]
    assert rewards == [1.0, 1.0, 1.0]
    assert {type(reward) for reward in rewards} == {float}
    assert {tuple(inspect.signature(verifier).parameters) for verifier in found} == {("task", "trajectory")}


def test_the_judge_scores_by_the_named_version_of_the_rubric(tmp_path: Path) -> None:
    """平台裁判按指定的 rubric 版本给轨迹打分。"""
    judge = SayingJudge()
    verifier = rubric(write_rubric(tmp_path, "first"), judge)
    verifier(TASK, "42")
    write_rubric(tmp_path, "second", version="2")
    verifier(TASK, "42")
    assert [(asked.rubric.version, asked.rubric.text) for asked in judge.asked] == [("1", "first")] * 2
    record = verifier.verify(TASK, "42").metadata["rubric"]
    assert record == {"name": RUBRIC.ref, "version": "1", "digest": judge.asked[0].rubric.digest}
    assert rubric(tmp_path).verify(TASK, "42").metadata["rubric"]["version"] == "2"


@pytest.mark.parametrize("reference", ["42", None])
def test_the_judge_gets_prompt_flattened_text_and_the_reference_if_there_is_one(
    tmp_path: Path, reference: str | None
) -> None:
    """它拿到任务的 prompt、摊平后的轨迹文本, 以及任务的 reference(如果有)。"""
    judge = SayingJudge()
    task = {"prompt": "What is 6 * 7?", "params": {"secret": 1}} | ({"reference": reference} if reference else {})
    rubric(write_rubric(tmp_path), judge)(task, [{"role": "assistant", "content": "so "}, "42"])
    (asked,) = judge.asked
    assert (asked.prompt, asked.trajectory, asked.reference) == ("What is 6 * 7?", "so 42", reference)


def test_the_platform_flattens_the_trajectory(tmp_path: Path) -> None:
    """字符串保持原样, 消息对象取它的 content 或 text, 列表则拼接起来。"""
    judge = SayingJudge()
    verifier = rubric(write_rubric(tmp_path), judge)
    for trajectory in (" a\n", {"content": "a"}, {"text": "a"}, ["a", {"content": "b"}, {"text": "c"}]):
        verifier(TASK, trajectory)
    assert [asked.trajectory for asked in judge.asked] == [" a\n", "a", "a", "abc"]


def test_the_plugin_of_the_page_scores_as_the_page_says(tmp_path: Path) -> None:
    """`{ "verifier": { "kind": "plugin", "ref": "verify:score_arithmetic" } }`"""
    verifier = plugin(write_plugin(tmp_path))
    assert [verifier(TASK, text) for text in ("it is 42", "41", "")] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("gate", ["kind", "declared", "fetched", "installed"])
def test_a_plugin_is_imported_only_behind_the_three_digests(
    tmp_path: Path, gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """从一个已经过了 digest 三道闸的 kind: environment 插件里 import。"""
    source = "from pathlib import Path\nPath(r'{}').touch()\n".format(tmp_path / "imported") + ARITHMETIC
    folder = write_plugin(tmp_path / "plugin", source)
    verifier = plugin(folder)
    if gate == "kind":
        declare(folder, kind="policy")
        verifier = plugin(folder)
    elif gate == "declared":
        declare(folder, digest=f"sha256:{'0' * 64}")
        verifier = plugin(folder)
    elif gate == "fetched":
        (folder / "more.py").write_text("")
        declare(folder)
    else:

        def copied_badly(tree: Any, target: Path) -> None:
            for name, content in tree.files.items():
                (target / name).write_bytes(content + b"\n")

        monkeypatch.setattr("hylo_eval.verify.verifiers.plugin_tree.PluginTree.write", copied_badly)
    with pytest.raises(VerificationError, match="kind" if gate == "kind" else "digest"):
        verifier(TASK, "42")
    assert not (tmp_path / "imported").exists()


def test_the_import_is_lazy_and_happens_once(tmp_path: Path) -> None:
    """延迟 import 且只 import 一次"""
    counter = tmp_path / "imports"
    source = f"with open(r'{counter}', 'a') as file:\n    file.write('x')\n{ARITHMETIC}"
    verifier = plugin(write_plugin(tmp_path / "plugin", source))
    assert not counter.exists()
    assert [verifier(TASK, "42") for _ in range(3)] == [1.0] * 3
    assert counter.read_text() == "x"


def test_a_failed_import_shows_at_the_first_task(tmp_path: Path) -> None:
    """import 失败会在第一个任务上暴露, 那时它读起来像一个部署问题"""
    verifier = plugin(write_plugin(tmp_path, "import a_package_that_is_not_here\n"))
    with pytest.raises(VerificationError, match="importing it raised ModuleNotFoundError") as caught:
        verifier(TASK, "42")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("returned", "reward"), [("1", 1.0), ("True", 1.0), ("'0.5'", 0.5), ("-2", -2.0), ("None", None), ("[1]", None)]
)
def test_what_it_returns_must_be_accepted_by_float(tmp_path: Path, returned: str, reward: float | None) -> None:
    """返回值必须能被 float() 接受。"""
    verifier = plugin(write_plugin(tmp_path, f"def score_arithmetic(task, trajectory):\n    return {returned}\n"))
    if reward is not None:
        assert verifier(TASK, "42") == reward
        return
    with pytest.raises(VerificationError, match="TypeError"):
        verifier(TASK, "42")


def test_raising_is_allowed_and_right(tmp_path: Path) -> None:
    """抛异常是允许且正确的; if not task.get("reference"): raise ValueError(...)"""
    source = """\
def score_arithmetic(task, trajectory):
    if not task.get("reference"):
        raise ValueError("this task has no reference; it cannot be scored")
    return 1.0
"""
    verifier = plugin(write_plugin(tmp_path, source))
    assert verifier(TASK, "42") == 1.0
    with pytest.raises(VerificationError, match="this task has no reference") as caught:
        verifier({"prompt": "x"}, "42")
    assert isinstance(caught.value.__cause__, ValueError)


def test_the_platform_posts_json_and_gets_a_reward_back() -> None:
    """{ "task": { "prompt": "...", "reference": "..." }, "trajectory": "..." } -> { "reward": 0.83 }"""
    with serving('{"reward": 0.83}') as server:
        assert resolve_verifier(endpoint(server), VerifierSetup())(TASK, "so 42") == 0.83
        (request,) = server.requests
    assert request["path"] == "/score"
    assert request["body"] == {"task": TASK, "trajectory": "so 42"}


@pytest.mark.parametrize("reply", ["{}", '{"score": 1}', '{"reward": "0.83"}', '{"reward": null}', '{"reward": true}'])
def test_a_reply_without_a_number_as_reward_is_an_error_and_no_zero(reply: str) -> None:
    """响应里没有 reward 字段、或者它不是数字, 都算错误, 不算零分。"""
    with serving(reply) as server, pytest.raises(VerificationError, match="reward"):
        resolve_verifier(endpoint(server), VerifierSetup())(TASK, "42")


def test_the_default_timeout_is_sixty_seconds() -> None:
    """默认超时 60 秒。"""
    assert inspect.signature(EndpointVerifier).parameters["timeout_seconds"].default == 60.0
    resolved = resolve_verifier(VerifierRef("endpoint", "https://verifier.corp/score"), VerifierSetup())
    assert resolved._timeout_seconds == 60.0


def test_an_endpoint_that_is_down_raises() -> None:
    """你的 verifier 答不出来时——端点挂了 …… 平台会抛异常。它不会报一个 0.0 的 reward。"""
    with serving("{}") as server:
        ref = endpoint(server)
    with pytest.raises(VerificationError, match=r"endpoint verifier 'http://127\.0\.0\.1"):
        resolve_verifier(ref, VerifierSetup())(TASK, "42")


def test_a_module_that_cannot_be_imported_raises(tmp_path: Path) -> None:
    """你的 verifier 答不出来时——模块 import 不了 …… 平台会抛异常。它不会报一个 0.0 的 reward。"""
    write_plugin(tmp_path)
    for ref, error in (("absent:score", "ModuleNotFoundError"), ("verify:absent", "AttributeError")):
        with pytest.raises(VerificationError, match=f"plugin verifier '{ref}'.*{error}"):
            plugin(tmp_path, ref)(TASK, "42")


def test_a_rubric_that_is_gone_raises(tmp_path: Path) -> None:
    """你的 verifier 答不出来时——rubric 没了 …… 平台会抛异常。它不会报一个 0.0 的 reward。"""
    with pytest.raises(VerificationError, match="rubric verifier 'alice/arithmetic-correctness'"):
        rubric(tmp_path)


def test_the_error_names_the_ref_that_stopped_and_why(tmp_path: Path) -> None:
    """错误会被包装成 VerificationError 并带上失败的那个 ref"""

    def broken(_: Any) -> float:
        raise RuntimeError("out of memory")

    with pytest.raises(VerificationError) as caught:
        rubric(write_rubric(tmp_path), SayingJudge(broken))(TASK, "42")
    error = caught.value
    assert (error.kind, error.ref) == ("rubric", RUBRIC.ref)
    assert "out of memory" in error.reason
    assert isinstance(error.__cause__, RuntimeError)


def test_the_platforms_own_modules_are_no_verifier(tmp_path: Path) -> None:
    """住在控制平面里的 verifier, …… 都会成为「什么算对」的第二个定义: a ref never reaches a module outside its plugin."""
    write_plugin(tmp_path)
    for ref in ("hylo_eval.verify.grade:grade", "json:loads"):
        assert ref.partition(":")[0].partition(".")[0] in sys.modules
        with pytest.raises(VerificationError, match="ModuleNotFoundError"):
            plugin(tmp_path, ref)(TASK, "42")
