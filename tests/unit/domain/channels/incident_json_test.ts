/** The JSON of incidents, which webhooks and the API share. */
import { assertEquals } from "@std/assert";
import type { RunId } from "../../../../domain/core/ids.ts";
import { incidentJson } from "../../../../domain/channels/forms/webhook.ts";
import { at, runId } from "../../../support/builders/requests.ts";
import { idOfNumber, incidentFacts } from "../../../support/builders/incidents.ts";
import { NOON } from "../../../support/harness/harness.ts";

Deno.test("an open incident has no end, and a link with a public address alone", () => {
  const runs = [runId(2), runId(1)] as RunId[];
  const facts = incidentFacts({ runs });
  const json = incidentJson(facts, null);
  assertEquals(json, {
    id: facts.id,
    rule: "failures",
    kind: "run_failed",
    severity: "critical",
    state: "open",
    group: { agent: "nightly" },
    opened_at: at(),
    resolved_at: null,
    resolved_by: null,
    duration_seconds: null,
    count: 3,
    value: 3,
    threshold: 3,
    message: "nightly failed 3 times in a row",
    run_ids: runs,
    silenced: false,
    acknowledged: null,
    url: null,
  });
  const url = `https://runs.example.org/dashboard/alerts/incidents/${idOfNumber("inc", 1)}`;
  assertEquals(incidentJson(facts, "https://runs.example.org"), { ...json, url });
});

Deno.test("a resolved incident has its end and its duration, which is never negative", () => {
  const acknowledged = { by: "key_eu_1", at: NOON + 1_000, note: null };
  const json = (resolvedAt: number) =>
    incidentJson(incidentFacts({ resolvedAt, resolvedBy: "hand", acknowledged }), null);
  const { resolved_at, resolved_by, duration_seconds, acknowledged: by } = json(NOON + 90_500);
  assertEquals([resolved_at, resolved_by, duration_seconds], [at(90_500), "hand", 91]);
  assertEquals(by, { by: "key_eu_1", at: at(1_000), note: null });
  assertEquals(json(NOON - 1).duration_seconds, 0);
});
