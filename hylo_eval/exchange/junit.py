"""A log as JUnit XML: a test case an episode."""

from __future__ import annotations

from hylo_core.score import Score
from hylo_eval.errors import EvalError
from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.report.junit import Case, render_junit
from hylo_eval.versions import stand_in_sentence


def encode_junit(log: EvalLog) -> bytes:
    """An episode that succeeded passes, one that failed is a failure, one that nobody could score is an error.

    Which score decides is the first that the log declares to be 0 or 1.

    Raises:
        EvalError: No score is.
    """
    deciding = next((name for name, declaration in log.eval.scorers.items() if declaration.binary), None)
    if deciding is None:
        raise EvalError(
            f"the log of {log.run_id!r} declares no score of 0 and 1, so nothing passes or fails",
            fix="hylo-eval rescore RUN --scorer success --name NAME, then export --scoring NAME",
        )
    said = stand_in_sentence("the run", log.eval.manifest.get("versions"))
    cases = [_case(sample.key, deciding, sample.scores.get(deciding)) for sample in log.samples]
    suite = f"{log.benchmark.id} ({log.benchmark.split}): {log.agent.name} {log.agent.version}"
    return render_junit(f"{suite}; {said}" if said else suite, cases)


def _case(key: str, scorer: str, score: Score | None) -> Case:
    if score is None or score.value is None:
        reason = "not scored" if score is None else str(score.metadata.get("reason", "unspecified"))
        explanation = "" if score is None else score.explanation
        return Case(key, "inconclusive", f"{scorer} abstained: {reason}\n{explanation}".strip())
    verdict = "pass" if score.value == 1.0 else "fail"
    return Case(key, verdict, f"{scorer} is {score.value:g}\n{score.explanation}".strip())
