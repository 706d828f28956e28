/** The fast paths of events and heartbeats have no rules of their own: they agree with the schema. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { eventBody, fastEvent } from "../../../../domain/ingest/event.ts";
import { fastHeartbeat, heartbeatBody } from "../../../../domain/ingest/heartbeat.ts";
import type { Schema } from "../../../../domain/core/validate.ts";
import { anyValue, FITTING } from "./bodies.ts";

type FastPath = (sent: Record<string, unknown>) => object | null;

const PATHS: Readonly<Record<"event" | "heartbeat", readonly [FastPath, Schema<object>]>> = {
  event: [fastEvent, eventBody],
  heartbeat: [fastHeartbeat, heartbeatBody],
};

for (const [name, [fast, schema]] of Object.entries(PATHS)) {
  Deno.test(`${name}: the fast path accepts only bodies that the schema parses to the same value`, () => {
    const fitting = FITTING[name as keyof typeof PATHS];
    const fields = Object.keys(fitting);
    let accepted = 0;
    const changes = fc.dictionary(fc.constantFrom(...fields), anyValue, { maxKeys: 3 });
    fc.assert(
      fc.property(fc.subarray(fields), changes, (kept, changed) => {
        const sent = Object.fromEntries(kept.map((field) => [field, fitting[field]]));
        const input = { ...sent, ...changed };
        const answer = fast(input);
        if (answer === null) return;
        accepted++;
        const judged = schema.safeParse(input);
        assert(judged.success, `the schema refuses ${JSON.stringify(input)}`);
        const absent = Object.keys(answer).filter((key) => !(key in judged.data));
        assertEquals({ ...answer }, {
          ...judged.data,
          ...Object.fromEntries(absent.map((key) => [key, undefined])),
        });
      }),
      { numRuns: 4_000 },
    );
    assert(accepted > 100, `only ${accepted} were accepted`);
  });
}
