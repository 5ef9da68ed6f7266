"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const bytes = (text) => Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const inflate = async (id) => {
    const stream = new Blob([bytes(byId(id).textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  // Every text from outside becomes a text node: nothing is ever parsed as HTML.
  const make = (tag, members = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(members)) {
      if (name in node) node[name] = value;
      else node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  };
  const escaped = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  let data;
  try {
    data = JSON.parse(await inflate("data"));
    const library = document.createElement("script");
    library.textContent = await inflate("plotly");
    document.head.append(library);
    if (!window.Plotly) throw new Error("the chart library did not start");
  } catch (error) {
    byId("failed").hidden = false;
    byId("failed").textContent = `This browser cannot draw the charts (${error.message}). Numbers and tables are complete.`;
    return;
  }
  const Plotly = window.Plotly;

  // Colours are named by role in the figures and taken from the style sheet, which knows light and dark.
  const colour = (role) => getComputedStyle(document.documentElement).getPropertyValue(`--${role}`).trim();
  const paint = (value, key) => {
    if (Array.isArray(value)) return value.map((item) => paint(item, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, paint(item, name)]));
    }
    if ((key === "color" || key === "fillcolor") && typeof value === "string") return colour(value) || value;
    return value;
  };
  const layout = (own) => {
    const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
    const painted = paint(own);
    return {
      margin: { l: 56, r: 12, t: 10, b: 42 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("text"), size: 12, family: getComputedStyle(document.body).fontFamily },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hoverlabel: { namelength: -1 },
      ...painted,
      xaxis: { ...axis, ...painted.xaxis },
      yaxis: { ...axis, ...painted.yaxis },
    };
  };
  const config = { responsive: true, displaylogo: false, displayModeBar: false };
  const drawn = new Map();
  const narrow = matchMedia("(max-width: 600px)");
  const draw = (node, figure) => {
    drawn.set(node, figure);
    const placed = layout(figure.layout);
    // On a telephone the names of the tasks would leave no room for the bars.
    if (narrow.matches && figure.narrow) {
      placed.yaxis.ticktext = figure.narrow.labels;
      placed.xaxis.title = { ...placed.xaxis.title, text: figure.narrow.title };
    }
    return Plotly.react(node, paint(figure.data), placed, config);
  };
  const redraw = () => {
    for (const [node, figure] of drawn) {
      if (node.isConnected) draw(node, figure);
      else drawn.delete(node);
    }
  };
  for (const [name, figure] of Object.entries(data.charts)) {
    // The heading says in words what the picture shows; the table below it has the numbers.
    await draw(byId(`chart-${name}`), figure);
  }
  byId("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark")
      && (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  narrow.addEventListener("change", redraw);

  // The grid: one stop for the tab key, arrows inside.
  for (const grid of document.querySelectorAll(".grid")) {
    const cells = [...grid.querySelectorAll(".cell")];
    if (!cells.length) continue;
    cells[0].tabIndex = 0;
    const focus = (index) => {
      const cell = cells[Math.max(0, Math.min(cells.length - 1, index))];
      for (const other of grid.querySelectorAll('.cell[tabindex="0"]')) other.tabIndex = -1;
      cell.tabIndex = 0;
      cell.focus();
    };
    const below = (cell, direction) => {
      const here = cell.getBoundingClientRect();
      let index = cells.indexOf(cell);
      while (cells[index + direction]) {
        index += direction;
        const there = cells[index].getBoundingClientRect();
        if ((there.top - here.top) * direction > 1 && (there.left - here.left) * direction >= -1) break;
      }
      return index;
    };
    grid.addEventListener("keydown", (event) => {
      const index = cells.indexOf(event.target);
      if (index < 0) return;
      const target = {
        ArrowRight: () => index + 1, ArrowLeft: () => index - 1, Home: () => 0, End: () => cells.length - 1,
        ArrowDown: () => below(event.target, 1), ArrowUp: () => below(event.target, -1),
      }[event.key];
      if (target) { event.preventDefault(); focus(target()); }
    });
    grid.addEventListener("focusin", (event) => {
      if (event.target.tabIndex !== 0) focus(cells.indexOf(event.target));
    });
  }

  // One episode, or two of one instance side by side.
  const dialog = byId("episode");
  const body = byId("episode-body");
  let shown = null;
  let stopPlaying = () => {};
  let sources = [];

  const detailOf = async (run, index) => {
    const name = `${run},${index}`;
    if (!(name in data.details) && data.live) {
      const answer = await fetch(`episode/${encodeURIComponent(data.runs[run].episodes[index].id)}.json`);
      data.details[name] = answer.ok ? await answer.json() : null;
    }
    return data.details[name] ?? null;
  };
  const sourceOf = (film) => {
    if (!film.block) return film.link;
    const url = URL.createObjectURL(new Blob([bytes(byId(film.block).textContent)], { type: "video/mp4" }));
    sources.push(url);
    return url;
  };
  const films = (run, index) => {
    const box = make("div", { className: "films" });
    const videos = [];
    for (const film of data.films[`${run},${index}`] ?? []) {
      const caption = make("figcaption", {}, film.camera);
      if (film.block || film.link) {
        const video = make("video", { src: sourceOf(film), muted: true, playsInline: true, preload: "auto" });
        video.setAttribute("aria-label", `Video of the camera ${film.camera}`);
        video.addEventListener("error", () => {
          video.replaceWith(make("p", { className: "muted small" }, `The video is not in this page and not at ${film.link}.`));
        });
        videos.push({ video, rate: data.runs[run].rate });
        if (!film.block && !data.live) caption.append(" (beside this page, not in it)");
        box.append(make("figure", {}, video, caption));
      }
      if (film.sheet) box.append(make("figure", { style: "max-width:100%" }, make("img", { src: film.sheet, alt: `Pictures of the camera ${film.camera}, from the first to the last` })));
    }
    return [box, videos];
  };
  const figureOf = (group, detail, steps) => ({
    data: group.curves.map((curve, index) => ({
      type: "scatter", mode: detail.at.length > 1 ? "lines" : "markers", name: escaped(curve.name), x: detail.at, y: curve.values,
      line: { width: 1.5, color: palette[index % palette.length], dash: index < palette.length ? "solid" : "dot" },
      hovertemplate: "step %{x}: %{y}<extra>%{fullData.name}</extra>",
    })),
    layout: {
      height: 190 + (group.curves.length > 4 ? 30 : 0),
      margin: { l: 52, r: 8, t: 6, b: 34 },
      xaxis: { range: [-0.5, Math.max(1, steps - 0.5)], ...(steps <= 10 ? { dtick: 1 } : {}), title: { text: "step", standoff: 4 } },
      showlegend: group.curves.length > 1,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11 } },
      shapes: marks(detail),
    },
  });
  const line = (step, role, dash) => ({
    type: "line", x0: step, x1: step, yref: "paper", y0: 0, y1: 1, line: { color: role, width: 1.5, dash },
  });
  const marks = (detail) => [
    ...detail.success.map(([first, last]) => ({
      type: "rect", x0: first - 0.5, x1: last + 0.5, yref: "paper", y0: 0, y1: 1, fillcolor: "success", opacity: 0.16, line: { width: 0 },
    })),
    ...detail.safety.slice(0, 60).map((event) => line(event.step, "abstained", "dot")),
    ...detail.errors.filter((error) => error.step !== null).map((error) => line(error.step, "failure", "solid")),
  ];
  const palette = ["run-0", "run-1", "run-2", "run-3", "run-4", "muted"];

  // What was said and what is true, as text: a picture is named by its digest, as a trace holds no more of it.
  const answered = (question) => [
    make("h4", {}, "Reply"),
    !question.reply ? make("p", { className: "muted small reply" }, question.reply === null ? "none" : "empty") : make("pre", { className: "reply" }, question.reply),
    ...(question.truth ? [make("h4", {}, "Truth"), make("pre", { className: "truth" }, question.truth)] : []),
    ...(question.pictures.length ? [make("h4", {}, "Picture (not in the trace, which has its digest)"), make("ul", { className: "small pictures" }, ...question.pictures.map((text) => make("li", {}, text)))] : []),
  ];

  const side = async (run, index, several, plots) => {
    const episode = data.runs[run].episodes[index];
    const box = make("div", {});
    if (several) box.append(make("h3", {}, `${data.runs[run].agent} (${data.runs[run].id})`));
    box.append(make("p", {}, make("span", { className: `chip ${episode.outcome}` }, episode.outcome), ` ${episode.status}, ${episode.steps} ${episode.steps === 1 ? "step" : "steps"}${episode.explanation ? `: ${episode.explanation}` : ""}`));
    if (episode.instruction) box.append(make("p", { className: "small" }, "instruction: ", make("q", {}, episode.instruction)));
    const [box2, videos] = films(run, index);
    box.append(box2);
    const detail = await detailOf(run, index);
    if (!detail && episode.changed) {
      box.append(make("p", { className: "notice" }, "The trace of this episode is not the one that was recorded: neither its steps nor its videos are shown, as nothing vouches for them any more."));
      return { box, videos, steps: episode.steps };
    }
    if (!detail) {
      box.append(make("p", { className: "muted" }, "The plots of this episode are not in this page. See them with ", make("code", {}, `hylo-eval view ${data.runs[run].id}`), "."));
      return { box, videos, steps: episode.steps };
    }
    if (detail.question) box.append(...answered(detail.question));
    for (const error of detail.errors) {
      box.append(make("p", {}, `Failed in ${error.phase}${error.step === null ? "" : ` at step ${error.step}`}: ${error.text}`));
      if (error.traceback) box.append(make("details", {}, make("summary", {}, "traceback"), make("pre", {}, error.traceback)));
    }
    for (const grade of detail.grades) box.append(make("p", { className: "small" }, `graded by ${grade.grader}: ${grade.value ?? "no value"}${grade.text ? `, ${grade.text}` : ""}`));
    if (detail.n_safety) {
      const rows = detail.safety.map((event) => make("li", {}, `step ${event.step}: ${event.filter}${event.abort ? " stopped the episode" : ""}: ${event.reason}`));
      box.append(make("details", {}, make("summary", {}, `${detail.n_safety} safety interventions (dotted lines)`), make("ul", { className: "small" }, ...rows, detail.n_safety > rows.length ? make("li", {}, `and ${detail.n_safety - rows.length} more`) : null)));
    }
    const groups = [...detail.actions.map((group) => [group, true]), ...detail.states.map((group, place) => [group, place < 1])];
    if (detail.reward.length) groups.push([{ name: "reward", curves: [{ name: "reward", values: detail.reward }], n_curves: 1 }, false]);
    for (const [group, open] of groups) {
      const node = make("div", { className: "chart" });
      const left = group.n_curves > group.curves.length ? `, the first ${group.curves.length} of ${group.n_curves} entries` : "";
      const details = make("details", { open }, make("summary", {}, `${group.name}${left}`), node);
      const show = () => { if (details.open && !drawn.has(node)) { plots.push(node); draw(node, figureOf(group, detail, plots.steps)); } };
      details.addEventListener("toggle", show);
      box.append(details);
    }
    if (detail.latency.length) {
      const node = make("div", { className: "chart" });
      const details = make("details", {}, make("summary", {}, "reply time, ms"), node);
      details.addEventListener("toggle", () => {
        if (!details.open || drawn.has(node)) return;
        plots.push(node);
        const figure = figureOf({ curves: [] }, detail, plots.steps);
        figure.data = [{ type: "scatter", mode: "markers", x: detail.latency.map((item) => item[0]), y: detail.latency.map((item) => item[1] === null ? null : 1000 * item[1]), marker: { size: 4, color: "run-0" }, hovertemplate: "step %{x}: %{y:.3g} ms<extra></extra>" }];
        draw(node, figure);
      });
      box.append(details);
    }
    const said = [];
    if (detail.every > 1) said.push(`Plots show every ${detail.every}th step.`);
    if (detail.left_out.length) said.push(`Not plotted: ${detail.left_out.join(", ")}.`);
    if (detail.success.length) said.push("The tinted span is where success held.");
    if (said.length) box.append(make("p", { className: "muted small" }, said.join(" ")));
    return { box, videos, steps: detail.steps };
  };

  const player = (sides, plots) => {
    const last = Math.max(0, ...sides.map((item) => item.steps));
    const videos = sides.flatMap((item) => item.videos);
    stopPlaying = () => {};
    // There is nothing to step through; what little film there is has controls of its own.
    if (last <= 1) {
      for (const { video } of videos) video.controls = true;
      return null;
    }
    const slider = make("input", { type: "range", min: 0, max: last, value: 0, step: 1 });
    slider.setAttribute("aria-label", "Step");
    const output = make("output", {}, `reset`);
    const button = make("button", { type: "button" }, "Play");
    let timer = 0;
    const place = (step, seek) => {
      slider.value = step;
      output.textContent = step === 0 ? "reset" : `step ${step - 1} of ${last}`;
      for (const { video, rate } of videos) {
        const time = (step + 0.5) / rate;
        if (seek && Number.isFinite(video.duration)) video.currentTime = Math.min(time, Math.max(0, video.duration - 0.001));
      }
      for (const node of plots) {
        const figure = drawn.get(node);
        if (figure && step) Plotly.relayout(node, { shapes: paint([...figure.layout.shapes, line(step - 1, "text", "solid")]) });
      }
    };
    const rate = data.runs[0].rate;
    const pause = () => { clearInterval(timer); timer = 0; button.textContent = "Play"; for (const { video } of videos) video.pause(); };
    button.addEventListener("click", () => {
      if (timer) { pause(); return; }
      if (Number(slider.value) >= last) place(0, true);
      const from = Number(slider.value);
      const began = performance.now();
      for (const item of videos) { item.video.play().catch(() => {}); }
      button.textContent = "Pause";
      timer = setInterval(() => {
        const step = Math.min(last, from + Math.floor(((performance.now() - began) / 1000) * rate));
        place(step, false);
        // Two players drift apart: one that is off by more than three frames is put right.
        for (const { video, rate: own } of videos) {
          const due = Math.min((step + 0.5) / own, Math.max(0, (video.duration || 0) - 0.001));
          if (Math.abs(video.currentTime - due) > 3 / own) video.currentTime = due;
        }
        if (step >= last) pause();
      }, 100);
    });
    slider.addEventListener("input", () => { pause(); place(Number(slider.value), true); });
    for (const { video } of videos) video.addEventListener("loadeddata", () => { if (!timer) place(Number(slider.value), true); });
    stopPlaying = pause;
    return make("div", { className: "player" }, button, slider, output);
  };

  const show = async (places, words) => {
    stopPlaying();
    for (const url of sources) URL.revokeObjectURL(url);
    sources = [];
    shown = places;
    const episode = data.runs[places[0][0]].episodes[places[0][1]];
    byId("episode-title").textContent = episode.key;
    const plots = [];
    const sides = await Promise.all(places.map(([run, index]) => side(run, index, data.runs.length > 1, plots)));
    if (shown !== places) return;
    // Two episodes have one scale, so that the same step stands below the same step.
    plots.steps = Math.max(1, ...sides.map((item) => item.steps));
    const box = make("div", { className: "sides" }, ...sides.map((item) => item.box));
    box.style.setProperty("--sides", String(innerWidth < 760 ? 1 : places.length));
    body.replaceChildren(...(words ? [make("p", {}, make("strong", {}, "They part at "), words)] : []), ...[player(sides, plots), box].filter(Boolean));
    if (!dialog.open) dialog.showModal();
    // Plots are drawn where they can be measured: now that the dialog is open.
    for (const details of body.querySelectorAll("details[open]")) details.dispatchEvent(new Event("toggle"));
    byId("previous").disabled = !neighbour(-1);
    byId("next").disabled = !neighbour(1);
  };
  const route = () => {
    const found = /^#(e|pair)=(\d+),(\d+)(?:,(\d+))?$/.exec(location.hash);
    if (!found) { if (dialog.open) dialog.close(); return; }
    const [, kind, first, second, third] = found;
    const places = kind === "e" ? [[Number(first), Number(second)]] : [[0, Number(first)], [Number(second), Number(third)]];
    if (!places.every(([run, index]) => data.runs[run]?.episodes[index])) return;
    show(places, kind === "pair" ? data.partings[`${first},${second},${third}`] : "");
  };
  // Before and after an episode stand those of its run, before and after a pair those of its table.
  const neighbour = (direction) => {
    if (!shown) return "";
    if (shown.length === 1) {
      const [run, index] = shown[0];
      return data.runs[run].episodes[index + direction] ? `#e=${run},${index + direction}` : "";
    }
    const names = Object.keys(data.partings).filter((name) => name.split(",")[1] === String(shown[1][0]));
    const found = names[names.indexOf(`${shown[0][1]},${shown[1][0]},${shown[1][1]}`) + direction];
    return found ? `#pair=${found}` : "";
  };
  const go = (direction) => {
    const hash = neighbour(direction);
    if (hash) location.replace(hash);
  };
  byId("previous").addEventListener("click", () => go(-1));
  byId("next").addEventListener("click", () => go(1));
  byId("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => {
    if (event.target.matches("input")) return;
    if (event.key === "ArrowLeft") go(-1);
    if (event.key === "ArrowRight") go(1);
  });
  dialog.addEventListener("close", () => {
    stopPlaying();
    const place = shown?.[0];
    shown = null;
    if (location.hash) history.replaceState(null, "", location.pathname + location.search);
    if (place) document.querySelector(`.cell[href="#e=${place[0]},${place[1]}"]`)?.focus({ preventScroll: true });
  });
  addEventListener("hashchange", route);
  route();

  if (data.live) {
    let stopped = false;
    byId("refresh").addEventListener("click", () => location.reload());
    setInterval(async () => {
      if (stopped) return;
      try {
        const answer = await fetch("version", { cache: "no-store" });
        const found = await answer.json();
        if (found.version === data.live) return;
        // An episode that somebody is looking at is not taken away.
        if (dialog.open) byId("refresh").hidden = false;
        else { stopped = true; location.reload(); }
      } catch {
        byId("live").firstChild.textContent = "The server has ended; this is what it showed last. ";
        stopped = true;
      }
    }, 2000);
  }
  document.documentElement.dataset.ready = "yes";
})();
