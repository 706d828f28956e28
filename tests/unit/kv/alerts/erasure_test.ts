/** After an erasure no row names the customer, but those that are documented. */
import { assert, assertEquals } from "@std/assert";
import { unpackBlob } from "../../../../kv/base/blob.ts";
import { eraseCustomer, FIRST_INCIDENT } from "../../../../kv/alerts/incident_work.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { createDeletionWork } from "../../../../kv/retention/deletion_work.ts";
import { ONE_STEP, workOnce } from "../../../support/harness/jobs.ts";
import { verifyStore } from "../../../../kv/integrity/integrity.ts";
import type { Store } from "../../../../kv/store.ts";
import { picodollars } from "../../../../domain/pricing/money.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { ruleOf } from "../../../support/builders/alert_rules.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

const CUSTOMER = "acme-the-customer";

/** Families whose rows may name a customer after an erasure; see DATA.md. */
const DOCUMENTED = new Set(["config", "audit_log", "deletion"]);

/** Returns the keys of rows that contain a text in the key or the value, also in packed ones. */
async function rowsWith(store: Store, text: string): Promise<string[]> {
  const traces: string[] = [];
  for await (const { key, value } of store.reader.list({ prefix: [] })) {
    const texts = [Deno.inspect(key), Deno.inspect(value, { depth: 20, strAbbreviateSize: 1e6 })];
    if (value instanceof Uint8Array) {
      texts.push(new TextDecoder().decode(value));
      try {
        texts.push(unpackBlob(value, []));
      } catch {
        // It is no packed text.
      }
    }
    if (texts.some((each) => each.includes(text))) traces.push(key.join(" "));
  }
  return traces;
}

AlertProcess.test("erasure: no row names a deleted customer, but those that are documented", async (here) => {
  await here.putMail("ops");
  const byCustomer = { groupBy: "customer" } as const;
  await here.setRule(
    "failed",
    ruleOf({ kind: "run_failed", statuses: ["failed"], consecutive: 1 }, {
      ...byCustomer,
      resolveAfter: 3,
    }),
  );
  await here.setRule(
    "twice",
    ruleOf({ kind: "run_failed", statuses: ["failed"], consecutive: 9 }, byCustomer),
  );
  await here.setRule("cost", ruleOf({ kind: "run_cost", usd: "1" }, byCustomer));
  const match = { agents: ["a*"], customers: [CUSTOMER, "zeta"], features: [] };
  await here.setRule(
    "spend",
    ruleOf({ kind: "spend", usd: "1", period: "month" }, { ...byCustomer, match }),
  );
  await here.setRule("hang", ruleOf({ kind: "stuck", seconds: 60 }, { ...byCustomer, match }));
  await here.setRule(
    "agents",
    ruleOf({ kind: "run_failed", statuses: ["failed"], consecutive: 1 }, { groupBy: "agent" }),
  );
  for (const [n, customerId] of [[1, CUSTOMER], [2, "zeta"], [3, CUSTOMER]] as const) {
    await here.runs.heartbeat(TEAM, {
      ...{ id: run(n), agent: "a", status: "fail", startedAt: here.nowMs, customerId },
      reported: { cost: picodollars(5) },
    }, here.nowMs);
    await here.runs.open(TEAM, { id: run(10 + n), agent: "a", startedAt: NOON, customerId }, NOON);
    await here.work();
  }
  await here.until(NOON + 10 * 60_000);
  const open = ["failed", "cost", "spend", "hang"];
  const states = await here.states();
  for (const rule of open) {
    for (const customer of [CUSTOMER, "zeta"]) {
      assert(states.some((text) => text.startsWith(`${rule} =${customer} `)), `${rule} ${states}`);
    }
  }
  const before = await rowsWith(here.store, CUSTOMER);
  const families = new Set(before.map((key) => key.split(" ")[0]));
  for (const family of ["alert", "incident", "delivery", "work", "config"]) {
    assert(families.has(family), `${family} is not in ${[...families]}`);
  }

  const { updater, now } = here;
  const { deletions, handler } = createDeletionWork({
    ...ONE_STEP,
    store: here.store,
    updater,
    now,
  });
  await deletions.deleteCustomer(TEAM, CUSTOMER, "key_1");
  while (await workOnce(here.store, handler, here.nowMs));
  await here.work();
  await here.until(here.nowMs + 5_000);

  const left = (await rowsWith(here.store, CUSTOMER))
    .filter((key) => !DOCUMENTED.has(key.split(" ")[0] ?? ""));
  assertEquals(left, []);
  // Runs of the customer left the incident of the agent.
  const agents = (await here.incidents()).find(({ rule }) => rule === "agents");
  assertEquals(agents?.runs, [run(2)]);
  const kept = await here.states();
  for (const rule of open) {
    assert(kept.some((text) => text.startsWith(`${rule} =zeta `)), rule);
  }
  const erased = (await here.messages()).filter((text) => text.includes("was deleted"));
  assert(erased.length >= open.length);
  assertEquals((await verifyStore(here.store, { pauseMs: 0 })).differences, []);
});

Deno.test("erasure: ends what a customer's runs opened, also with a clock set back or after it began", async () => {
  for (const position of [FIRST_INCIDENT, { after: keys.incident(TEAM.id, "") }]) {
    await using temp = await TempStore.open();
    const here = new AlertProcess(temp.store);
    const failed = { kind: "run_failed", statuses: ["failed"], consecutive: 1 } as const;
    await here.setRule("failed", ruleOf(failed, { groupBy: "customer", resolveAfter: 3 }));
    for (const [n, customerId] of [[1, CUSTOMER], [2, "zeta"]] as const) {
      await here.runs.heartbeat(TEAM, {
        ...{ id: run(n), agent: "a", status: "fail", startedAt: here.nowMs, customerId },
        reported: { cost: picodollars(5) },
      }, here.nowMs);
      await here.work();
    }
    here.nowMs -= 86_400_000;
    const deps = { store: temp.store, changes: here.updater };
    assertEquals(await eraseCustomer(deps, TEAM.id, CUSTOMER, position), null);
    const alerts = (await rowsWith(temp.store, CUSTOMER))
      .filter((key) => /^(alert|incident|open_incident) /.test(key));
    assertEquals(alerts, []);
    assertEquals((await here.states()).length, 1);
  }
});
