// The page of cycloid.view. What it shows is in the element `data`, as JSON
// (python/cycloid/_scene.py).
//
// window.cycloid: frames, times, frame; state(i), bodies(i) and seek(i), for whoever asks from the
// console or a test.
import { columns, bytes } from "./columns.js";
import { gradient_css } from "./colours.js";
import { Inputs } from "./inputs.js";
import { Player } from "./player.js";
import { Plots, number } from "./plots.js";
import { save_film, save_picture } from "./save.js";
import { Stage, renderer_of } from "./stage.js";

const $ = (id) => document.getElementById(id);
let data = JSON.parse($("data").textContent);
let states, ghost_states, controls, times, plots, inputs, stage;

const notice = (text) => {
  $("notice").textContent = text;
  $("notice").hidden = !text;
};

function read() {
  times = new Float64Array(bytes(data.times));
  states = columns(data.states);
  ghost_states = columns(data.ghosts?.at(-1).states);
  controls = columns(data.controls);
}
read();

const player = new Player(times, show, (playing) => {
  $("play").textContent = playing ? "Pause" : "Play";
  $("play").setAttribute("aria-label", playing ? "Pause" : "Play");
});

function show(i) {
  $("slider").value = i;
  $("slider").setAttribute(
    "aria-valuetext",
    `frame ${i} of ${times.length - 1}, ${number(times[i])} seconds`,
  );
  $("clock").textContent = `${number(times[i])} s · ${i}/${times.length - 1}`;
  stage?.show(i);
  plots?.show(i);
  inputs?.show(i, pressed("arrows"));
}

// ---- plots --------------------------------------------------------------------------------------

function cards() {
  const of_states = (data.plots ?? []).map(({ title, unit, curves }) => ({
    title,
    unit,
    curves: curves.map(({ name, column }) => ({
      name,
      values: states.column(column),
      other: ghost_states && ghost_states.rows === states.rows ? ghost_states.column(column) : null,
    })),
  }));
  const of_others = (data.observed ?? []).map(({ title, unit, values, names }) => {
    const numbers = columns(values);
    return { title, unit, curves: names.map((name, j) => ({ name, values: numbers.column(j) })) };
  });
  return [...of_others, ...of_states];
}

function make_panel() {
  $("plots").replaceChildren();
  $("inputs").replaceChildren();
  inputs = null;
  if (controls && data.input_names.length) {
    inputs = new Inputs(
      $("inputs"),
      data.input_names,
      controls,
      columns(data.gradient?.inputs),
      data.gradient?.input_scale,
    );
  }
  const list = cards();
  plots = new Plots($("plots"), list, times, (i) => player.seek(i));
  document.querySelector("main").classList.toggle("no-panel", !list.length && !inputs);
}

// ---- legend -------------------------------------------------------------------------------------

function legend() {
  const lines = [];
  const mark = (tint, text) => lines.push(`<div><i style="background:${tint}"></i>${text}</div>`);
  const bar = (map, name, low, high) =>
    lines.push(
      `<div><span>${number(low)}</span>` +
        `<span class="bar" style="background:${gradient_css(map)}"></span>` +
        `<span>${number(high)}</span> ${name}</div>`,
    );
  if (data.stress) bar("stress", "stress [Pa]", 0, data.stress_top);
  if (data.field) bar("field", data.field_name, ...data.field_range);
  if (data.tracers) mark("#ffffff", "particles drift with the flow");
  if (data.caption) mark("#0f8a8a", data.caption.replace(/[<&]/g, (c) => `&#${c.charCodeAt(0)};`));
  if (data.gradient?.places) mark("#e2570f", "minus the gradient of the loss");
  if (data.contacts) mark("#13a06f", "contact forces");
  if (data.ghosts) {
    mark("#9a6cf0", data.ghosts.length > 1 ? "other trajectories" : "the other trajectory");
  }
  $("legend").innerHTML = lines.join("");
}

// ---- buttons and keys ---------------------------------------------------------------------------

const pressed = (id) => $(id).getAttribute("aria-pressed") === "true";
const press = (id, on) => $(id).setAttribute("aria-pressed", on);
const TOGGLES = {
  trails: "trails",
  ghost: "ghost",
  arrows: "arrows",
  forces: "forces",
  "hidden-geoms": "hidden",
};

function toggle(id) {
  if ($(id).hidden) return;
  press(id, !pressed(id));
  if (id === "follow" && stage) stage.following = pressed(id);
  else stage?.apply({ [TOGGLES[id]]: pressed(id) });
  show(player.frame);
}

let dark = matchMedia("(prefers-color-scheme: dark)").matches;
function set_theme(to) {
  dark = to;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  stage?.set_theme(dark);
  plots?.theme();
  if (plots) plots.show(player.frame);
}

