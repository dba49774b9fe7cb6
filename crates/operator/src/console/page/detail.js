// What is known of one job or one VM, in a dialog that follows what happens.

import { make, precise, split, time, write } from "./words.js";

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
  shown = { part, key, row: null };
  fill(store);
  $("detail").showModal();
}

/** Brings open details up to date. */
export function refresh(store) {
  if (shown && $("detail").open) fill(store);
}

function fill(store) {
  const { part, key } = shown;
  const row = store[part].get(key);
  if (row === shown.row && row) return;
  shown.row = row;
  const [namespace, name] = split(key);
  write($("detail-title"), (part === "jobs" && row?.what) || name);
  const content = row ? (part === "jobs" ? job(row, namespace, name) : machine(row, namespace, name)) : [];
  if (!row) content.push(make("p", "quiet", "It is gone."));
  $("detail-body").replaceChildren(...content);
}

function facts(pairs) {
  const list = make("dl", "facts");
  for (const [term, value] of pairs) {
    if (value === undefined || value === "") continue;
    list.append(make("dt", "", term), make("dd", "", String(value)));
  }
  return list;
}

function command(text) {
  const box = make("pre");
  box.tabIndex = 0;
  box.setAttribute("aria-label", "Command that tells more");
  box.append(make("code", "", text));
  return box;
}

function job(row, namespace, name) {
  const state = row.result ? `${row.state}, ${row.result.toLowerCase()}` : row.state;
  const why = make("p", "why", `${row.why.charAt(0).toUpperCase()}${row.why.slice(1)}`);
  why.dataset.standing = row.standing;
  const marks = make("ol", "marks");
  let before = null;
  for (const { mark, at, detail } of row.marks) {
    const line = make("li");
    const when = make("time", "num", time(at));
    when.dateTime = new Date(at).toISOString();
    line.append(when, make("span", "", MARKS[mark] ?? mark));
    line.append(make("span", "quiet num", before === null ? "" : `+${precise(at - before)}`));
    if (detail) line.append(make("span", "quiet detail", detail));
    marks.append(line);
    before = at;
  }
  return [
    why,
    facts([
      ["State", state],
      ["Repository", row.repository],
      ["Pool", row.pool],
      ["Claim", row.claim],
      ["Labels", row.labels.join(", ")],
      ["Reason", row.reason],
      ["Said by", row.says],
      ["Object", `${namespace}/${name}`],
    ]),
    make("h3", "", "What happened"),
    marks,
    command(`hyperfleet why runnerjob/${name} -n ${namespace}`),
  ];
}

function machine(row, namespace, name) {
  return [
    facts([
      ["Phase", row.phase],
      ["Step", row.step],
      ["Reason", row.word.reason],
      ["Says", row.word.message],
      ["VM", row.vmId === undefined ? "" : `${row.vmId} on ${row.node}`],
      ["Address", row.address],
      ["Pool", row.pool],
      ["Made for", row.job],
      ["Born", row.bornAt === undefined ? "" : time(row.bornAt)],
      ["Object", `${namespace}/${name}`],
    ]),
    command(`hyperfleet why machineclaim/${name} -n ${namespace}`),
  ];
}
