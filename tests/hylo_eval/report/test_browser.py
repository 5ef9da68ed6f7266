"""The page in a real browser: it draws without a complaint, asks nobody, works by keyboard, and text stays text."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hylo_eval.report.discordant import compare_episodes
from hylo_eval.report.page import PageOptions, render_page
from hylo_eval.report.sections import Section
from hylo_eval.report.server import make_server
from hylo_eval.traces.layout import RunFolder
from tests.chromium import Page, chromium
from tests.hylo_eval.report.conftest import HANDLER, SCRIPT, summary_of, write_answered_run, write_hostile_run
from tests.pictures import write_picture_run
from tests.runs import keys, unit, write_run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One browser for all."""
    with chromium(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(autouse=True)
def no_complaint(browser: Page) -> Iterator[None]:
    """No console error, no exception, no refused load, no request but for the page and what is in it."""
    browser.complaints.clear()
    browser.requests.clear()
    yield
    assert browser.complaints == []
    outside = [
        url
        for url in browser.requests
        if not url.startswith(("file:", "data:", "blob:", "about:", "http://127.0.0.1:"))
    ]
    assert outside == []


def write(path: Path, page: bytes) -> str:
    """Write a page and give its address."""
    path.write_bytes(page)
    return path.as_uri()


@pytest.fixture
def pair(tmp_path: Path) -> str:
    """Two runs with pictures; seed 1 alone is won by the first."""
    pytest.importorskip("av")
    runs = [summary_of(write_picture_run(tmp_path, name, won=won).run) for name, won in (("a", (1,)), ("b", ()))]
    rival = compare_episodes(*runs, 1, sections=(), refused=())
    return write(tmp_path / "pair.html", render_page(runs, [rival], PageOptions(path=tmp_path / "pair.html")))


@pytest.mark.parametrize("dark", [False, True])
def test_everything_is_drawn_in_light_and_dark(browser: Page, tmp_path: Path, dark: bool) -> None:
    """All four charts, in colours of their theme, after the switch too."""
    address = write(tmp_path / "page.html", render_page([summary_of(write_hostile_run(tmp_path, "run"))]))
    browser.open(address, dark=dark)
    assert browser.run("document.querySelectorAll('.chart .main-svg').length") >= 4
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('.xtick text')).fill"
    light, night = ("rgb(255, 255, 255)", "rgb(27, 31, 36)"), ("rgb(20, 23, 28)", "rgb(232, 235, 239)")
    assert (browser.run(paper), browser.run(ink)) == (night if dark else light)
    browser.run("document.getElementById('theme').click()")
    browser.wait(f"{ink} === '{(light if dark else night)[1]}'")
    assert browser.run(paper) == (light if dark else night)[0]


def test_text_from_outside_stays_text(browser: Page, tmp_path: Path) -> None:
    """A script in an instruction, a handler in an agent's version, both in an error and a state's name: nothing runs."""
    browser.open(write(tmp_path / "page.html", render_page([summary_of(write_hostile_run(tmp_path, "run"))])))
    for place in range(3):
        browser.run(f"location.hash = '#e=0,{place}'")
        browser.wait(f"document.getElementById('episode').open && location.hash === '#e=0,{place}'")
        browser.wait("document.querySelector('#episode-body .sides')")
        browser.run("document.querySelectorAll('#episode-body details').forEach((item) => { item.open = true; })")
        shown = browser.run("document.getElementById('episode').innerText")
        assert SCRIPT in shown
    assert "owned" not in browser.run("document.title").replace(SCRIPT, "")
    assert browser.run("document.querySelectorAll('img, #episode script, #episode a, main script').length") == 0


