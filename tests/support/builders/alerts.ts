/** Incidents as they arise: from runs that fail. */
import { assertEquals } from "@std/assert";
import { NO_EGRESS, parseEgress } from "../../../outbound/http.ts";
import { signedIn } from "../harness/dashboard.ts";
import type { Harness } from "../harness/harness.ts";
import { aHeartbeat } from "./requests.ts";

/** Allows receivers of the test's own machine. */
export const LOOPBACK = parseEgress("127.0.0.0/8") ?? NO_EGRESS;

export const RUN_ERROR = "502 from the payments ledger";

let runs = 0;

/** Reports runs of an agent, and waits until they are processed. */
export async function reportRuns(h: Harness, agent: string, count: number, status = "fail") {
  for (let n = 0; n < count; n++) {
    const fields = { agent, status, customer_id: "acme", output: { error: RUN_ERROR } };
    const { status: answer, text } = await h.post("/v1/heartbeats", aHeartbeat(++runs, fields));
    assertEquals(answer, 202, text);
    await h.worker.idle();
  }
}

export async function openIncidentOf(h: Harness, agent: string): Promise<string> {
  const reader = await signedIn(h);
  const query = new URLSearchParams({ state: "unresolved", agent });
  const { text } = await reader.get(`/dashboard/alerts/history?${query}`);
  const [, id] = /\/incidents\/(inc_\w+)"/.exec(text) ?? [];
  if (id === undefined) throw new Error(`no incident of ${agent} is open`);
  return id;
}

/** Has an agent fail as often as the default rule says; returns the incident's id. */
export async function openIncident(h: Harness, agent = "billing"): Promise<string> {
  await reportRuns(h, agent, 3);
  return await openIncidentOf(h, agent);
}
