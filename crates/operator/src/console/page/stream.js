// The token and the connection: fetch, because EventSource cannot send a token where it belongs.

const NAME = "hyperfleet-token";
/** The server says something every ten seconds; three times that without a word is a dead connection. */
const SILENCE = 30_000;
/** The first pause after a loss, and the longest. */
const PAUSE = [500, 15_000];
/** A tab that nobody sees for so long gives up its seat. */
const UNSEEN = 60_000;
/** Attempts without any answer after which more is said: a browser does not tell a page why there is none. */
const PATIENCE = 4;
/** What the operator says with a 503 when it cannot ask whose token it is. */
const AWAY = "the Kubernetes API does not answer";

export const token = {
  /** Takes the token out of the address, where it must not stay, and keeps it in this tab. */
  take() {
    const found = /^#token=([^&]+)/.exec(location.hash);
    if (!found) return false;
    sessionStorage.setItem(NAME, decoded(found[1]));
    history.replaceState(null, "", `${location.pathname}#/overview`);
    return true;
  },
  get: () => sessionStorage.getItem(NAME),
  set: (value) => sessionStorage.setItem(NAME, value),
  forget: () => sessionStorage.removeItem(NAME),
};

/** What stands in an address as it was meant; what no address can mean is taken as it is, and refused by the server. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A connection that comes back by itself. `told(event)` hears of states and changes, `link(state)` of the connection itself. */
export class Stream {
  #told;
  #link;
  #abort = null;
  #timer = 0;
  #unseen = 0;
  #failures = 0;
  #unanswered = 0;
  #wanted = false;

  constructor(told, link) {
    this.#told = told;
    this.#link = link;
    const now = () => this.#wanted && !this.#abort && this.#open();
    addEventListener("online", now);
    document.addEventListener("visibilitychange", () => {
      this.#watch();
      if (!document.hidden) now();
    });
  }

  /** A tab may begin where nobody sees it. */
  #watch() {
    clearTimeout(this.#unseen);
    if (document.hidden) this.#unseen = setTimeout(() => this.#pause(), UNSEEN);
  }

  start() {
    this.stop();
    this.#wanted = true;
    this.#failures = 0;
    this.#unanswered = 0;
    this.#link("connecting");
    this.#watch();
    this.#open();
  }

  stop() {
    this.#wanted = false;
    this.#pause();
  }

  #pause() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = null;
  }

  async #open() {
    clearTimeout(this.#timer);
    const abort = new AbortController();
    this.#abort = abort;
    let outcome;
    try {
      outcome = await this.#listen(abort);
    } catch {
      const other = this.#unanswered >= PATIENCE && location.protocol === "https:";
      outcome = other ? "mute" : "lost";
    }
    if (this.#abort !== abort) return; // Somebody has begun anew, or wants no more.
    this.#abort = null;
    if (outcome === "unknown" || outcome === "forbidden") {
      this.#wanted = false;
      this.#link(outcome);
      return;
    }
    // A sitting that the server has ended is no loss: it wants to see the token again.
    if (outcome === "over") {
      this.#timer = setTimeout(() => this.#open(), 100);
      return;
    }
    this.#failures += 1;
    this.#link(outcome);
    const pause = Math.min(PAUSE[1], PAUSE[0] * 2 ** (this.#failures - 1));
    this.#timer = setTimeout(() => this.#open(), pause * (0.75 + Math.random() / 2));
  }

  async #listen(abort) {
    let silence = setTimeout(() => abort.abort(), SILENCE);
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE);
    };
    try {
      const headers = { Authorization: `Bearer ${token.get()}`, Accept: "text/event-stream" };
      this.#unanswered += 1;
      const answer = await fetch("events", { headers, signal: abort.signal, cache: "no-store", redirect: "error" });
      this.#unanswered = 0;
      if (answer.status === 401) return "unknown";
      if (answer.status === 403) return "forbidden";
      if (answer.status === 503 && answer.headers.has("retry-after")) return "full";
      if (!answer.ok) return (await answer.text()).trim() === AWAY ? "away" : "lost";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      // What has no end yet, in the parts that it came in: a large state comes in many.
      let rest = [];
      let heard = false;
      for (;;) {
        const { done, value } = await reader.read();
        alive();
        if (done) return heard ? "over" : "lost";
        const seam = (rest.at(-1) ?? "").slice(-1) + value;
        rest.push(value);
        if (!seam.includes("\n\n")) continue;
        const blocks = rest.join("").split("\n\n");
        rest = [blocks.pop()];
        for (const block of blocks) {
          const event = parse(block);
          if (!event) continue;
          this.#told(event);
          if (!heard) this.#link("live");
          heard = true;
          this.#failures = 0;
        }
      }
    } finally {
      clearTimeout(silence);
    }
  }
}

/** One event of a stream; nothing if it is only a sign of life. */
function parse(block) {
  let name = "";
  let text = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) text += line.slice(6);
  }
  return name && text ? { name, ...JSON.parse(text) } : null;
}