def test_the_keyboard_is_enough(browser: Page, tmp_path: Path) -> None:
    """Tab comes to the grid once, arrows move in it, Enter opens, arrows turn the leaves, Escape goes back to the cell."""
    run = write_run(tmp_path, "run", keys(0), bench=unit(4, "unit/lift", "unit/push")).run
    browser.open(write(tmp_path / "page.html", render_page([summary_of(run)])))
    focused = "document.activeElement.getAttribute('href')"
    for _ in range(40):
        browser.press("Tab")
        if (browser.run(focused) or "").startswith("#e="):
            break
    assert browser.run(focused) == "#e=0,0"
    browser.press("ArrowRight")
    browser.press("ArrowDown")
    assert browser.run(focused) == "#e=0,5"
    browser.press("ArrowLeft")
    assert browser.run(focused) == "#e=0,4"
    browser.press("Enter")
    title = "document.getElementById('episode').open && document.getElementById('episode-title').textContent"
    browser.wait(f"{title} === 'unit/push#0'")
    browser.press("ArrowRight")
    browser.wait(f"{title} === 'unit/push#1'")
    browser.press("Escape")
    browser.wait("!document.getElementById('episode').open")
    assert browser.run(focused) == "#e=0,5"


def test_a_question_is_shown_with_reply_and_truth(browser: Page, tmp_path: Path) -> None:
    """As text, whatever the reply is; there is one step, so no slider to go through it."""
    run = write_answered_run(tmp_path, "run", f"{SCRIPT}\n{HANDLER}")
    browser.open(f"{write(tmp_path / 'page.html', render_page([summary_of(run)]))}#e=0,0")
    browser.wait("document.querySelector('#episode-body .truth')")
    assert browser.run("document.querySelector('#episode-body .reply').textContent") == f"{SCRIPT}\n{HANDLER}"
    assert (
        browser.run("JSON.parse(document.querySelector('#episode-body .truth').textContent).answer.type") == "integer"
    )
    assert browser.run("document.querySelector('#episode-body .pictures').innerText").startswith("image: sha256:")
    assert browser.run("document.querySelectorAll('.player').length") == 0
    assert browser.run("document.querySelectorAll('#episode-body img').length") == 0
    assert "owned" not in browser.run("document.title")
    assert browser.run("document.getElementById('chart-times')") is None


def test_two_videos_run_in_step(browser: Page, pair: str) -> None:
    """A discordant pair shows both episodes; the slider puts both videos at the same step, and the page says where they part."""
    browser.open(f"{pair}#pair=1,1,1")
    browser.wait("document.querySelectorAll('#episode video').length === 2")
    browser.wait("[...document.querySelectorAll('#episode video')].every((video) => video.readyState >= 2)")
    assert "They part at step 1: success" in browser.run("document.getElementById('episode').innerText")
    browser.run(
        "(() => { const slider = document.querySelector('.player input'); slider.value = 2;"
        " slider.dispatchEvent(new Event('input')); })()"
    )
    times = "[...document.querySelectorAll('#episode video')].map((video) => video.currentTime.toFixed(3)).join()"
    # Twenty frames a second, in the middle of the third one.
    browser.wait(f"{times} === '0.125,0.125'")
    assert browser.run("document.querySelector('.player output').textContent") == "step 1 of 10"


def test_a_page_that_was_moved_says_that_its_videos_are_not_there(browser: Page, tmp_path: Path) -> None:
    """Those that did not fit in play from beside it; where their link leads nowhere, words stand in their place."""
    pytest.importorskip("av")
    run = write_picture_run(tmp_path / "runs", "run", count=1).run
    path = tmp_path / "page.html"
    page = render_page([summary_of(run)], options=PageOptions(path=path, max_episodes=0))
    browser.open(f"{write(path, page)}#e=0,0")
    browser.wait("document.querySelector('#episode video')?.readyState >= 2")
    shutil.rmtree(run.videos)
    browser.open(f"{write(path, page)}#e=0,0")
    browser.wait("document.getElementById('episode-body').innerText.includes('not in this page and not at')")
    browser.complaints[:] = [text for text in browser.complaints if "ERR_FILE_NOT_FOUND" not in text]


def set_state(queue: Path, key: str, state: str) -> None:
    """Write the state of an item into a queue."""
    with contextlib.closing(sqlite3.connect(queue)) as connection, connection:
        connection.execute("update items set state = ? where key = ?", (state, key))