const file_name = () => (data.title || "cycloid").replace(/[^\p{L}\p{N}]+/gu, "_");
const actions = {
  follow: () => toggle("follow"),
  reset: () => {
    stage?.reset();
    press("follow", !!stage?.following);
    show(player.frame);
  },
  theme: () => set_theme(!dark),
  shot: () => stage && save_picture($("scene"), file_name()),
  movie: () => stage && save_film($("scene"), player, file_name(), notice),
  help: () => {
    $("keys").hidden = !$("keys").hidden;
    $("help").setAttribute("aria-expanded", !$("keys").hidden);
  },
  play: () => player.toggle(),
};
for (const [id, act] of Object.entries(actions)) $(id).addEventListener("click", act);
for (const id of Object.keys(TOGGLES)) $(id).addEventListener("click", () => toggle(id));

$("slider").addEventListener("input", () => {
  player.pause();
  player.seek($("slider").value);
});
$("speed").addEventListener("change", () => (player.speed = Number($("speed").value)));

function faster(by) {
  const list = $("speed").options;
  $("speed").selectedIndex = Math.min(Math.max($("speed").selectedIndex + by, 0), list.length - 1);
  player.speed = Number($("speed").value);
}

const jump = (by) => {
  player.pause();
  player.seek(player.frame + by);
};
const TURN = Math.PI / 18; // by one key
const tenth = () => Math.max(1, Math.round(times.length / 10));
const KEYS = {
  " ": actions.play,
  f: actions.follow,
  r: actions.reset,
  d: actions.theme,
  p: actions.shot,
  "?": actions.help,
  t: () => toggle("trails"),
  g: () => toggle("ghost"),
  a: () => toggle("arrows"),
  c: () => toggle("forces"),
  h: () => toggle("hidden-geoms"),
  Home: () => jump(-Infinity),
  End: () => jump(Infinity),
  "[": () => stage?.orbit(-TURN, 0, 1),
  "]": () => stage?.orbit(TURN, 0, 1),
  PageUp: () => stage?.orbit(0, -TURN, 1),
  PageDown: () => stage?.orbit(0, TURN, 1),
  "+": () => stage?.orbit(0, 0, 0.85),
  "=": () => stage?.orbit(0, 0, 0.85),
  "-": () => stage?.orbit(0, 0, 1 / 0.85),
  ArrowUp: () => faster(1),
  ArrowDown: () => faster(-1),
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  if (event.key === " " && event.target.tagName === "BUTTON") return; // it presses the button
  let act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (event.key === "ArrowRight") act = () => jump(event.shiftKey ? tenth() : 1);
  if (event.key === "ArrowLeft") act = () => jump(event.shiftKey ? -tenth() : -1);
  if (!act) return;
  event.preventDefault();
  act();
});

// ---- the beginning, and what a live run brings --------------------------------------------------

function settle() {
  $("title").textContent = document.title = data.title;
  $("subtitle").textContent = data.subtitle ?? "";
  $("slider").max = times.length - 1;
  player.times = times;
  player.frame = Math.min(player.frame, times.length - 1);
  for (const [id, there] of Object.entries({
    trails: data.trails?.length || data.tracers,
    ghost: data.ghosts,
    arrows: data.gradient,
    forces: data.contacts,
    "hidden-geoms": data.geoms?.some((g) => g.hidden),
  })) {
    $(id).hidden = !there;
  }
  if (data.tracers) {
    $("trails").textContent = "Particles";
    $("trails").title = "Particles that drift with the flow (T)";
  }
  legend();
  make_panel();
}

function begin() {
  set_theme(dark);
  settle();
  const main = document.querySelector("main");
  const has_scene = !!(data.poses || data.vertices || data.field);
  main.classList.toggle("no-scene", !has_scene);
  const renderer = has_scene ? renderer_of($("scene")) : null;
  if (renderer) {
    stage = new Stage(renderer, data, dark);
    new ResizeObserver(() => stage.resize()).observe($("stage"));
    stage.resize();
    press("follow", stage.following);
  } else {
    for (const id of ["follow", "reset", "shot", "movie"]) $(id).hidden = true;
    if (has_scene)
      notice("This browser offers no WebGL: the numbers are here, the scene cannot be drawn.");
  }
  $("follow").hidden ||= !(data.lead >= 0);
  new ResizeObserver(() => plots.resize()).observe($("panel"));
  set_theme(dark);
  show(0);
}

function listen() {
  const events = new EventSource(data.live);
  events.addEventListener("scene", async () => {
    const answer = await fetch(data.live.replace("events", "scene"));
    if (!answer.ok) return;
    const at_end = player.frame >= times.length - 1;
    data = await answer.json();
    read();
    settle();
    stage?.fill(data);
    stage?.set_theme(dark);
    stage?.apply({});
    player.seek(at_end && !player.playing ? times.length - 1 : player.frame);
  });
  events.addEventListener("end", () => {
    events.close();
    notice("The run has ended.");
  });
}

begin();
if (data.live) listen();

window.cycloid = {
  get frames() {
    return times.length;
  },
  get times() {
    return Array.from(times);
  },
  get frame() {
    return player.frame;
  },
  get playing() {
    return player.playing;
  },
  state: (i) => states.row(i),
  bodies: (i) => {
    const poses = columns(data.poses);
    const out = [];
    if (poses) for (let b = 0; b < poses.width; b += 7) out.push(poses.row(i, b, 7));
    return out;
  },
  seek: (i) => player.seek(i),
  play: () => player.play(),
  pause: () => player.pause(),
};
