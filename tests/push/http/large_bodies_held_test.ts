/** The effect of the largest bodies on other requests (R10). */
import { assert, assertEquals } from "@std/assert";
import { gzipSync } from "node:zlib";
import {
  BATCH_STRUCTURE_MAX,
  EVENT_BYTES_MAX,
  EVENTS_BODY_BYTES_MAX,
} from "../../../domain/core/limits.ts";
import { anEvent, runId } from "../../support/builders/requests.ts";
import { enterprise } from "../../support/harness/harness.ts";
import { cpuMsOf, whileWatched } from "../../support/oracles/durations.ts";

const PATH = `/v1/runs/${runId(1)}`;

/**
 * Largest part of the time of one `JSON.parse` of the same text for which a body may hold the event
 * loop. The machine, its other work and the garbage collection change both alike. A body that is
 * checked and read in one piece takes 2 to 4 times that.
 */
const BLOCKED_MAX = 1.35;

/** An object of this many bytes, or two more, with as many values as possible. */
function wide(bytes: number): string {
  return `{"a":[${"0,".repeat((bytes - 8) / 2)}0]}`;
}

enterprise.test("R10: no body of 16 MiB blocks the event loop for long", async (h) => {
  const event = (n: number, data: string) =>
    JSON.stringify(anEvent(n, { type: "llm_call" })).replace(
      /"data":.*\}/,
      () => `"data":${data}}`,
    );
  const full = EVENTS_BODY_BYTES_MAX - 400;
  const rows = (count: number, row: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => row(n));
  const keys = `{${
    rows(BATCH_STRUCTURE_MAX - 100, (n) => `"${n.toString(36)}":"${n + 10_000_000}"`)
  }}`;
  const shapes = `[${
    rows(BATCH_STRUCTURE_MAX / 31 - 10, (n) => `{${rows(30, (k) => `"${k}n${n}":1`)}}`)
  }]`;
  const bodies: Record<string, string> = {
    "an unknown field": `{"more":${wide(full - 200)},"events":[${event(1, "{}")}]}`,
    "one event of numbers": `{"events":[${event(2, wide(full - 200))}]}`,
    "one event of texts": `{"events":[${event(3, `["${'","'.repeat(full / 3 - 100)}"]`)}]}`,
    "one text of escapes": `{"events":[${event(4, `{"a":"${'\\"'.repeat(full / 2 - 100)}"}`)}]}`,
    "usage of many members": `{"events":[${event(5, `{"usage":${keys}}`)}]}`,
    "objects with different members": `{"events":[${event(6, `{"a":${shapes}}`)}]}`,
    "50 events": `{"events":[${rows(50, (n) => event(100 + n, wide(EVENT_BYTES_MAX - 300)))}]}`,
    "levels": `{"more":${"[".repeat(399_000)}${"]".repeat(399_000)},"events":[],"x":"${
      "x".repeat(full - 900_000)
    }"}`,
  };
  for (const [name, text] of Object.entries(bodies)) {
    // Small on the wire, so that the test's own sending does not count.
    const payloadBytes = gzipSync(text);
    let best = Infinity;
    // Other work on the machine can only lengthen it.
    for (let attempt = 0; attempt < 20 && best >= BLOCKED_MAX; attempt++) {
      const parseMs = () => cpuMsOf(() => JSON.parse(text));
      const onceMs = parseMs();
      const { longestMs, value } = await whileWatched(() =>
        h.post(`${PATH}/events`, payloadBytes, { headers: { "Content-Encoding": "gzip" } })
      );
      // A busy machine may not confirm in time.
      if (value.status === 503) continue;
      assertEquals(value.status, 202, `${name}: ${value.text}`);
      best = Math.min(best, longestMs / Math.max(onceMs, parseMs()));
    }
    assert(best < BLOCKED_MAX, `${name} held the event loop ${best} times as long as one parse`);
  }
});
