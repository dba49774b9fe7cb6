// The console: what the server says is kept here, by key, and shown by views. Nothing is asked of anybody else.

import { Stream, token } from "./stream.js";
import { views } from "./views.js";
import { make, write } from "./words.js";

const $ = (id) => document.getElementById(id);

/** Time that one frame may take for drawing; the rest of a large change follows in the next ones. */
const BUDGET = 10;

const PARTS = ["pools", "jobs", "machines", "clusters", "sources"];

const store = {
  place: {},
  pools: new Map(),
  jobs: new Map(),
  /** All jobs that wait; the first of them are among `jobs`. */
  queue: { queued: 0, blocked: 0, reasons: [] },
  machines: new Map(),
  clusters: new Map(),
  sources: new Map(),
  filter: "",
  align: "start",
  /** How far the server's clock is ahead of ours. */
  ahead: 0,
  now: () => Date.now() + store.ahead,
};

function told({ name, now, state, change }) {
  store.ahead = now - Date.now();
  const news = state ?? change;
  if (news.place) store.place = news.place;
  if (news.queue) store.queue = news.queue;
  for (const part of PARTS) {
    if (name === "state") keep(store[part], news[part]);
    else for (const [key, row] of Object.entries(news[part] ?? {})) put(store[part], key, row);
  }
  draw();
}

function put(rows, key, row) {
  if (row === null) rows.delete(key);
  else rows.set(key, row);
}

/** The whole picture again, after a loss perhaps: rows that are as they were stay the same ones. */
function keep(rows, fresh) {
  for (const key of rows.keys()) if (!(key in fresh)) rows.delete(key);
  for (const [key, row] of Object.entries(fresh)) {
    const known = rows.get(key);
    if (!known || JSON.stringify(known) !== JSON.stringify(row)) rows.set(key, row);
  }
}

// Drawing: once per frame at most, only what is seen, and never so long that a key press waits.

let due = false;
let current = "overview";

function draw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    const deadline = performance.now() + BUDGET;
    frame();
    if (!views[current].draw(store, deadline)) draw();
  });
}

function frame() {
  write($("count-queue"), String(store.queue.queued));
  write($("count-vms"), String(store.machines.size));
  const { instance, version, leads, namespaces = [] } = store.place;
  if (!instance) return;
  const where = namespaces.length ? `namespace${namespaces.length > 1 ? "s" : ""} ${namespaces.join(", ")}` : "all namespaces";
  write($("place"), `HyperFleet ${version} · ${where} · ${instance} ${leads ? "leads" : "stands by"}`);
}

function show() {
  const wanted = /^#\/([a-z]+)$/.exec(location.hash)?.[1];
  if (wanted && wanted in views) current = wanted;
  for (const name of Object.keys(views)) $(name).hidden = name !== current;
  $("tools").hidden = !views[current].lists;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.hash === `#/${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${$(`${current}-title`).textContent} · HyperFleet console`;
  draw();
}

// The connection, and what is said about it: once when it changes, not with every word that comes.

const SAID = {
  off: "",
  connecting: "Connecting",
  live: "Live",
  lost: "Connection lost, trying again",
  full: "Too many are looking, trying again",
};

const REFUSED = {
  unknown: "The cluster does not know this token, or does not any more. Make another one.",
  forbidden: "The owner of this token may not look: bind the role hyperfleet-operator-console-reader to it.",
};

const stream = new Stream(told, link);

function link(state) {
  if (state in REFUSED) {
    token.forget();
    enter(REFUSED[state]);
    return;
  }
  $("link").dataset.state = state;
  write($("link-text"), SAID[state]);
}

/** Shows the views if there is a token, else the door. */
function enter(why) {
  const known = Boolean(token.get());
  $("door").hidden = known;
  for (const id of ["views", "nav", "leave"]) $(id).hidden = !known;
  $("door-why").hidden = !why;
  $("door-why").replaceChildren(why ?? "");
  if (known) {
    stream.start();
    show();
    return;
  }
  stream.stop();
  link("off");
  write($("place"), "");
  // Nothing of what was shown stays, seen or not.
  for (const part of PARTS) store[part].clear();
  store.queue = { queued: 0, blocked: 0, reasons: [] };
  $("detail").close();
  for (const view of Object.values(views)) view.draw(store, Infinity);
  $("token").focus();
}

$("door-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = $("token").value.trim();
  $("token").value = "";
  // Whoever pastes the whole link means the token in it.
  if (given) token.set(given.replace(/^.*#token=/, ""));
  enter();
});

$("leave").addEventListener("click", () => {
  token.forget();
  enter();
});

$("filter").addEventListener("input", () => {
  store.filter = $("filter").value.trim().toLowerCase();
  draw();
});

for (const choice of document.querySelectorAll("input[name=align]")) {
  choice.addEventListener("change", () => {
    store.align = choice.value;
    draw();
  });
}

$("detail-close").addEventListener("click", () => $("detail").close());
$("detail").addEventListener("click", (event) => {
  if (event.target === $("detail")) $("detail").close();
});

addEventListener("keydown", (event) => {
  const writes = event.target.closest?.("input, textarea, dialog");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || writes || $("tools").hidden) return;
  event.preventDefault();
  $("filter").focus();
});

addEventListener("hashchange", () => {
  if (token.take()) enter();
  else if (location.hash !== "#main") {
    show();
    scrollTo(0, 0);
  }
});

setInterval(() => {
  if (!document.hidden && !$("views").hidden) views[current].tick(store);
}, 1000);

for (const view of Object.values(views)) view.start({ redraw: draw, store, make });
token.take();
enter();
