// A job's way as a bar: one piece for each stage, as long as it took.

import { make, mark, precise, span } from "./words.js";

/** What begins with each mark, in the order of a job's life. */
export const STAGES = [
  ["queued", "queued"],
  ["claimMade", "claim"],
  ["allocated", "clone"],
  ["started", "boot"],
  ["called", "attest"],
  ["attested", "ready"],
  ["begun", "busy"],
  ["ended", "clearing"],
];

/** Lengths that an axis may have, in seconds. */
const LENGTHS = [10, 20, 40, 60, 120, 180, 240, 360, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400];

/** The pieces of a job's bar: { stage, from, to }. A stage that nobody wrote down belongs to the one before it. */
export function pieces(row, lives, now) {
  const times = new Map(row.marks.map(({ mark: name, at }) => [name, at]));
  const begins = STAGES.filter(([name]) => times.has(name)).map(([name, stage]) => ({ stage, from: times.get(name) }));
  const gone = times.get("vmGone") ?? times.get("runnerGone");
  const over = row.state === "Completed" && !lives;
  const end = gone ?? (over ? times.get("ended") : undefined) ?? now;
  const found = [];
  begins.forEach(({ stage, from }, at) => {
    // Clocks of several machines: no piece begins before the one before it has ended.
    const start = Math.max(from, found.at(-1)?.to ?? from);
    const to = Math.max(start, at + 1 < begins.length ? begins[at + 1].from : end);
    found.push({ stage, from: start, to });
  });
  return found.filter(({ from, to, stage }) => to > from || stage === "queued");
}

/** The whole length of a bar. */
export function length(found) {
  return found.length ? found.at(-1).to - found[0].from : 0;
}

/** The shortest axis that holds this. */
export function axis(milliseconds) {
  const seconds = LENGTHS.find((known) => known * 1000 >= milliseconds) ?? Math.ceil(milliseconds / 3.6e6) * 3600;
  return seconds * 1000;
}

/** Lays a bar's pieces out from `begin` on an axis of this length. */
export function lay(bar, found, begin, whole) {
  while (bar.childElementCount > found.length) bar.lastElementChild.remove();
  found.forEach(({ stage, from, to }, at) => {
    const piece = bar.children[at] ?? bar.appendChild(make("span"));
    const left = `${(((from - begin) / whole) * 100).toFixed(2)}%`;
    const width = `${(((to - from) / whole) * 100).toFixed(2)}%`;
    if (piece.dataset.stage !== stage) piece.dataset.stage = stage;
    if (piece.style.left !== left) piece.style.left = left;
    if (piece.style.width !== width) piece.style.width = width;
  });
  const said = found.map(({ stage, from, to }) => `${stage} ${precise(to - from)}`).join(", ");
  for (const name of ["aria-label", "title"]) mark(bar, name, said);
}

/** Writes the axis: five moments from its begin to its end. */
export function scale(place, begin, whole, align) {
  const labels = [0, 1, 2, 3, 4].map((quarter) => {
    const at = (whole / 4) * quarter;
    if (align === "clock") return new Date(begin + at).toLocaleTimeString("en-GB");
    return quarter === 0 ? "0" : span(at);
  });
  if (place.dataset.labels === labels.join()) return;
  place.dataset.labels = labels.join();
  place.replaceChildren(...labels.map((label) => make("span", "", label)));
}
