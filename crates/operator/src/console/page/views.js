// The five views. Each draws only while it is looked at: `draw` gives false if it needs another frame.

import { open, refresh } from "./detail.js";
import { Table, text } from "./table.js";
import { STAGES, axis, lay, length, pieces, scale } from "./timeline.js";
import { make, mark, size, span, split, write } from "./words.js";

const $ = (id) => document.getElementById(id);

const plain = (key) => split(key)[1];

/** Whether any of these texts holds what is looked for. */
function holds(store, ...texts) {
  return !store.filter || texts.some((part) => part?.toLowerCase().includes(store.filter));
}

function found(store, shown, all) {
  write($("found"), store.filter ? `${shown} of ${all}` : "");
}

/** The same for jobs, with how many wait behind those that are listed: a filter does not find them. */
function foundJobs(store, shown, all, waits) {
  const behind = store.queue.queued - waits;
  const some = store.filter ? `${shown} of ${all}` : "";
  const more = behind > 0 ? `${behind} more wait behind these` : "";
  write($("found"), [some, more].filter(Boolean).join(", "));
}

const waits = (row) => row.state === "Queued";

/** A first column: a name that opens details, and a quieter line below it. */
function named(title, part, store, say, below) {
  return {
    title,
    className: "name",
    by: (row, key) => say(row, key).toLowerCase(),
    first(cell, key) {
      const button = make("button", "open");
      button.type = "button";
      button.addEventListener("click", () => open(store, part, key));
      cell.append(button, make("span", "below"));
    },
    cell(cell, row, key) {
      const [button, line] = cell.children;
      write(button, say(row, key));
      write(line, below(row, key) ?? "");
    },
  };
}

/** A word with a lamp before it. */
function lamp(title, className, say, tone) {
  return {
    title,
    className,
    by: (row, key) => say(row, key),
    first: (cell) => cell.append(make("span", "lamp"), make("span")),
    cell(cell, row, key) {
      const [light, word] = cell.children;
      light.setAttribute("aria-hidden", "true");
      mark(light, "data-tone", tone(row));
      write(word, say(row, key));
    },
  };
}

const TONES = {
  Pending: "waits",
  Provisioning: "makes",
  Bootstrapping: "makes",
  Ready: "good",
  Busy: "busy",
  Draining: "goes",
  Terminating: "goes",
  Succeeded: "calm",
  Failed: "bad",
};

const called = (row, key) => row.what || plain(key);

const good = ({ word }) => (word.good === undefined ? "calm" : word.good ? "good" : "bad");

// Overview.

