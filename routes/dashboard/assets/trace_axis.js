// The axis of the waterfall: zoom by the minimap, and round ticks. It is part of trace.js.

export const one = (selector, within = document) => within.querySelector(selector);
export const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/** The part of the axis that is shown, in milliseconds; null for all of it. */
export let zoomed = null;

/** Shows a part of the axis; bars keep their milliseconds. */
export function zoom(from, to) {
  const wf = one(".wf");
  const length = Number(wf.dataset.length);
  const isAll = from <= 0 && to >= length;
  zoomed = isAll ? null : [from, to];
  const percent = (ms) => (ms - from) / (to - from) * 100;
  for (const bar of all("rect[data-s]", wf)) {
    const [start, end] = [percent(Number(bar.dataset.s)), percent(Number(bar.dataset.e))];
    bar.setAttribute("visibility", end < 0 || start > 100 ? "hidden" : "visible");
    const left = Math.max(0, start);
    bar.setAttribute("x", `${left}%`);
    if (bar.getAttribute("width").endsWith("%")) {
      bar.setAttribute("width", `${Math.max(0.15, Math.min(100, end) - left)}%`);
    }
  }
  drawTicks(wf, from, to, percent);
  const part = one(".minimap .win");
  if (part) {
    part.setAttribute("visibility", isAll ? "hidden" : "visible");
    part.setAttribute("x", from / length * 1_000);
    part.setAttribute("width", (to - from) / length * 1_000);
  }
  one("[data-fit]").hidden = isAll;
}

const ROUND_MS = [1, 2, 5, 10, 20, 30].flatMap((n) => [n * 1_000, n * 60_000])
  .concat([1, 2, 3, 6, 12].map((n) => n * 3_600_000)).sort((a, b) => a - b);

function drawTicks(wf, from, to, percent) {
  const least = (to - from) / 5;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = least > 1_000
    ? ROUND_MS.find((ms) => ms >= least) ?? 86_400_000 * Math.ceil(least / 86_400_000)
    : Math.max(1, ([1, 2, 5].find((n) => n * power >= least) ?? 10) * power);
  const axis = one(".axis", wf);
  const ticks = one("#ticks");
  for (const text of all("text", axis)) text.remove();
  ticks.replaceChildren();
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const { usual } = wf.dataset;
  if (usual >= from && usual <= to) {
    const x = `${percent(usual)}%`;
    ticks.append(make("line", { class: "tick-usual", x1: x, x2: x, y1: 0, y2: "100%" }));
  }
  for (let ms = Math.ceil(from / step) * step; ms < to; ms += step) {
    const x = `${percent(ms)}%`;
    ticks.append(make("line", { class: "tick", x1: x, x2: x, y1: 0, y2: "100%" }));
    if (percent(ms) > 92) continue;
    const text = make("text", { x, y: 12 });
    text.textContent = ms === 0
      ? "0"
      : ms < 1_000 || step < 1_000 && ms < 10_000
      ? `${Math.round(ms)} ms`
      : ms < 120_000
      ? `${Math.round(ms / 100) / 10} s`
      : ms < 7_200_000
      ? `${Math.round(ms / 6_000) / 10} min`
      : `${Math.round(ms / 360_000) / 10} h`;
    axis.append(text);
  }
}

/** Shows the part of the axis that the events of the page take. */
export function zoomToRows() {
  const bars = all(".wf tr:not(.is-run) rect[data-s]");
  const from = Math.min(...bars.map(({ dataset }) => Number(dataset.s)));
  const to = Math.max(...bars.map(({ dataset }) => Number(dataset.e)));
  if (to > from) zoom(from, Math.min(Number(one(".wf").dataset.length), to + (to - from) / 50));
}

addEventListener("pointerdown", (event) => {
  const map = event.target.closest?.("[data-minimap]");
  if (!map || !one(".wf")) return;
  const length = Number(one(".wf").dataset.length);
  const box = map.getBoundingClientRect();
  const at = (x) => Math.min(1, Math.max(0, (x - box.left) / box.width)) * length;
  const start = at(event.clientX);
  let hasMoved = false;
  const move = ({ clientX }) => {
    if (!hasMoved && Math.abs(at(clientX) - start) <= length / 100) return;
    // Captured only now: a captured pointer would not click the link below it.
    if (!hasMoved) map.setPointerCapture(event.pointerId);
    hasMoved = true;
    zoom(Math.min(start, at(clientX)), Math.max(start, at(clientX)));
  };
  map.addEventListener("pointermove", move);
  addEventListener("pointerup", () => {
    map.removeEventListener("pointermove", move);
    if (!hasMoved && !one("a", map)) zoom(0, length);
  }, { once: true });
});

// The links of the minimap are one Tab stop; arrows move along them.
addEventListener("keydown", (event) => {
  const link = event.target.closest?.(".map-pages a");
  const next = { ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" }[event.key];
  if (!link || !next || !link[next]) return;
  event.preventDefault();
  link.tabIndex = -1;
  link[next].tabIndex = 0;
  link[next].focus();
});
