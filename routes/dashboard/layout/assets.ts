/** Files that pages load: style, scripts, icon. Their names hold what is in them, so they never change. */
import { createHash } from "node:crypto";
import pico from "@picocss/pico/css/pico.min.css" with { type: "text" };
import htmx from "htmx.org/dist/htmx.min.js" with { type: "text" };
import { fail } from "../../http/answer.ts";
import type { Handle } from "../../http/context.ts";
import { StaticBytes } from "../../http/static_response.ts";
import script from "../assets/dashboard.js" with { type: "text" };
import admin from "../assets/style/admin.css" with { type: "text" };
import folding from "../assets/style/folding.css" with { type: "text" };
import frame from "../assets/style/frame.css" with { type: "text" };
import overview from "../assets/style/overview.css" with { type: "text" };
import run from "../assets/style/run.css" with { type: "text" };
import runs from "../assets/style/runs.css" with { type: "text" };
import spend from "../assets/style/spend.css" with { type: "text" };
import status from "../assets/style/status.css" with { type: "text" };
import icon from "../assets/icon.svg" with { type: "text" };
import { DASHBOARD_PATH } from "./paths.ts";

/** One file. */
interface Asset {
  readonly bytes: StaticBytes;
  readonly type: string;
}

const STYLES = [frame, status, overview, runs, run, admin, spend, folding];

const FILES = {
  "pico.css": { text: pico, type: "text/css; charset=UTF-8" },
  "dashboard.css": { text: STYLES.join("\n"), type: "text/css; charset=UTF-8" },
  "htmx.js": { text: htmx, type: "text/javascript; charset=UTF-8" },
  "dashboard.js": { text: script, type: "text/javascript; charset=UTF-8" },
  "icon.svg": { text: icon, type: "image/svg+xml" },
} as const;

/** By the name in their URL. */
const served = new Map<string, Asset>();
const paths = new Map<string, string>();
for (const [name, asset] of Object.entries(FILES)) {
  const tag = createHash("sha256").update(asset.text).digest("hex").slice(0, 12);
  served.set(`${tag}-${name}`, { bytes: new StaticBytes(asset.text), type: asset.type });
  paths.set(name, `${DASHBOARD_PATH}/assets/${tag}-${name}`);
}

/** Where a file is. */
export function assetPath(name: keyof typeof FILES): string {
  return paths.get(name) ?? "";
}

/** Answers with a file. */
export const sendAsset: Handle = (c) => {
  const asset = served.get(c.req.param("name") ?? "");
  if (asset === undefined) {
    return fail(c, { code: "not_found", message: "No such file: load the page again" });
  }
  const headers = {
    "Content-Type": asset.type,
    "Cache-Control": "public, max-age=31536000, immutable",
  };
  return asset.bytes.answer(c, headers);
};
