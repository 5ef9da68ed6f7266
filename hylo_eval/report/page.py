"""One self-contained HTML page about one run or several: no network, nothing from outside is ever markup.

Numbers, tables and the grid are HTML written by a template that escapes everything; charts and episodes are drawn by
the page's own script from data beside it. The content security policy names the digests of the two scripts that may run
(ours and Plotly's), so that a text which slipped through as markup would still run nothing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from hylo_eval.compare.agent_labels import agent_labels, side_labels
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.numerals import are, counted, percent
from hylo_eval.report.discordant import Rival
from hylo_eval.report.episode_detail import describe_episode
from hylo_eval.report.films import Film, fit_films
from hylo_eval.report.page_content import (
    Place,
    make_abstentions,
    make_charts,
    make_facts,
    make_failures,
    make_grids,
    make_notices,
)
from hylo_eval.report.run_summary import RunSummary
from hylo_eval.report.text import printable, reasons
from hylo_eval.scoring.lengths import ENDS_FIRST
from hylo_eval.traces.reader import read_trace

MAX_BYTES: Final = 15_000_000
"""The size a page keeps within unless it is told otherwise: what a mail may carry."""
MAX_EPISODES: Final = 60
"""Episodes whose plots are in the page unless it is told otherwise."""
_ORDER: Final = {"failure": 0, "abstained": 1, "success": 2}
_DEFAULT_RATE: Final = 10.0


@attrs.frozen(kw_only=True)
class PageOptions:
    """How a page is made.

    Attributes:
        path: Where it will lie, for links to videos that are not in it; None where a server serves them.
        max_episodes: Episodes whose plots are in it.
        max_bytes: What it keeps within; videos are left out first.
        live: What a server calls the state of the run it shows; empty for a page that stands alone.
    """

    path: Path | None = None
    max_episodes: int = MAX_EPISODES
    max_bytes: int = MAX_BYTES
    live: str = ""


def render_page(runs: Sequence[RunSummary], rivals: Sequence[Rival] = (), options: PageOptions | None = None) -> bytes:
    """Make the page.

    Args:
        runs: What it is about; the first is the candidate.
        rivals: The first run's comparisons with the others.
        options: How.

    Returns:
        HTML in UTF-8; the same for the same runs.

    Raises:
        EvalError: There is no run; the extra ``report`` is not installed; or the page cannot be made as small as it
            should be.
    """
    if not runs:
        raise EvalError("a report is about at least one run", fix="name a run; hylo-eval ls lists them")
    options = options or PageOptions()
    chosen = choose_episodes(runs, rivals, options.max_episodes)
    details = dict(_details(runs, chosen))
    library = _library()
    # The page without any video; what is left is what the videos may take.
    bare = _assemble(runs, rivals, options, details, {}, library)
    if len(bare) > options.max_bytes:
        raise EvalError(
            f"the page takes {len(bare) / 1e6:.1f} MB without any video, more than {options.max_bytes / 1e6:g}",
            fix="--max-size, or fewer --episodes",
        )
    films = fit_films(runs, chosen, room=options.max_bytes - len(bare), page=options.path)
    return _assemble(runs, rivals, options, details, films, library)


def choose_episodes(runs: Sequence[RunSummary], rivals: Sequence[Rival], most: int) -> tuple[Place, ...]:
    """The episodes a page holds the steps of: discordant pairs first, then failures, abstentions and successes."""
    paired = [
        place for rival in rivals for pair in rival.pairs for place in ((0, pair.ours), (rival.parent, pair.theirs))
    ]
    rest = sorted(
        ((place, index) for place, run in enumerate(runs) for index in range(len(run.episodes))),
        key=lambda item: (_ORDER[runs[item[0]].episodes[item[1]].outcome], item[1], item[0]),
    )
    return tuple(list(dict.fromkeys([*paired, *rest]))[:most])


def _details(runs: Sequence[RunSummary], chosen: Iterable[Place]) -> Iterator[tuple[Place, dict[str, Any]]]:
    for place, index in chosen:
        trace = runs[place].episodes[index].record.trace
        # The steps of a trace that is not the one on record are nobody's.
        if trace is None or runs[place].episodes[index].changes:
            continue
        try:
            yield (place, index), describe_episode(read_trace(trace, digests="none"))
        except TraceError:
            # The summary says already that it cannot be read, and why.
            continue


def _assemble(
    runs: Sequence[RunSummary],
    rivals: Sequence[Rival],
    options: PageOptions,
    details: dict[Place, dict[str, Any]],
    films: dict[Place, list[Film]],
    library: str,
) -> bytes:
    charts = make_charts(runs)
    agents = agent_labels([run.record.agent_name for run in runs])
    data = {
        "charts": {chart.name: chart.figure for chart in charts if chart.figure is not None},
        "runs": [_run_data(run, agent) for run, agent in zip(runs, agents, strict=True)],
        "details": {f"{place},{index}": detail for (place, index), detail in details.items()},
        "films": {f"{place},{index}": [film.as_json() for film in found] for (place, index), found in films.items()},
        "partings": {
            f"{pair.ours},{rival.parent},{pair.theirs}": pair.parting for rival in rivals for pair in rival.pairs
        },
        "live": options.live,
    }
    blocks = [("data", _deflated(orjson.dumps(data))), ("plotly", library)]
    blocks += [(film.block, film.content) for found in films.values() for film in found if film.block]
    script = _template_file("report.js")
    environment = _environment()
    page = environment.get_template("report.html.jinja").render(
        title=_title(runs),
        policy=content_policy([script, _plotly().decode()], live=bool(options.live)),
        css=_markup(_template_file("report.css")),
        script=_markup(script),
        blocks=blocks,
        runs=runs,
        agents=agents,
        sides=side_labels([run.record.agent_name for run in runs], [run.record.run_id for run in runs]),
        rivals=rivals,
        charts=charts,
        tasks=list(dict.fromkeys(task for run in runs for task in run.by_task)),
        tags=list(dict.fromkeys(tag for run in runs for tag in run.by_tag)),
        grids=make_grids(runs, details.keys()),
        failures=make_failures(runs),
        abstentions=make_abstentions(runs),
        facts=make_facts(runs),
        partial=any(run.record.planned > run.success.n_attempted for run in runs),
        notices=make_notices(runs),
        left_out=_left_out(runs, details, films, options),
        live=options.live,
        ends_first=ENDS_FIRST,
        footer=f"Made by hylo-eval {'view' if options.live else 'report'}. Charts: Plotly.js (MIT).",
    )
    return page.encode()


def content_policy(scripts: Iterable[str], *, live: bool) -> str:
    """The page's content security policy: these scripts by digest; no network, but its own server when it is live."""
    digests = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    connect = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data: blob:; "
        f"media-src blob: file: 'self'; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def _run_data(run: RunSummary, agent: str) -> dict[str, Any]:
    hertz = run.record.value("env", "spec", "control_hz")
    return {
        "id": run.record.run_id,
        "agent": agent,
        "rate": hertz if isinstance(hertz, (int, float)) and 1 <= hertz <= 1000 else _DEFAULT_RATE,
        "episodes": [
            {
                "key": episode.record.key,
                "id": episode.record.episode_id,
                "outcome": episode.outcome,
                "status": episode.record.status,
                "steps": episode.steps,
                "explanation": episode.explanation,
                "instruction": episode.instruction[:2000],
                "changed": bool(episode.changes),
            }
            for episode in run.episodes
        ],
    }


