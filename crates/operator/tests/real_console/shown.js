// What the page shows, read off the page itself. Tests compare it with what the API says.
globalThis.shown = {
  lines: (table) => [...document.querySelectorAll(`.${table} tbody tr`)],
  texts: (row, ...cells) => cells.map((at) => row.children[at].textContent),
  sorted: (rows) => rows.sort((one, other) => (one[0] < other[0] ? -1 : 1)),

  pools: () =>
    shown.lines("t-pools").map((row) => [
      row.querySelector(".strong").textContent,
      ...[...row.querySelectorAll(".num")].map((cell) => Number(cell.textContent)),
    ]),
  // Name, phase, node, VMID.
  vms: () =>
    shown.sorted(shown.lines("t-vms").map((row) => [row.querySelector(".open").textContent, ...shown.texts(row, 1, 3, 4)])),
  // Name, state.
  jobs: () =>
    shown.sorted(shown.lines("t-timelines").map((row) => [row.querySelector(".open").textContent, ...shown.texts(row, 1)])),
  clusters: () =>
    [...document.querySelectorAll("#clusters-list article")].map((card) => [
      card.querySelector("h2").textContent,
      card.querySelector(".word").textContent,
      [...card.querySelectorAll(".t-nodes tbody tr")].map((row) => shown.texts(row, 0, 1)),
    ]),
  // Whether there is a bar with all of these stages.
  bar: (...stages) =>
    [...document.querySelectorAll(".t-timelines .bar")].some((bar) =>
      stages.every((stage) => bar.getAttribute("aria-label").includes(stage)),
    ),
  // How many VMs are in each phase, in the order of names.
  phases: () => {
    const counts = {};
    for (const row of shown.lines("t-vms")) {
      const phase = row.children[1].textContent;
      counts[phase] = (counts[phase] ?? 0) + 1;
    }
    return shown.sorted(Object.entries(counts));
  },
  // Whether one can see where the focus is.
  ring: () => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  },
};
