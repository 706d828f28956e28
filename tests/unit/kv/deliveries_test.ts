/** Lists of deliveries, sending them again, tests of channels, and removal. */
import { assert, assertEquals } from "@std/assert";
import type { DeliveriesQuery, DeliveryPlace } from "../../../domain/channels/delivery.ts";
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { createDeliveryHandler, createDeliveryStore } from "../../../kv/channels/deliveries.ts";
import { Findings } from "../../../kv/integrity/findings.ts";
import { verifyDeliveries } from "../../../kv/integrity/verify_incidents.ts";
import { createWorkStore } from "../../../kv/work/store.ts";
import { DELIVERED, DeliveriesHarness, FAILED } from "../../support/harness/deliveries.ts";
import { NOON } from "../../support/harness/harness.ts";
import { until } from "../../support/harness/until.ts";

const [SECOND, DAY] = [1_000, 86_400_000];

const ALL: DeliveriesQuery = {
  channel: null,
  state: null,
  incident: null,
  fromMs: 0,
  after: null,
  limit: 100,
};

async function idsOf(
  h: DeliveriesHarness,
  query: Partial<DeliveriesQuery> = {},
): Promise<readonly (readonly (string | undefined)[])[]> {
  const deliveries = createDeliveryStore(h.store);
  const pages: string[][] = [];
  let after: DeliveryPlace | null = null;
  do {
    const page = await deliveries.list(h.team, { ...ALL, ...query, after });
    pages.push(page.deliveries.map(({ id }) => id));
    after = page.next;
  } while (after !== null);
  return pages;
}

DeliveriesHarness.test("deliveries: lists are latest first, in pages, by channel, incident, state and time", async (h) => {
  await h.put("a");
  await h.put("b");
  h.receivers.set("b", () => ({ ...FAILED, verdict: "final" }));
  const job = h.job();
  const ids: string[] = [];
  for (let n = 0; n < 6; n++) {
    h.nowMs = NOON + n * SECOND;
    ids.push(await h.send(n % 2 === 0 ? "a" : "b", `inc_${n % 3}`));
  }
  await h.pass(job, NOON + 10 * SECOND);
  const latest = ids.toReversed();
  assertEquals(await idsOf(h), [latest]);
  assertEquals(await idsOf(h, { limit: 4 }), [latest.slice(0, 4), latest.slice(4)]);
  assertEquals(await idsOf(h, { limit: 3 }), [latest.slice(0, 3), latest.slice(3)]);
  assertEquals(await idsOf(h, { channel: "a" }), [latest.filter((_, i) => i % 2 === 1)]);
  assertEquals(await idsOf(h, { incident: "inc_2" }), [[ids[5], ids[2]]]);
  assertEquals(await idsOf(h, { state: "dead" }), [latest.filter((_, i) => i % 2 === 0)]);
  assertEquals(await idsOf(h, { state: "dead", limit: 2 }), [[ids[5], ids[3]], [ids[1]]]);
  assertEquals(await idsOf(h, { state: "delivered", limit: 1 }), [
    [ids[4]],
    [ids[2]],
    [ids[0]],
  ]);
  assertEquals(await idsOf(h, { fromMs: NOON + 4 * SECOND }), [[ids[5], ids[4]]]);
});

DeliveriesHarness.test("deliveries: a failed one is sent again with its id, with an audit entry", async (h) => {
  await h.put("ops");
  h.receivers.set("ops", () => ({ ...FAILED, verdict: "final" }));
  const job = h.job();
  const id = await h.send("ops", "inc_1");
  await h.pass(job, NOON + SECOND);
  h.receivers.delete("ops");
  const deliveries = createDeliveryStore(h.store);
  const made = { by: "key_1", at: h.nowMs };
  assertEquals((await deliveries.resend(h.team, id, made))?.state, "waiting");
  assertEquals(await idsOf(h, { state: "dead" }), [[]]);
  await h.pass(job, NOON + 10 * SECOND);
  assertEquals(h.sent.map((sent) => sent.id), [id, id]);
  const stored = await deliveries.read(h.team, id);
  assertEquals([stored?.state, stored?.attempts, stored?.tries.length], ["delivered", 1, 2]);
  assertEquals(await deliveries.resend(h.team, "whd_eu_none", made), null);
  const log = await Array.fromAsync(h.store.reader.list<{ action: string; target: string }>({
    prefix: ["audit_log", h.team.id],
  }));
  assertEquals(log.map(({ value: { action, target } }) => [action, target]).at(-1), [
    "delivery.resent",
    id,
  ]);
});

