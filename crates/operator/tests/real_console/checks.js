// What somebody who cannot see the page, or not well, or has no mouse, would run into. Gives a list of complaints.
(() => {
  const complaints = [];
  const visible = (element) => element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
  const say = (what, element) => complaints.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
  const named = (element) => {
    const by = element.getAttribute("aria-labelledby");
    const label = element.labels?.length ? [...element.labels].map((one) => one.textContent).join(" ") : "";
    return (element.getAttribute("aria-label") || (by && document.getElementById(by)?.textContent) || label || element.textContent || "").trim();
  };

  // Landmarks, headings, names.
  for (const landmark of ["main", "header", "footer"]) {
    if (document.querySelectorAll(landmark).length !== 1) complaints.push(`not one ${landmark}`);
  }
  if (!document.documentElement.lang) complaints.push("no language");
  if (!document.title) complaints.push("no title");
  const headings = [...document.querySelectorAll("h1, h2, h3")].filter(visible);
  if (headings.filter((heading) => heading.tagName === "H1").length !== 1) complaints.push("not one h1");
  headings.reduce((before, heading) => {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) say("a heading below none", heading);
    return level;
  }, 0);
  for (const element of document.querySelectorAll("a, button, input, select, [role=img], dialog, nav")) {
    if (visible(element) && !named(element)) say("no name", element);
  }
  for (const image of document.images) if (!image.hasAttribute("alt")) say("no alt", image);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) complaints.push("an id twice");
  for (const element of document.querySelectorAll("[aria-labelledby]")) {
    if (!document.getElementById(element.getAttribute("aria-labelledby"))) say("named by nothing", element);
  }

  // Tables are tables, whatever they look like.
  for (const table of document.querySelectorAll("table")) {
    if (table.getAttribute("role") !== "table" || !named(table)) say("a table without role or name", table);
    for (const head of table.querySelectorAll("th")) {
      if (!["col", "row"].includes(head.scope)) say("a header of nothing", head);
    }
    const columns = table.querySelectorAll("thead th").length;
    for (const row of table.querySelectorAll("tr")) {
      if (row.getAttribute("role") !== "row" || row.children.length !== columns) say("a row that is none", row);
    }
  }
  if (document.querySelectorAll("[aria-live]").length > 3) complaints.push("too much is said aloud");
  for (const element of document.querySelectorAll("td, tbody, #views")) {
    if (element.closest("[aria-live]:not([aria-live=off])")) say("every change is said aloud", element);
  }
  for (const element of document.querySelectorAll("[tabindex]")) {
    if (element.tabIndex > 0) say("an order of its own", element);
  }
  for (const element of document.querySelectorAll("[style], [onclick]")) {
    if (element.hasAttribute("onclick")) say("a script in the page", element);
  }

  // Contrast of text on whatever is behind it.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255];
  };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && seen.size < 4000; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || seen.has(element) || !visible(element) || element.closest(".hidden, .skip, script, noscript")) continue;
    seen.add(element);
    const style = getComputedStyle(element);
    const [a, b] = [light(colour(style.color)), light(behind(element))].sort((one, other) => other - one);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) say(`contrast ${ratio.toFixed(2)}`, element);
  }
  for (const swatch of document.querySelectorAll(".swatch")) {
    const [a, b] = [getComputedStyle(swatch).backgroundColor, getComputedStyle(document.querySelector(".list")).backgroundColor]
      .map((text) => light(colour(text)))
      .sort((one, other) => other - one);
    if ((a + 0.05) / (b + 0.05) < 3) say("a stage that is hard to see", swatch);
  }

  if (seen.size < 10) complaints.push(`only ${seen.size} texts were looked at`);

  // Nothing leads out of the window.
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) complaints.push(`${wide} pixels to the side`);
  return complaints;
})();
