/** All reads of the API: each list with all its pages, each object of a list. */
import { ENDPOINTS } from "../../../routes/api/endpoints.ts";
import type { Endpoint } from "../../../routes/openapi/describe.ts";
import { urlOf } from "../../support/builders/examples.ts";

/** Sends a GET request, as the operator where teams have no access; returns the text of its answer. */
type Read = (path: string, isOperators: boolean) => Promise<string>;

/** A call that writes, an endless stream, figures of the process, and texts that never change. */
const NOT_READ: ReadonlySet<string> = new Set(
  ["/v1/ping", "/v1/live", "/metrics", "/docs", "/openapi.json"],
);

/** Items of a page: few, so that lists have several pages; and pages of a list that are read. */
const PAGE = 20, PAGES_MAX = 10;

/** More ways to read a list. */
const WAYS: Readonly<Record<string, readonly string[]>> = {
  "/v1/runs": ["has=error", "has=failed_check", "status=failed", "kind=heartbeat", "agent=ant"],
  "/v1/runs.ndjson": ["from=2026-01-01", "from=2026-01-01&include=events"],
  "/v1/runs.csv": ["from=2026-01-01"],
  "/v1/spend": ["day", "agent", "customer", "feature", "model", "provider", "status"].map(
    (group) => `from=2026-09-01&to=2027-03-01&group_by=${group}`,
  ),
  "/v1/spend/unpriced": ["from=2026-09-01&to=2027-03-01"],
  "/v1/incidents": ["state=resolved"],
  "/v1/agents": ["archived=shown", "sort=last_seen"],
};

/**
 * Reads everything that a key may read; returns the names of the items of each list.
 *
 * @param deletions ids of deletions, which no list shows
 */
export async function readAll(
  read: Read,
  isOperator: boolean,
  deletions: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = new Map<string, readonly string[]>([["/v1/deletions", deletions]]);
  for (const endpoint of ENDPOINTS) {
    const { method, path, access } = endpoint;
    const isOpen = access === null || access.scope !== null || isOperator;
    if (method !== "GET" || !isOpen || NOT_READ.has(path)) continue;
    const get = (url: string) => read(url, access?.scope === null);
    const [list = "", parameter] = path.split(/\/:\w+/);
    if (parameter !== undefined) {
      for (const name of names.get(list) ?? []) {
        await get(path.replace(/:\w+/, encodeURIComponent(name)));
      }
    } else names.set(path, await readList(endpoint, get));
  }
  return names;
}

/** Reads all pages of a list; returns the names of its items. */
async function readList(
  endpoint: Endpoint,
  read: (path: string) => Promise<string>,
): Promise<string[]> {
  const { path, query = {} } = endpoint;
  await read(urlOf(endpoint));
  for (const way of WAYS[path] ?? []) await read(`${path}?${way}`);
  const names: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX && "limit" in query; page++) {
    const more: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const text: string = await read(`${path}?limit=${PAGE}${more}`);
    if (!text.startsWith("{")) break;
    const json = JSON.parse(text);
    names.push(...namesIn(json));
    cursor = json.cursor ?? null;
    if (cursor === null) break;
  }
  if ("limit" in query || path.includes(".")) return names;
  const text = await read(path);
  return text.startsWith("{") ? namesIn(JSON.parse(text)) : [];
}

// deno-lint-ignore no-explicit-any -- a body of any list
function namesIn(json: any): string[] {
  // deno-lint-ignore no-explicit-any -- items of any list
  const items: any = Object.values(json).find(Array.isArray) ?? [];
  // deno-lint-ignore no-explicit-any -- an item of any list
  return items.flatMap(({ id, slug, agent }: any) => slug ?? id ?? agent ?? []).map(String);
}
