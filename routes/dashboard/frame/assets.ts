/** Files that pages load: style, scripts, icon. Their names hold what is in them, so they never change. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import pico from "@picocss/pico/css/pico.min.css" with { type: "text" };
import htmx from "htmx.org/dist/htmx.min.js" with { type: "text" };
import { answerBytes, fail } from "../../answer.ts";
import { takesGzip } from "../../compress.ts";
import type { Handle } from "../../context.ts";
import script from "../assets/dashboard.js" with { type: "text" };
import admin from "../assets/style/admin.css" with { type: "text" };
import folding from "../assets/style/folding.css" with { type: "text" };
import frame from "../assets/style/frame.css" with { type: "text" };
import overview from "../assets/style/overview.css" with { type: "text" };
import run from "../assets/style/run.css" with { type: "text" };
import runs from "../assets/style/runs.css" with { type: "text" };
import spend from "../assets/style/spend.css" with { type: "text" };
import icon from "../assets/icon.svg" with { type: "text" };
import { DASHBOARD } from "./paths.ts";

const deflated = promisify(gzip);

/** One file. */
interface Asset {
  readonly text: string;
  readonly type: string;
  /** Its compressed bytes, made at the first request for them. */
  gzipped?: Promise<Uint8Array<ArrayBuffer>>;
}

const STYLES = [frame, overview, runs, run, admin, spend, folding];

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
  served.set(`${tag}-${name}`, { ...asset });
  paths.set(name, `${DASHBOARD}/assets/${tag}-${name}`);
}

/** Where a file is. */
export function assetPath(name: keyof typeof FILES): string {
  return paths.get(name) ?? "";
}

/** Answers with a file. */
export const sendAsset: Handle = async (c) => {
  const asset = served.get(c.req.param("name") ?? "");
  if (asset === undefined) {
    return fail(c, { code: "not_found", message: "No such file: load the page again" });
  }
  const headers = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding",
  };
  if (!takesGzip(c)) {
    return answerBytes(c, new TextEncoder().encode(asset.text), asset.type, headers);
  }
  asset.gzipped ??= deflated(asset.text, { level: 9 }) as Promise<Uint8Array<ArrayBuffer>>;
  const bytes = await asset.gzipped;
  return answerBytes(c, bytes, asset.type, { ...headers, "Content-Encoding": "gzip" });
};
