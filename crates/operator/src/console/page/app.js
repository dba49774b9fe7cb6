// The console: what the server says is kept here, by key, and shown by views. Nothing is asked of anybody else.

import { close } from "./detail.js";
import { Stream, token } from "./stream.js";
import { views } from "./views.js";
import { make, time, write, zone } from "./words.js";

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
  /** When the server last had news, by its own clock. */
  heard: 0,
  now: () => Date.now() + store.ahead,
};

function told({ name, now, state, change }) {
  store.ahead = now - Date.now();
  store.heard = now;
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

// Drawing: once per frame at most, only what is seen, and never so long that a key press waits. What grows old is drawn so, too.

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
  write($("place"), `HyperFleet ${version} · ${where} · ${instance} ${leads ? "leads" : "stands by"} · times are ${zone()}`);
}

function show() {
  if (!token.get()) return;
  // It would lie over another view, and nothing would keep it up to date there.
  close();
  const wanted = /^#\/([a-z]+)$/.exec(location.hash)?.[1];
  if (wanted && Object.hasOwn(views, wanted)) current = wanted;
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
  mute: "Connection lost. Reload the page if that lasts: the operator may show a new certificate",
  away: "The operator cannot reach the Kubernetes API",
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
  const old = state === "away" && store.heard ? `; what you see is from ${time(store.heard, store.now())}` : "";
  write($("link-text"), SAID[state] + old);
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
  empty();
  document.title = "HyperFleet console";
  $("token").focus();
}

/** Nothing of what was shown stays, seen or not. */
function empty() {
  for (const part of PARTS) store[part].clear();
  Object.assign(store, { place: {}, queue: { queued: 0, blocked: 0, reasons: [] }, filter: "", heard: 0 });
  $("filter").value = "";
  for (const id of ["place", "said"]) write($(id), "");
  close();
  frame();
  for (const view of Object.values(views)) view.draw(store, Infinity);
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

// How many are found is said aloud to whoever looks for something, and not whenever that changes by itself.
let typed = 0;
$("filter").addEventListener("input", () => {
  store.filter = $("filter").value.trim().toLowerCase();
  draw();
  clearTimeout(typed);
  typed = setTimeout(() => write($("said"), $("found").textContent), 700);
});

for (const choice of document.querySelectorAll("input[name=align]")) {
  choice.addEventListener("change", () => {
    store.align = choice.value;
    draw();
  });
}

$("detail-close").addEventListener("click", close);
$("detail").addEventListener("click", (event) => {
  if (event.target === $("detail")) close();
});

addEventListener("keydown", (event) => {
  const writes = event.target.closest?.("input, textarea, dialog");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || writes || $("views").hidden || $("tools").hidden) return;
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
  if (document.hidden || $("views").hidden) return;
  views[current].tick(store);
  draw();
}, 1000);

for (const view of Object.values(views)) view.start({ redraw: draw, store, make });
token.take();
enter();
