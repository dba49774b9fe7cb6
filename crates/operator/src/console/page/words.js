// How things are said: ages, sizes, times. And the one way in which text gets onto the page.

/** An element with a class and a text. Text is only ever text: names of jobs are written by strangers. */
export function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Writes only what differs: whoever reads along is not disturbed, and nothing is laid out twice. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute or takes it away, if that is a change. */
export function mark(element, name, value) {
  if (value === undefined || value === null || value === "") {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value);
  }
}

/** A time span in its two largest units at most. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, "0")}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h ${String(minutes % 60).padStart(2, "0")}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** A stage's length, where tenths of a second count. */
export function precise(milliseconds) {
  const value = Math.max(0, milliseconds);
  return value < 10000 ? `${(value / 1000).toFixed(1)}s` : span(value);
}

/** The time of day of a moment, with its date if that is not the one of `now`. */
export function time(moment, now) {
  const at = new Date(moment);
  const clock = at.toLocaleTimeString("en-GB");
  return at.toDateString() === new Date(now).toDateString() ? clock : `${at.toLocaleDateString("sv-SE")} ${clock}`;
}

/** Where the clock is that times are told by. */
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A size in binary units, as Kubernetes writes them. */
export function size(bytes) {
  const units = ["MiB", "GiB", "TiB", "PiB"];
  let value = bytes / 2 ** 20;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** "1 job", "2 jobs". */
export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** The namespace and the name of a key. */
export function split(key) {
  const at = key.indexOf("/");
  return [key.slice(0, at), key.slice(at + 1)];
}