const overview = {
  lists: false,
  start({ store, redraw }) {
    const figures = ["VMs", "Busy", "Ready", "Being made", "Queued", "Blocked"];
    for (const figure of figures) {
      const box = make("div");
      box.append(make("dt", "", figure), make("dd", "num", "0"));
      $("figures").append(box);
    }
    const number = (title, say) => text(title, "num", (row) => String(say(row)), { by: say });
    this.pools = new Table($("pools"), {
      name: "t-pools",
      label: "pools-title",
      empty: "There are no pools yet.",
      sort: { at: 0, down: false },
      changed: redraw,
      columns: [
        {
          title: "Pool",
          className: "name",
          by: (row, key) => plain(key),
          first: (cell) => cell.append(make("span", "strong"), make("span", "below")),
          cell(cell, row, key) {
            write(cell.children[0], plain(key));
            write(cell.children[1], row.labels.join(" "));
          },
        },
        number("Wanted", (row) => row.wanted),
        number("Live", (row) => row.live),
        number("Busy", (row) => row.busy),
        number("Queued", (row) => row.queued),
        number("Max", (row) => row.max),
        {
          title: "Use",
          className: "use",
          first(cell) {
            const bar = make("span", "meter");
            bar.setAttribute("role", "img");
            bar.append(make("span", "live"), make("span", "busy"));
            cell.append(bar);
          },
          cell(cell, row) {
            const bar = cell.firstElementChild;
            const share = (part) => `${Math.min(100, (part / Math.max(1, row.max)) * 100).toFixed(1)}%`;
            bar.children[0].style.width = share(row.live);
            bar.children[1].style.width = share(row.busy);
            mark(bar, "aria-label", `${row.busy} busy, ${row.live} live, at most ${row.max}`);
          },
        },
        {
          title: "Says",
          className: "says",
          first: (cell) => cell.append(make("span", "lamp"), make("span")),
          cell(cell, row) {
            cell.children[0].setAttribute("aria-hidden", "true");
            mark(cell.children[0], "data-tone", good(row) === "bad" ? "waits" : good(row));
            write(cell.children[1], row.word.message || row.word.reason || "nothing yet");
          },
        },
      ],
    });
    this.store = store;
  },
  draw(store, deadline) {
    const phases = {};
    for (const { phase } of store.machines.values()) phases[phase] = (phases[phase] ?? 0) + 1;
    const some = (...names) => names.reduce((sum, name) => sum + (phases[name] ?? 0), 0);
    const { queued, blocked, reasons } = store.queue;
    const making = some("Pending", "Provisioning", "Bootstrapping", "undefined");
    const numbers = [store.machines.size, some("Busy"), some("Ready"), making, queued, blocked];
    numbers.forEach((value, at) => {
      const box = $("figures").children[at];
      write(box.lastElementChild, String(value));
      mark(box, "data-zero", value === 0 ? "yes" : undefined);
    });
    this.reasons(reasons);
    this.around(store);
    return this.pools.update([...store.pools], store.now(), deadline);
  },
  /** Jobs that wait for the same are said once, with how many they are. */
  reasons(rows) {
    list($("reasons"), rows, "No job waits.", (line, { number, standing, why }) => {
      parts(line, "strong num", `${number} ×`, "", why);
      mark(line, "data-standing", standing);
    });
  },
  around(store) {
    const rows = [
      ...[...store.clusters].map(([key, row]) => [key, row, `${row.provider}${row.version ? ` ${row.version}` : ""}`]),
      ...[...store.sources].map(([key, row]) => [key, row, row.platform]),
    ];
    list($("around"), rows, "None yet.", (line, [key, row, kind]) => {
      parts(line, "strong", plain(key), "quiet", kind, "", row.word.message || row.word.reason || "nothing said yet");
      mark(line, "data-tone", good(row));
    });
  },
  tick: () => {},
};

/** Brings a list to these rows without drawing anew what stays. */
function list(place, rows, empty, fill) {
  const wanted = rows.length ? rows : [null];
  while (place.childElementCount > wanted.length) place.lastElementChild.remove();
  wanted.forEach((row, at) => {
    const line = place.children[at] ?? place.appendChild(make("li"));
    if (row) fill(line, row);
    else parts(line, "quiet", empty);
    if (!row) for (const name of ["data-tone", "data-standing"]) mark(line, name, undefined);
  });
}

/** Texts in spans of a class each. */
function parts(line, ...words) {
  while (line.childElementCount > words.length / 2) line.lastElementChild.remove();
  for (let at = 0; at < words.length; at += 2) {
    const element = line.children[at / 2] ?? line.appendChild(make("span"));
    if (element.className !== words[at]) element.className = words[at];
    write(element, words[at + 1]);
  }
}

// Queue.

const queue = {
  lists: true,
  start({ store, redraw }) {
    this.table = new Table($("queue-list"), {
      name: "t-queue",
      label: "queue-title",
      empty: "No job waits.",
      sort: { at: 1, down: false },
      changed: redraw,
      columns: [
        named("Job", "jobs", store, called, (row) => row.repository),
        text("Waits", "num age", (row, key, now) => span(now - row.queuedAt), { by: (row) => row.queuedAt, ages: true }),
        text("Pool", "", (row) => row.pool ?? "none"),
        {
          title: "Reason",
          className: "reason",
          by: (row) => row.why,
          first: (cell) => cell.append(make("span", "lamp"), make("span")),
          cell(cell, row) {
            cell.children[0].setAttribute("aria-hidden", "true");
            mark(cell.children[0], "data-tone", row.standing === "Blocked" ? "bad" : "waits");
            write(cell.children[1], row.why);
          },
        },
      ],
    });
  },
  draw(store, deadline) {
    const all = [...store.jobs].filter(([, row]) => waits(row));
    const rows = all.filter(([key, row]) => holds(store, key, row.what, row.repository, row.pool, row.why));
    foundJobs(store, rows.length, all.length, all.length);
    refresh(store);
    return this.table.update(rows, store.now(), deadline);
  },
  tick() {
    this.table.tick();
  },
};

