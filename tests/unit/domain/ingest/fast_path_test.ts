/** The fast path of a heartbeat has no rules of its own: it agrees with the schema. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { fastHeartbeat, heartbeatBody } from "../../../../domain/ingest/heartbeat.ts";
import { anyValue, FITTING } from "./bodies.ts";

Deno.test("heartbeat: the fast path accepts only bodies that the schema parses to the same value", () => {
  const fields = Object.keys(FITTING.heartbeat);
  let accepted = 0;
  const changes = fc.dictionary(fc.constantFrom(...fields), anyValue, { maxKeys: 3 });
  fc.assert(
    fc.property(fc.subarray(fields), changes, (kept, changed) => {
      const sent = Object.fromEntries(kept.map((field) => [field, FITTING.heartbeat[field]]));
      const input = { ...sent, ...changed };
      const answer = fastHeartbeat(input);
      if (answer === null) return;
      accepted++;
      const judged = heartbeatBody.safeParse(input);
      assert(judged.success, `the schema refuses ${JSON.stringify(input)}`);
      const absent = Object.keys(answer).filter((key) => !(key in judged.data));
      assertEquals({ ...answer }, {
        ...judged.data,
        ...Object.fromEntries(absent.map((key) => [key, undefined])),
      });
    }),
    { numRuns: 20_000 },
  );
  assert(accepted > 100, `only ${accepted} were accepted`);
});