def _left_out(
    runs: Sequence[RunSummary],
    details: dict[Place, dict[str, Any]],
    films: dict[Place, list[Film]],
    options: PageOptions,
) -> str:
    if options.live:
        return ""
    total = sum(len(run.episodes) for run in runs)
    said: list[str] = []
    if len(details) < total:
        said.append(
            f"The plots of {len(details)} of {counted(total, 'episode')} are in this page, "
            "discordant pairs and failures first; the others are summed up, and hylo-eval view shows them."
        )
    linked = sum(not film.block for found in films.values() for film in found)
    if linked:
        embedded = sum(bool(film.block) for found in films.values() for film in found)
        said.append(
            f"{counted(embedded, 'video')} {are(embedded)} in it; {linked} beside it {are(linked)} found "
            "while it stays where it was made."
        )
    return " ".join(said)


def _title(runs: Sequence[RunSummary]) -> str:
    names: Sequence[str] = [run.record.text("agent", "name") for run in runs]
    if len(set(names)) < len(names):
        names = side_labels([run.record.agent_name for run in runs], [run.record.run_id for run in runs])
    benchmarks = list(dict.fromkeys(run.record.text("benchmark", "id") for run in runs))
    return f"{' against '.join(names)} on {', '.join(benchmarks)}"


def _deflated(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise _missing(error) from error
    environment = jinja2.Environment(
        autoescape=True,
        # Escaping leaves control characters and changes of direction as they are; a page shows them.
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("template")),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {"percent": percent, "reasons": _reasons, "unfinished": _unfinished}
    environment.filters.update(filters)
    return environment


def _shown(value: Any) -> Any:
    return printable(value) if type(value) is str else value


def _reasons(counts: Mapping[str, int]) -> str:
    return reasons(dict(counts))


def _unfinished(run: RunSummary) -> str:
    """The rate over all planned episodes, had all that have no score failed, and had they all succeeded."""
    summary, planned = run.success, run.record.planned
    successes = round((summary.mean or 0.0) * summary.n_scored)
    return f"{percent(successes / planned)} and {percent((successes + planned - summary.n_scored) / planned)}"


def _markup(text: str) -> Any:
    """A file of our own, which the template must not escape."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own style sheet and script, no text from outside


def _template_file(name: str) -> str:
    return Path(__file__).with_name("template").joinpath(name).read_text(encoding="utf-8")


@cache
def _library() -> str:
    return _deflated(_plotly())


@cache
def _plotly() -> bytes:
    """Plotly's script, from its package; the package itself is not imported."""
    from importlib.util import find_spec

    found = find_spec("plotly")
    for place in (found.submodule_search_locations or ()) if found else ():
        path = Path(os.fspath(place), "package_data", "plotly.min.js")
        if path.is_file():
            return path.read_bytes()
    raise _missing(ModuleNotFoundError("No module named 'plotly'"))


def _missing(error: ImportError) -> EvalError:
    return EvalError(
        f"a report page needs packages that are not installed here ({error})",
        fix="python -m pip install 'hylo-eval[report]'",
    )