// VMs.

const vms = {
  lists: true,
  start({ store, redraw }) {
    this.table = new Table($("vms-list"), {
      name: "t-vms",
      label: "vms-title",
      empty: "There are no VMs.",
      sort: { at: 6, down: false },
      changed: redraw,
      columns: [
        named("Claim", "machines", store, (row, key) => plain(key), (row) => (row.pool ? `pool ${row.pool}` : "")),
        lamp("Phase", "", (row) => row.phase ?? "Pending", (row) => TONES[row.phase] ?? "waits"),
        text("Step", "quiet", (row) => row.step),
        text("Node", "", (row) => row.node),
        text("VMID", "num", (row) => (row.vmId === undefined ? "" : String(row.vmId)), { by: (row) => row.vmId ?? 0 }),
        text("Says", "says", (row) => row.word.message || row.word.reason),
        text("Age", "num age", (row, key, now) => (row.bornAt === undefined ? "" : span(now - row.bornAt)), {
          by: (row) => row.bornAt ?? 0,
          ages: true,
        }),
      ],
    });
  },
  draw(store, deadline) {
    const all = [...store.machines];
    const rows = all.filter(([key, row]) => holds(store, key, row.phase, row.step, row.node, row.pool, row.job));
    found(store, rows.length, all.length);
    refresh(store);
    return this.table.update(rows, store.now(), deadline);
  },
  tick() {
    this.table.tick();
  },
};

// Timelines.

const timelines = {
  lists: true,
  start({ store, redraw }) {
    for (const [, stage] of STAGES) {
      const entry = make("li");
      const swatch = make("span", "swatch");
      swatch.dataset.stage = stage;
      entry.append(swatch, make("span", "", stage));
      $("legend").append(entry);
    }
    const lives = (row, key) => Boolean(row.claim) && store.machines.has(`${split(key)[0]}/${row.claim}`);
    // Both columns of a row ask for the same bar, one after the other.
    let last = {};
    const bar = (row, key, now) => {
      if (last.row !== row || last.now !== now) last = { row, now, found: pieces(row, lives(row, key), now) };
      return last.found;
    };
    this.bar = bar;
    const state = (row) => (row.result ?? row.state).toLowerCase();
    const tones = { queued: "waits", assigned: "makes", running: "busy", succeeded: "good", failed: "bad" };
    this.table = new Table($("timelines-list"), {
      name: "t-timelines",
      label: "timelines-title",
      empty: "There are no jobs yet.",
      sort: { at: 0, down: true },
      changed: redraw,
      columns: [
        { ...named("Job", "jobs", store, called, (row) => row.repository), by: (row) => row.queuedAt },
        lamp("State", "", state, (row) => tones[state(row)] ?? "calm"),
        text("Took", "num", (row, key, now) => span(length(bar(row, key, now))), {
          by: (row, key) => length(bar(row, key, store.now())),
          ages: true,
        }),
        {
          title: "",
          className: "track",
          ages: true,
          first(cell) {
            const place = make("span", "bar");
            place.setAttribute("role", "img");
            cell.append(place);
          },
          cell: (cell, row, key, now) => {
            const { begin, whole } = this.axis;
            const from = store.align === "clock" ? begin : row.queuedAt;
            lay(cell.firstElementChild, bar(row, key, now), from, whole);
          },
        },
      ],
    });
    this.scale = this.table.table.querySelector("thead .track");
    this.scale.append(make("span", "hidden", "Timeline"), make("span", "scale"));
    this.axis = { begin: 0, whole: 60_000 };
  },
  rows(store) {
    return [...store.jobs].filter(([key, row]) => holds(store, key, row.what, row.repository, row.pool, row.state));
  },
  /** The axis that holds every bar; it grows in leaps, so that bars do not creep. */
  measure(store, rows) {
    const now = store.now();
    const bars = rows.map(([key, row]) => this.bar(row, key, now)).filter((found) => found.length);
    let next;
    if (store.align === "clock") {
      const first = Math.min(now, ...bars.map((found) => found[0].from));
      const whole = axis(Math.max(now - first, 10_000) * 1.05);
      // It moves on by a tenth of its length at a time.
      const begin = Math.ceil(now / (whole / 10)) * (whole / 10) - whole;
      next = { begin: Math.min(begin, first), whole };
    } else {
      next = { begin: 0, whole: axis(Math.max(10_000, ...bars.map(length))) };
    }
    const same = next.begin === this.axis.begin && next.whole === this.axis.whole && this.align === store.align;
    this.axis = next;
    this.align = store.align;
    scale(this.scale.lastElementChild, next.begin, next.whole, store.align);
    return !same;
  },
  draw(store, deadline) {
    const rows = this.rows(store);
    const all = [...store.jobs.values()];
    foundJobs(store, rows.length, all.length, all.filter(waits).length);
    refresh(store);
    if (this.measure(store, rows)) this.table.tick();
    return this.table.update(rows, store.now(), deadline);
  },
  tick() {
    this.table.tick();
  },
};

