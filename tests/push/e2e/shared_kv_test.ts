/** Tests the program and its tools on the URL of a shared KV. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { keys, LEDGER_FORMAT } from "../../../kv/base/keys.ts";
import { KV_TOKEN, openRemote } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Process, runToEnd, type Settings } from "../../support/harness/process.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { runTaskWith } from "../../support/harness/tools.ts";

const EXIT_SETTINGS = 2, EXIT_STORE = 3;

const KEY = `apk_eu_${"ab".repeat(16)}`;
const HEADERS = { Authorization: `Bearer ${KEY}` };

/** Milliseconds for a busy machine: a fifth does where an instance has the lease. */
const FINAL_MS_MAX = 10_000;

/** Milliseconds within which another instance replaces a killed one: three leases. */
const LEASE_MS_MAX = 30_000;

function settingsOf(kv: KvServer): Settings {
  return { RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: KV_TOKEN, RUNLEDGER_KEY: KEY };
}

/** Returns a URL whose port refuses connections. */
function refusingUrl(): string {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `http://127.0.0.1:${(taken.addr as Deno.NetAddr).port}/`;
}

Deno.test("shared KV: each tool has the permissions to open a URL", async () => {
  const settings = { RUNLEDGER_KV: refusingUrl(), RUNLEDGER_KV_TOKEN: KV_TOKEN };
  for (const tool of [["verify"], ["jobs"], ["sweep"], ["sweep", "--dry-run"]]) {
    const { code, stdout, stderr } = await runTaskWith(settings, ...tool);
    assertEquals([code, stdout], [EXIT_STORE, ""], stderr);
    assertStringIncludes(stderr, "Connection refused", tool.join(" "));
    assert(!stderr.includes(KV_TOKEN), stderr);
  }
});

KvServer.test("shared KV: tools open it with the token, and name the setting of a wrong one", async (kv) => {
  const run = (token: string, ...tool: string[]) =>
    runTaskWith({ RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: token }, ...tool);
  {
    await using service = await Process.start(settingsOf(kv));
    await service.stop();
  }
  for (const tool of [["verify"], ["jobs"], ["sweep", "--dry-run"], ["sweep", "--reports"]]) {
    const { code, stderr } = await run(KV_TOKEN, ...tool);
    assertEquals([code, stderr], [0, ""], tool.join(" "));
  }
  const wrong = "kvt_0bad0bad0bad0bad";
  for (const token of [wrong, ""]) {
    const { code, stderr } = await run(token, "verify");
    assertEquals(code, EXIT_STORE, stderr);
    assertStringIncludes(stderr, "check RUNLEDGER_KV and RUNLEDGER_KV_TOKEN");
    assert(!stderr.includes(wrong), stderr);
  }
});

/** Sends a heartbeat to a service. */
async function beat({ url }: Process, n: number): Promise<void> {
  const body = JSON.stringify(aHeartbeat(n));
  const response = await fetch(`${url}/v1/heartbeats`, { method: "POST", headers: HEADERS, body });
  await response.body?.cancel();
  assertEquals(response.status, 202);
}

/** Waits until a service reports the final cost of a run, for at most `ms` milliseconds. */
async function becomesFinal({ url }: Process, n: number, ms: number): Promise<void> {
  const endMs = performance.now() + ms;
  for (;;) {
    const response = await fetch(`${url}/v1/runs/${runId(n)}`, { headers: HEADERS });
    if ((await response.json()).cost.state === "final") return;
    assert(performance.now() < endMs, `the cost is not final after ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

KvServer.test("shared KV: one instance does the background work; if it is killed, another takes over", async (kv) => {
  await using holder = await Process.start(settingsOf(kv));
  await beat(holder, 1);
  await becomesFinal(holder, 1, FINAL_MS_MAX);
  await using other = await Process.start(settingsOf(kv));
  // The holder finds the work of others.
  await beat(other, 2);
  await becomesFinal(other, 2, FINAL_MS_MAX);
  await holder.stop("SIGKILL");
  await beat(other, 3);
  await becomesFinal(other, 3, LEASE_MS_MAX);
});

KvServer.test("shared KV: an instance that stops hands the background work over", async (kv) => {
  await using holder = await Process.start(settingsOf(kv));
  await beat(holder, 1);
  await becomesFinal(holder, 1, FINAL_MS_MAX);
  await using other = await Process.start(settingsOf(kv));
  using client = await openRemote(kv.url());
  const leaseOf = async () => (await client.get(keys.lease())).value;
  const before = await leaseOf();
  assertEquals((await holder.stop()).code, 0);
  // The lease is free, or the other one has it already.
  assertNotEquals(await leaseOf(), before);
  await beat(other, 2);
  await becomesFinal(other, 2, FINAL_MS_MAX);
});

KvServer.test("shared KV: a start without a key on an empty one ends with 2 and prints no key", async (kv) => {
  const settings = { RUNLEDGER_KV: kv.url(), RUNLEDGER_KV_TOKEN: KV_TOKEN };
  const { code, stdout, stderr } = await runToEnd(settings);
  assertEquals([code, stdout], [EXIT_SETTINGS, ""], stderr);
  assertMatch(stderr, /^Cannot start with these settings:\n {2}RUNLEDGER_KEY must be [^\n]+\n$/);
  assert(!/apk_[a-z]{2}_[0-9a-f]{32}/.test(stderr), stderr);
  assertEquals(kv.counts.commits, 0);
});

KvServer.test("shared KV: an instance ends with 3 when a newer version changes the format, and writes no more", async (kv) => {
  await using service = await Process.start(settingsOf(kv));
  await beat(service, 1);
  await becomesFinal(service, 1, FINAL_MS_MAX);
  using newer = await openRemote(kv.url());
  await newer.set(keys.format(), { format: LEDGER_FORMAT + 1, version: "7.8.9" });
  const written = await rowsOf(newer);
  const minute = minuteNow();
  const { code, stderr } = await service.ended();
  assertEquals(code, EXIT_STORE, stderr);
  assertMatch(stderr, new RegExp(`\nThe ledger has format ${LEDGER_FORMAT + 1}, [^\n]+\n`));
  const changed = (await rowsOf(newer)).filter((row) => !written.includes(row));
  // Before it notices, the work of each minute may write.
  const mayChange = minuteNow() === minute
    ? /^(lease|receipt),/
    : /^(lease|receipt|credential_use),/;
  assertEquals(changed.filter((row) => !mayChange.test(row)), []);
});

function minuteNow(): number {
  return Math.floor(Date.now() / 60_000);
}

/** Returns the rows of a database with their versions. */
async function rowsOf(kv: Deno.Kv): Promise<string[]> {
  const rows = await Array.fromAsync(kv.list({ prefix: [] }));
  return rows.map(({ key, versionstamp }) => `${key.map(String)} ${versionstamp}`);
}
