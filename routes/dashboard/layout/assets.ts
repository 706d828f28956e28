/**
 * Static files that pages load: styles, scripts, icon. File names contain a hash of the content, so
 * files never change.
 */
import pico from "@picocss/pico/css/pico.min.css" with { type: "text" };
import htmx from "htmx.org/dist/htmx.min.js" with { type: "text" };
import script from "../assets/dashboard.js" with { type: "text" };
import folding from "../assets/style/folding.css" with { type: "text" };
import layout from "../assets/style/layout.css" with { type: "text" };
import status from "../assets/style/status.css" with { type: "text" };
import icon from "../assets/icon.svg" with { type: "text" };
import { createHash } from "node:crypto";
import { fail } from "../../http/answer.ts";
import type { Handle } from "../../http/context.ts";
import { StaticBytes } from "../../http/compress.ts";
import { DASHBOARD_PATH } from "./paths.ts";

const CSS = "text/css; charset=UTF-8";
const JAVASCRIPT = "text/javascript; charset=UTF-8";

/** Builds the files; `styles` are the pages' style sheets, in cascade order. */
export function createAssets(styles: Iterable<string>) {
  const files = [
    ["pico.css", pico, CSS],
    ["dashboard.css", [layout, status, ...styles, folding].join("\n"), CSS],
    ["htmx.js", htmx, JAVASCRIPT],
    ["dashboard.js", script, JAVASCRIPT],
    ["icon.svg", icon, "image/svg+xml"],
  ] as const;
  const served = new Map<string, { readonly bytes: StaticBytes; readonly type: string }>();
  const paths = new Map<string, string>();
  for (const [name, text, type] of files) {
    const tag = createHash("sha256").update(text).digest("hex").slice(0, 12);
    served.set(`${tag}-${name}`, { bytes: new StaticBytes(text), type });
    paths.set(name, `${DASHBOARD_PATH}/assets/${tag}-${name}`);
  }
  const send: Handle = (c) => {
    const asset = served.get(c.req.param("name") ?? "");
    if (asset === undefined) {
      return fail(c, { code: "not_found", message: "No such file: load the page again" });
    }
    return asset.bytes.answer(c, {
      "Content-Type": asset.type,
      "Cache-Control": "public, max-age=31536000, immutable",
    });
  };
  /** Returns the path of a file; an empty string for an unknown name. */
  const pathOf = (name: string) => paths.get(name) ?? "";
  return { pathOf, send };
}
