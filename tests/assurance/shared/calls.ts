/** Calls that are repeated until their outcome is known, by clients of a cluster. */
import { assert } from "@std/assert";
import type { Access } from "../../support/oracles/totals.ts";

const ATTEMPTS_MAX = 50;

const REFUSED_MS = 20;

/** An answer, and whether an earlier attempt may have been stored. */
interface Certain {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- a response body
  readonly json: any;
  readonly isRepeated: boolean;
}

/** Sends a call to one instance after the other until one gives another answer than 503. */
export async function certain(
  access: Access,
  method: string,
  path: string,
  body?: unknown,
): Promise<Certain> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const answer = await once(access, method, path, body);
    if (answer !== null) return { ...answer, isRepeated: attempt > 0 };
    await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
  }
  throw new Error(`${method} ${path}: ${ATTEMPTS_MAX} attempts were refused`);
}

/** Sends a call once; null if its outcome is unknown. */
export async function once(
  { url, key }: Access,
  method: string,
  path: string,
  body?: unknown,
): Promise<Omit<Certain, "isRepeated"> | null> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = await response.json();
    const { status, headers } = response;
    assert(status < 500 || status === 503, `${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return status === 503 ? null : { status, headers, json };
  } catch (error) {
    // The instance has ended.
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** Reads a list page by page. */
// deno-lint-ignore no-explicit-any -- rows of a response
export async function listed(access: Access, list: string, query = ""): Promise<any[]> {
  const items = [];
  for (let after = "";;) {
    const { status, json } = await certain(access, "GET", `/v1/${list}?limit=100${query}${after}`);
    assert(status === 200, JSON.stringify(json));
    items.push(...json[list]);
    if (json.cursor === null) return items;
    after = `&cursor=${encodeURIComponent(json.cursor)}`;
  }
}