DeliveriesHarness.test("channel test: one try, noted, that a failure does not repeat", async (h) => {
  await h.put("ops");
  const made = { by: "key_1", at: NOON };
  const tester = h.tester();
  assertEquals(await tester.test(h.team, "none", made), null);
  assertEquals(await tester.test(h.team, "ops", made), {
    at: NOON,
    status: 200,
    ms: 0,
    error: null,
    answer: null,
  });
  h.receivers.set("ops", () => FAILED);
  const failed = await tester.test(h.team, "ops", made);
  assert(failed !== null && failed !== "limited");
  assertEquals([failed.status, failed.error], [503, "HTTP 503"]);
  h.hasKey = false;
  const closed = await tester.test(h.team, "ops", made);
  assert(closed !== null && closed !== "limited" && closed.error !== null);
  await h.pass(h.job(), NOON + DAY);
  assertEquals(h.sent.map(({ messages }) => messages[0]), Array(2).fill("undefined channel.test"));
  assertEquals(await h.states(), { delivered: 1, dead: 2 });
  assertEquals(await idsOf(h, { state: "dead" }), [[]]);
  const findings = new Findings();
  await verifyDeliveries({ store: h.store, team: h.team.id, findings });
  assertEquals(findings.mismatches, []);
});

DeliveriesHarness.test("channel test: 10 a minute and team, whatever instance gets them", async (h) => {
  await h.put("ops");
  const testers = [h.tester(), h.tester()];
  const results = await Promise.all(
    Array.from(
      { length: 13 },
      (_, n) => testers[n % 2]?.test(h.team, "ops", { by: "key_1", at: NOON + n }),
    ),
  );
  assertEquals(results.filter((result) => result === "limited").length, 3);
  assertEquals(h.sent.length, 10);
  const later = await h.tester().test(h.team, "ops", { by: "key_1", at: NOON + 60_020 });
  assert(later !== "limited");
});

DeliveriesHarness.test("channel test: a success repairs a broken channel, and what waits is sent", async (h) => {
  await h.put("ops");
  h.receivers.set("ops", () => ({ ...FAILED, verdict: "gone" }));
  const job = h.job();
  await h.send("ops", "inc_1");
  await h.pass(job, NOON + SECOND);
  const waiting = await h.send("ops", "inc_2");
  await h.pass(job, NOON + DAY);
  const made = { by: "key_1", at: h.nowMs };
  await h.tester().test(h.team, "ops", made);
  assertEquals([h.sent.length, (await h.health("ops"))?.state], [2, "broken"]);
  h.receivers.delete("ops");
  await h.tester().test(h.team, "ops", made);
  await h.pass(job, NOON + DAY + SECOND);
  assertEquals([(await h.health("ops"))?.state, h.sent.at(-1)?.id], ["ok", waiting]);
  // Rules about the service are judged at the break, at the repair, and at the failed delivery.
  const due = await Array.fromAsync(h.store.reader.list({ prefix: keys.work() }));
  assertEquals(
    due.map(({ key }) => keyParts.work(key)).filter(({ kind }) => kind === "rule")
      .map(({ name }) => name),
    [
      "service",
      "service",
    ],
  );
});

DeliveriesHarness.test("deliveries: the clock ends a test whose process has ended, and removes old ones", async (h) => {
  await h.put("ops");
  const endless = Promise.withResolvers<typeof DELIVERED>();
  h.receivers.set("ops", () => endless.promise);
  const test = h.tester().test(h.team, "ops", { by: "key_1", at: NOON });
  const work = createWorkStore(h.store, 60_000);
  const handler = createDeliveryHandler(h.store);
  const sendDue = async (nowMs: number) => {
    const rows = (await work.take("settled", nowMs)).filter(({ kind }) => kind === "delivery");
    if (rows.length > 0) {
      await handler.handle(
        rows,
        { nowMs, absences: [], summarizedToMs: nowMs },
        new AbortController().signal,
      );
    }
    return rows.length;
  };
  await until(() => h.sent.length > 0);
  assertEquals(await sendDue(NOON + 59 * SECOND), 0);
  assertEquals([await sendDue(NOON + 60 * SECOND), await h.states()], [1, { dead: 1 }]);
  endless.resolve(DELIVERED);
  await test;
  h.receivers.delete("ops");
  const job = h.job();
  for (let n = 0; n < 120; n++) await h.send("ops", `inc_${n}`);
  await h.pass(job, NOON + SECOND);
  assertEquals([await sendDue(NOON + 30 * DAY - 1), await h.states()], [0, { delivered: 121 }]);
  while (await sendDue(NOON + 30 * DAY) > 0);
  const left = async (family: string) =>
    (await Array.fromAsync(h.store.reader.list({ prefix: [family] }))).length;
  assertEquals(
    await Promise.all(
      ["delivery", "delivery_at", "dead_delivery", "delivery_queue", "work"].map(left),
    ),
    [0, 0, 0, 0, 0],
  );
});