def test_a_live_page_brings_new_episodes_by_itself(browser: Page, tmp_path: Path) -> None:
    """A second outcome arrives while nobody touches the page; the plots of an episode are fetched when it is opened."""
    folder: Any = write_run(tmp_path, "run", keys(1), bench=unit(2)).run
    folder.evallog.unlink()
    # Its trace is there already, as that of a worker is that has not told the queue yet.
    set_state(folder.queue, "unit/task#1", "pending")
    server = make_server(RunFolder(folder.path))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        browser.open(f"http://127.0.0.1:{server.server_address[1]}/")
        assert browser.run("document.querySelectorAll('.grid .cell').length") == 1
        set_state(folder.queue, "unit/task#1", "done")
        browser.wait("document.querySelectorAll('.grid .cell').length === 2 && document.documentElement.dataset.ready")
        browser.run("location.hash = '#e=0,1'")
        browser.wait("document.querySelectorAll('#episode .chart .main-svg').length > 0")
    finally:
        browser.call("Page.navigate", url="about:blank")
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_first_screen_is_the_answer(browser: Page, tmp_path: Path) -> None:
    """At 1280 x 800: the rates, in a sentence what they come to, and the chart by task; the tables come after."""
    runs = [
        summary_of(write_run(tmp_path, name, won, bench=unit(4)).run) for name, won in (("a", keys(0, 1)), ("b", ()))
    ]
    section = Section(title="success", facts=(("pairs", "4"),))
    rival = compare_episodes(*runs, 1, sections=(section,), refused=(), verdict="+50 points: the candidate is better.")
    address = write(tmp_path / "page.html", render_page(runs, [rival]))
    browser.open(address, width=1280, height=800)
    bottom = "document.querySelector('{}').getBoundingClientRect().bottom"
    seen = [browser.run(bottom.format(what)) for what in (".rate", ".verdict", "#chart-tasks .main-svg")]
    assert seen == sorted(seen)
    assert seen[-1] <= 800
    assert browser.run("document.querySelector('table').getBoundingClientRect().top") > seen[-1] - 1


def test_the_chart_of_the_paired_differences_keeps_within_any_screen(browser: Page, tmp_path: Path) -> None:
    """Letters are as large on a telephone; bars have the colours of the runs."""
    names = [f"family/a_task_with_quite_a_long_name_{number}" for number in range(3)]
    bench = unit(8, *names)
    won = [keys(*range(8), task_id=names[0]), keys(*range(8), task_id=names[1])]
    runs = [summary_of(write_run(tmp_path, name, won[place], bench=bench).run) for place, name in enumerate("ab")]
    rival = compare_episodes(*runs, 1, sections=(), refused=())
    address = write(tmp_path / "page.html", render_page(runs, [rival]))
    for width in (390, 1280):
        browser.open(address, width=width, height=844)
        assert browser.run("document.documentElement.scrollWidth") == width
        places = "[...document.querySelectorAll('.pairs text, .pairs rect')].map(e => e.getBoundingClientRect())"
        assert browser.run(f"Math.max(...{places}.map(box => box.right))") <= width
        assert browser.run(f"Math.min(...{places}.map(box => box.left))") >= 0
    fill = "getComputedStyle(document.querySelector('.pairs rect.{}')).fill"
    assert browser.run(fill.format("ours")) == "rgb(0, 114, 178)"
    assert browser.run(fill.format("theirs")) == "rgb(213, 94, 0)"


def test_a_telephone_shows_the_page_without_scrolling_sideways(browser: Page, tmp_path: Path) -> None:
    """390 pixels: the cells of a task lie in rows, and the bars have half of the width at least."""
    names = [f"family/a_task_with_quite_a_long_name_{number}" for number in range(3)]
    run = write_run(tmp_path, "run", bench=unit(8, *names)).run
    browser.open(write(tmp_path / "page.html", render_page([summary_of(run)])), width=390, height=844)
    assert browser.run("document.documentElement.scrollWidth") == 390
    rows = "new Set([...document.querySelectorAll('.cells')][0].querySelectorAll('.cell').values().map(c => c.offsetTop)).size"
    assert browser.run(rows) == 1
    plot = "document.querySelector('#chart-tasks .plot').getBoundingClientRect().width"
    assert browser.run("document.querySelector('#chart-tasks .bglayer rect, #chart-tasks .xy .gridlayer') !== null")
    assert browser.run("document.getElementById('chart-tasks')._fullLayout._size.w") >= 180, browser.run(plot)
