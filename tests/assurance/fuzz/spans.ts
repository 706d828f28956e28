/**
 * `deno task assure spans`: sends mangled bodies of traces. No 5xx, nothing stored of a refused body, and
 * exact totals afterwards.
 */
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import { assert, assertEquals } from "@std/assert";
import { print, say } from "../../../bench/report.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { Random } from "../../../tools/random.ts";
import { recordedExports } from "../../support/builders/spans.ts";
import { Harness } from "../../support/harness/harness.ts";
import { strayRows } from "../../support/oracles/stray_rows.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { oddJson } from "./values.ts";

/** Milliseconds between two bodies: the team's buckets of rate and bytes fill again. */
const PAUSE_MS = 1_000;

/**
 * Sends mangled bodies to a new service; returns the number of answers by status.
 *
 * @throws for a 5xx, for a refused body that was counted, and for totals that are not exact
 */
export async function sendMangled(count: number, seed: string): Promise<Map<number, number>> {
  const random = new Random(seed);
  const exports = await recordedExports();
  const sentOf = () => exports[random.int(0, exports.length - 1)] as typeof exports[number];
  const statuses = new Map<number, number>();
  await using h = await Harness.open();
  for (let n = 0; n < count; n++) {
    const { contentType, body } = sentOf();
    const isPacked = random.chance(0.1);
    const mangled = mangle(random, isPacked ? new Uint8Array(gzipSync(body)) : body, sentOf().body);
    const used = await h.usage();
    const { status, text } = await h.post("/v1/traces", mangled, {
      headers: {
        "Content-Type": random.chance(0.05) ? "application/json" : contentType,
        ...isPacked ? { "Content-Encoding": "gzip" } : {},
      },
    });
    assert(status < 500, `${n}: ${status} ${text}`);
    if (status >= 400) assertEquals(await h.usage(), used, `${n}: ${status} is counted`);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    h.nowMs += PAUSE_MS;
    if (n % 10_000 === 9_999) say(`${n + 1} bodies`);
  }
  await h.worker.idle();
  assertEquals((await verifyStore(h.store)).differences, []);
  assertEquals(await strayRows(h.store), []);
  return statuses;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Changes a body in one of several ways. */
function mangle(random: Random, body: Bytes, other: Bytes): Bytes {
  const at = random.int(0, body.length - 1);
  const end = Math.min(body.length, at + random.int(1, 64));
  const joined = (...parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
  return random.pick<() => Bytes>([
    () => body.map((byte, i) => i === at ? random.int(0, 255) : byte),
    () => body.map((byte) => random.chance(0.001) ? random.int(0, 255) : byte),
    () => body.slice(0, at),
    () => joined(body.subarray(0, at), body.subarray(end)),
    () => joined(body.subarray(0, end), body.subarray(at)),
    () => joined(body.subarray(0, at), random.bytes(end - at), body.subarray(at)),
    () => joined(body.subarray(0, at), other.subarray(Math.min(at, other.length))),
    () => new TextEncoder().encode(replaceValue(random, new TextDecoder().decode(body))),
  ])();
}

function replaceValue(random: Random, text: string): string {
  const values = [...text.matchAll(/:("[^"]*"|\d+|true|false|\[\]|\{\})/g)];
  const value = values[random.int(0, Math.max(0, values.length - 1))];
  if (value === undefined) return text;
  const end = value.index + value[0].length;
  return `${text.slice(0, value.index)}:${oddJson(random)}${text.slice(end)}`;
}

export async function run({ count, seed }: AssuranceOptions): Promise<boolean> {
  say(`seed ${seed}`);
  const statuses = await sendMangled(count, seed);
  for (const [status, answers] of [...statuses].sort()) print(`${status}: ${answers}`);
  return true;
}
