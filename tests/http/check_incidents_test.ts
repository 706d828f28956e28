/** From a failed check to its incident over the API, whether it is judged at once or later. */
import { assertEquals } from "@std/assert";
import { Harness } from "../support/harness/harness.ts";

const AGENT = "research";

/** Stores a check, and a rule of the same slug that each failure fires. */
async function putCheck(h: Harness, slug: string, expression: string, fields = {}): Promise<void> {
  const check = await h.request("PUT", `/v1/checks/${slug}`, { body: { expression, ...fields } });
  assertEquals(check.status, 202, check.text);
  const params = { checks: [slug] };
  const body = { kind: "check_failed", params, group_by: "agent" };
  const rule = await h.request("PUT", `/v1/rules/${slug}`, { body });
  assertEquals(rule.status, 202, rule.text);
}

/** Reports a run that cost some dollars; returns its id. */
async function report(h: Harness, cost_usd: number): Promise<string> {
  h.nowMs += 1_000;
  const body = { agent: AGENT, status: "ok", cost_usd };
  const { json, status, text } = await h.request("POST", "/v1/heartbeats", { body });
  assertEquals(status, 202, text);
  await h.worker.idle();
  return json.id;
}

// deno-lint-ignore no-explicit-any -- reads responses of any shape
async function incidents(h: Harness, state: string): Promise<any[]> {
  return (await h.get(`/v1/incidents?state=${state}`)).json.incidents;
}

const SLOW = "longest_repeat.times < 3 && cost_usd < 0.5";

for (const [when, expression] of [["at once", "cost_usd < 0.5"], ["later", SLOW]] as const) {
  Harness.test(`a check that fails ${when} opens an incident, and one that passes ends it`, async (h) => {
    await putCheck(h, "cheap", expression);
    await report(h, 0.1);
    assertEquals(await incidents(h, "unresolved"), []);
    const run = await report(h, 0.61);
    const [incident, ...others] = await incidents(h, "unresolved");
    assertEquals(
      [incident.kind, incident.message, incident.group, incident.run_ids, others],
      ["check_failed", "research failed check cheap", { agent: AGENT }, [run], []],
    );
    const { json: record } = await h.get(`/v1/runs/${run}`);
    assertEquals(record.incidents, [incident.id]);
    const stages = record.processing.map(({ stage, state }: Record<string, string>) =>
      `${stage} ${state}`
    );
    assertEquals(stages, ["cost done", "checks done", "alerts done", "judge skipped"]);
    await report(h, 0.61);
    assertEquals((await incidents(h, "unresolved")).map(({ count }) => count), [2]);
    await report(h, 0.1);
    assertEquals(
      (await incidents(h, "resolved")).map(({ id, resolved_by }) => [id, resolved_by]),
      [[incident.id, "condition"]],
    );
  });
}

Harness.test("a rule of a check that is disabled, deleted or absent never fires", async (h) => {
  await putCheck(h, "disabled", "cost_usd < 0.5", { enabled: false });
  await putCheck(h, "deleted", "cost_usd < 0.5");
  assertEquals((await h.request("DELETE", "/v1/checks/deleted")).status, 200);
  const body = { kind: "check_failed", params: { checks: ["absent"] } };
  assertEquals((await h.request("PUT", "/v1/rules/absent", { body })).status, 202);
  await report(h, 0.61);
  assertEquals(await incidents(h, "unresolved"), []);
});
