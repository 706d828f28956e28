/** A repair changes nothing in a body that fits its schema, so only other bodies are repaired. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Losses } from "../../../../domain/core/losses.ts";
import { eventBody, mendEvent } from "../../../../domain/ingest/event.ts";
import { finishBody, mendFinish } from "../../../../domain/ingest/finish.ts";
import { heartbeatBody, mendHeartbeat } from "../../../../domain/ingest/heartbeat.ts";
import { mendOpen, openBody } from "../../../../domain/ingest/open.ts";
import type { Schema } from "../../../../domain/core/validate.ts";
import { anyValue, FITTING } from "./bodies.ts";

/** Optional fields, and the alias of an event's id. */
const RARE = [
  ..."parent_run_id goal idle_timeout_seconds idle_timeout_status external_id".split(" "),
];

type Mend = (sent: Record<string, unknown>, losses: Losses) => Record<string, unknown>;

function mendOf(mend: (sent: Record<string, unknown>, text: string, losses: Losses) => void): Mend {
  return (sent, losses) => {
    mend(sent, JSON.stringify(sent), losses);
    return sent;
  };
}

/** For each body: its repair and its schema. */
const BODIES: Record<keyof typeof FITTING, [Mend, Schema<unknown>]> = {
  open: [mendOf(mendOpen), openBody],
  event: [mendEvent, eventBody],
  finish: [mendOf(mendFinish), finishBody],
  heartbeat: [mendOf(mendHeartbeat), heartbeatBody],
};

for (const [name, right] of Object.entries(FITTING)) {
  const [mend, schema] = BODIES[name as keyof typeof FITTING];
  const fields = Object.keys(right);

  Deno.test(`${name}: a repair changes nothing in a body that fits`, () => {
    let fitting = 0;
    const changes = fc.dictionary(fc.constantFrom(...fields, ...RARE), anyValue, { maxKeys: 3 });
    fc.assert(
      fc.property(fc.subarray(fields), changes, (kept, changed) => {
        const input: Record<string, unknown> = {
          ...Object.fromEntries(kept.map((field) => [field, right[field]])),
          ...changed,
        };
        const plain = schema.safeParse(input);
        if (!plain.success) return;
        fitting++;
        const losses = new Losses();
        const repaired = schema.safeParse(mend({ ...input }, losses));
        assert(losses.isEmpty, `something is lost of ${JSON.stringify(input)}`);
        assert(repaired.success, `the schema refuses ${JSON.stringify(input)}`);
        assertEquals(present(repaired.data), present(plain.data));
      }),
      { numRuns: 4_000 },
    );
    assert(fitting > 100, `only ${fitting} fit`);
  });
}

/** Fields with a value, because an absent one equals `undefined`. */
function present(data: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data as object).filter(([, value]) => value !== undefined),
  );
}