// Clusters.

const clusters = {
  lists: false,
  start({ redraw }) {
    this.redraw = redraw;
    this.cards = new Map();
  },
  draw(store, deadline) {
    const place = $("clusters-list");
    for (const [key, card] of this.cards) {
      if (store.clusters.has(key)) continue;
      card.element.remove();
      this.cards.delete(key);
    }
    if (!store.clusters.size && !place.childElementCount) place.append(make("p", "empty", "There are no clusters yet."));
    if (store.clusters.size) place.querySelector(".empty")?.remove();
    let done = true;
    for (const [key, row] of store.clusters) {
      let card = this.cards.get(key);
      if (!card) {
        card = this.card(key);
        this.cards.set(key, card);
        place.append(card.element);
      }
      write(card.kind, `${row.provider}${row.version ? ` ${row.version}` : ""}`);
      mark(card.word, "data-tone", good(row));
      write(card.word, row.word.message || row.word.reason || "Nothing is known yet.");
      const online = row.nodes.filter((node) => node.online).length;
      const left = [
        ["Nodes connected", `${row.connected ?? online} of ${row.nodes.length}`],
        ["Our VMs", String(row.nodes.reduce((sum, node) => sum + node.vms, 0))],
        ["CPUs free", row.cpu === undefined ? "unknown" : String(row.cpu)],
        ["Memory free", row.memory === undefined ? "unknown" : size(row.memory)],
        ["Storage free", row.storage === undefined ? "unknown" : size(row.storage)],
      ];
      left.forEach(([title, value], at) => {
        const box = card.left.children[at] ?? card.left.appendChild(make("div"));
        if (!box.childElementCount) box.append(make("dt", "", title), make("dd", "num"));
        write(box.lastElementChild, value);
      });
      done = card.nodes.update(row.nodes.map((node) => [node.name, node]), store.now(), deadline) && done;
    }
    return done;
  },
  card(key) {
    const element = make("article", "card");
    const id = `cluster-${this.cards.size}-${Math.random().toString(36).slice(2)}`;
    const title = make("h2", "", plain(key));
    title.id = id;
    element.setAttribute("aria-labelledby", id);
    const kind = make("p", "quiet");
    const word = make("p", "word");
    const left = make("dl", "figures small");
    element.append(title, kind, word, left);
    const number = (heading, say) => text(heading, "num", (row) => String(say(row) ?? ""), { by: (row) => say(row) ?? 0 });
    const state = (row) => {
      if (row.online === undefined) return "unknown";
      if (!row.online) return "offline";
      if (row.maintenance) return "maintenance";
      return row.cordoned ? "cordoned" : "online";
    };
    const tone = { online: "good", offline: "bad", maintenance: "waits", cordoned: "waits", unknown: "calm" };
    const nodes = new Table(element, {
      name: "t-nodes",
      label: id,
      empty: "No nodes.",
      sort: { at: 0, down: false },
      changed: this.redraw,
      columns: [
        text("Node", "name strong", (row) => row.name),
        lamp("State", "", state, (row) => tone[state(row)]),
        number("CPUs", (row) => row.cpu),
        text("Memory", "num", (row) => (row.memory === undefined ? "" : size(row.memory)), { by: (row) => row.memory ?? 0 }),
        number("Our VMs", (row) => row.vms),
      ],
    });
    return { element, kind, word, left, nodes };
  },
  tick: () => {},
};

export const views = { overview, queue, vms, timelines, clusters };
