// What is known of one job or one VM, in a dialog that follows what happens: built once, then only what differs is written, so that
// whoever reads, selects or stands somewhere in it stays there.

import { make, mark, precise, split, time, write, zone } from "./words.js";

const $ = (id) => document.getElementById(id);

const MARKS = {
  queued: "Queued at the platform",
  seen: "Seen by HyperFleet",
  claimMade: "Claim made",
  allocated: "VM allocated",
  started: "VM cloned and started",
  called: "Agent called in",
  attested: "Agent attested",
  begun: "Work began",
  ended: "Work ended",
  vmGone: "VM gone",
  runnerGone: "Runner gone",
};

let shown = null;

/** Opens the details of a job or a VM: `part` is "jobs" or "machines". */
export function open(store, part, key) {
  shown = { part, key, row: null, fill: part === "jobs" ? job(key) : machine(key) };
  write($("detail-title"), split(key)[1]);
  fill(store);
  $("detail").showModal();
}

/** Brings open details up to date. */
export function refresh(store) {
  if (shown && $("detail").open) fill(store);
}

/** Closes details, and leaves nothing of them. */
export function close() {
  $("detail").close();
  // The event comes later.
  forget();
}

function forget() {
  shown = null;
  $("detail-title").replaceChildren();
  $("detail-body").replaceChildren();
}

// Escape closes it, too.
$("detail").addEventListener("close", () => !$("detail").open && forget());

function fill(store) {
  const { part, key } = shown;
  const row = store[part].get(key);
  if (row === shown.row && row) return;
  shown.row = row;
  // What was known of it last is what can be known.
  $("detail-gone").hidden = Boolean(row);
  if (!row) return;
  if (part === "jobs") write($("detail-title"), row.what || split(key)[1]);
  shown.fill(row, store.now());
}

/** A list of facts; `write` takes a value for each term, and hides those that have none. */
function facts(...terms) {
  const list = make("dl", "facts");
  const values = terms.map((term) => {
    const pair = [make("dt", "", term), make("dd")];
    list.append(...pair);
    return pair;
  });
  const fill = (...texts) =>
    values.forEach(([term, value], at) => {
      write(value, String(texts[at] ?? ""));
      for (const part of [term, value]) part.hidden = !value.textContent;
    });
  return [list, fill];
}

function command(text) {
  const box = make("pre");
  box.tabIndex = 0;
  box.setAttribute("aria-label", "Command that tells more");
  box.append(make("code", "", text));
  return box;
}

function build(...parts) {
  $("detail-body").replaceChildren(...parts);
}

function job(key) {
  const [namespace, name] = split(key);
  const [why, marks] = [make("p", "why"), make("ol", "marks")];
  const [list, tell] = facts("State", "Repository", "Pool", "Claim", "Labels", "Reason", "Said by", "Next attempt", "Object");
  const heading = make("h3", "", `What happened (times are ${zone()})`);
  build(why, list, heading, marks, command(`hyperfleet why runnerjob/${name} -n ${namespace}`));
  return (row, now) => {
    write(why, `${row.why.charAt(0).toUpperCase()}${row.why.slice(1)}`);
    mark(why, "data-standing", row.standing);
    const state = row.result ? `${row.state}, ${row.result.toLowerCase()}` : row.state;
    const next = row.retryAt === undefined ? "" : time(row.retryAt, now);
    const { repository, pool, claim, labels, reason, says } = row;
    tell(state, repository, pool, claim, labels.join(", "), reason, says, next, key);
    happened(marks, row.marks, now);
  };
}

function happened(list, marks, now) {
  while (list.childElementCount > marks.length) list.lastElementChild.remove();
  marks.forEach(({ mark: name, at, detail }, place) => {
    const line = list.children[place] ?? list.appendChild(moment());
    const [when, what, after, more] = line.children;
    // The day is said where it is another one than in the line before.
    write(when, time(at, marks[place - 1]?.at ?? now));
    mark(when, "datetime", new Date(at).toISOString());
    write(what, MARKS[name] ?? name);
    write(after, place === 0 ? "" : `+${precise(at - marks[place - 1].at)}`);
    write(more, detail ?? "");
  });
}

function moment() {
  const line = make("li");
  line.append(make("time", "num"), make("span"), make("span", "quiet num"), make("span", "quiet detail"));
  return line;
}

function machine(key) {
  const [namespace, name] = split(key);
  const [list, tell] = facts("Phase", "Step", "Reason", "Says", "VM", "Address", "Pool", "Made for", "Born", "Object");
  build(list, command(`hyperfleet why machineclaim/${name} -n ${namespace}`));
  return (row, now) => {
    const place = row.vmId === undefined ? "" : `${row.vmId} on ${row.node}`;
    const born = row.bornAt === undefined ? "" : time(row.bornAt, now);
    tell(row.phase, row.step, row.word.reason, row.word.message, place, row.address, row.pool, row.job, born, key);
  };
}
