/** A missed deadline on a platform without calls, where only crons run. */
import { assertEquals } from "@std/assert";
import { KEY } from "../../support/harness/harness.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Platform } from "../../support/fakes/platform.ts";
import { settingsOf } from "./kill_rounds.ts";

/** The agent's period, the shortest there is, and the platform's time between crons. */
const PERIOD_MS = 60_000, CRON_MS = 60_000;

/** Milliseconds before the deadline at which a cron runs, so that the next one is the latest possible. */
const CRON_BEFORE_MS = 1_000;

/** Returns the milliseconds from an agent's deadline until its monitor is stored as down. */
export async function measureDeadline(): Promise<number> {
  await using kv = await KvServer.start();
  await using platform = new Platform(settingsOf(kv.url()), { instancesMax: 1 });
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Basic ${btoa(`${KEY}:`)}` };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${platform.url}${path}`, { method, headers, ...init });
    return await response.json();
  };
  await call("POST", "/v1/heartbeats", { agent: "nightly", status: "ok" });
  await platform.runCrons();
  const settings = { schedule: { every_seconds: PERIOD_MS / 1_000 }, grace_seconds: 0 };
  const { down_after } = await call("PUT", "/v1/agents/nightly/monitor", settings);
  const deadline = Date.parse(down_after);
  // No instance runs at the deadline.
  await platform.stopAll();
  await waitUntil(deadline - CRON_BEFORE_MS);
  await platform.runCrons();
  await platform.stopAll();
  await waitUntil(deadline - CRON_BEFORE_MS + CRON_MS);
  await platform.runCrons();
  const ms = Date.now() - deadline;
  const { flips } = await call("GET", "/v1/agents/nightly/flips");
  const down = flips.filter(({ to }: { readonly to: string }) => to === "down");
  assertEquals(down.map(({ at }: { readonly at: string }) => Date.parse(at)), [deadline]);
  return ms;
}

/** Deadlines of a platform are real time. */
function waitUntil(atMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, atMs - Date.now()));
}
