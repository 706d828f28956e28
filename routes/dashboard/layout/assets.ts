/**
 * Static files that pages load: styles, scripts, icon. File names contain a hash of the content, so
 * files never change.
 */
import htmx from "htmx.org/dist/htmx.min.js" with { type: "text" };
import script from "../assets/dashboard.js" with { type: "text" };
import list from "../assets/list.js" with { type: "text" };
import areas from "../assets/style/areas.css" with { type: "text" };
import base from "../assets/style/base.css" with { type: "text" };
import charts from "../assets/style/charts.css" with { type: "text" };
import controls from "../assets/style/controls.css" with { type: "text" };
import lists from "../assets/style/lists.css" with { type: "text" };
import pages from "../assets/style/pages.css" with { type: "text" };
import compare from "../assets/style/compare.css" with { type: "text" };
import run from "../assets/style/run.css" with { type: "text" };
import step from "../assets/style/step.css" with { type: "text" };
import trace from "../assets/style/trace.css" with { type: "text" };
import tracePhone from "../assets/style/trace_phone.css" with { type: "text" };
import traceAxis from "../assets/trace_axis.js" with { type: "text" };
import traceScript from "../assets/trace.js" with { type: "text" };
import runs from "../assets/style/runs.css" with { type: "text" };
import time from "../assets/time.js" with { type: "text" };
import icon from "../assets/icon.svg" with { type: "text" };
import { createHash } from "node:crypto";
import { fail } from "../../http/answer.ts";
import type { Handle } from "../../http/context.ts";
import { StaticBytes } from "../../http/compress.ts";
import { DASHBOARD_PATH } from "./paths.ts";

const CSS = "text/css; charset=UTF-8";
const JAVASCRIPT = "text/javascript; charset=UTF-8";

/** Style sheets, in cascade order. */
const STYLES = [
  base,
  controls,
  lists,
  charts,
  pages,
  runs,
  areas,
  run,
  trace,
  tracePhone,
  step,
  compare,
];

/** The script of all pages, with the functions that it shares with the server. */
const SCRIPT = time.replaceAll(/^export /gm, "") + script + list;

/** The script of a run's page, with names of its own. */
const TRACE_SCRIPT = `(() => {\n${traceAxis.replaceAll(/^export /gm, "")}${traceScript}})();\n`;

const FILES = ([
  ["dashboard.css", STYLES.join("\n"), CSS],
  ["htmx.js", htmx, JAVASCRIPT],
  ["dashboard.js", SCRIPT, JAVASCRIPT],
  ["trace.js", TRACE_SCRIPT, JAVASCRIPT],
  ["icon.svg", icon, "image/svg+xml"],
] as const).map(([name, text, type]) => {
  const tag = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return { name, tagged: `${tag}-${name}`, type, bytes: new StaticBytes(text) };
});

/** Returns the path of a file. */
export function assetPath(name: typeof FILES[number]["name"]): string {
  return `${DASHBOARD_PATH}/assets/${FILES.find((file) => file.name === name)?.tagged}`;
}

/** Responds with a file. */
export const sendAsset: Handle = (c) => {
  const file = FILES.find(({ tagged }) => tagged === c.req.param("name"));
  if (file === undefined) {
    return fail(c, { code: "not_found", message: "No such file: load the page again" });
  }
  return file.bytes.answer(c, {
    "Content-Type": file.type,
    "Cache-Control": "public, max-age=31536000, immutable",
  });
};
