// A real browser on a string: reads one JSON order per line, does it, and answers in one line.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [, , playwright, executablePath] = process.argv;
const { chromium } = createRequire(import.meta.url)(playwright);

const browser = await chromium.launch({
  executablePath,
  headless: true,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

let context;
let page;
let errors = [];
let foreign = [];

const orders = {
  // A fresh profile with a window of this size, whose owner likes it light or dark.
  async open({ width, height, scheme, origin }) {
    await context?.close();
    context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, ignoreHTTPSErrors: true });
    page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("dialog", (dialog) => (errors.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
    context.on("request", (request) => new URL(request.url()).origin !== origin && foreign.push(request.url()));
    await page.addInitScript({ path: new URL("shown.js", import.meta.url).pathname });
    // Whatever keeps the page from answering for more than 50 ms.
    await page.addInitScript(() => {
      globalThis.long = [];
      const note = (list) => globalThis.long.push(...list.getEntries().map((entry) => Math.round(entry.duration)));
      new PerformanceObserver(note).observe({ type: "longtask", buffered: true });
    });
    // How long each frame and each tick of the page worked, by a clock that nobody sets.
    await page.addInitScript(() => {
      globalThis.work = [];
      const clock = performance.now.bind(performance);
      const timed = (call) => (...given) => {
        const begun = clock();
        call(...given);
        globalThis.work.push(Math.round((clock() - begun) * 10) / 10);
      };
      for (const name of ["requestAnimationFrame", "setInterval"]) {
        const plain = globalThis[name].bind(globalThis);
        globalThis[name] = (call, ...rest) => plain(timed(call), ...rest);
      }
    });
  },
  goto: ({ url }) => page.goto(url).then(() => null),
  eval: ({ script }) => page.evaluate(script),
  click: ({ selector }) => page.click(selector),
  press: ({ key }) => page.keyboard.press(key),
  fill: ({ selector, text }) => page.fill(selector, text),
  look: ({ width, height, scheme }) =>
    page.setViewportSize({ width, height }).then(() => page.emulateMedia({ colorScheme: scheme })),
  back: () => page.goBack().then(() => null),
  shot: ({ path }) => page.screenshot({ path }).then(() => null),
  // What went wrong since the last time somebody asked.
  async report() {
    const report = { errors, foreign };
    errors = [];
    foreign = [];
    return report;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { order, ...rest } = JSON.parse(line);
  let answer;
  try {
    answer = { ok: (await orders[order](rest)) ?? null };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
