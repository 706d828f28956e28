/** Deliveries whose channel changes, that users send again, or that wait behind slow receivers. */
import { assert, assertEquals } from "@std/assert";
import { keys } from "../../../kv/base/keys.ts";
import { createDeliveryStore, removeDeliveries } from "../../../kv/channels/deliveries.ts";
import { serviceStates } from "../../../kv/alerts/find_service.ts";
import { wakeRow } from "../../../kv/channels/delivery_rows.ts";
import { DeliveriesHarness, FAILED } from "../../support/harness/deliveries.ts";
import { messageOf } from "../../support/builders/messages.ts";
import { NOON } from "../../support/harness/harness.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { newDelivery } from "../../../domain/channels/delivery.ts";
import type { SendResult } from "../../../domain/channels/sender.ts";
import type { Store } from "../../../kv/store.ts";
import { insertTeam } from "../../support/builders/teams.ts";
import { until } from "../../support/harness/until.ts";
import { replaced } from "../../support/fakes/replaced.ts";

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

DeliveriesHarness.test("deliveries: joined messages of a channel that becomes a webhook are sent one by one", async (h) => {
  await h.put("ops", "slack");
  h.receivers.set("ops", () => FAILED);
  await h.add(
    [0, 1, 2].map((n) => h.delivery("ops", `inc_${n}`, "incident.opened", "slack")),
  );
  const job = h.job();
  await h.pass(job, NOON + SECOND);
  assertEquals(h.sent.map(({ messages }) => messages.length), [3]);
  await h.put("ops", "webhook");
  h.receivers.delete("ops");
  await h.pass(job, NOON + HOUR);
  assertEquals(h.sent.slice(1).map(({ messages }) => messages), [
    ["inc_0 opened"],
    ["inc_1 opened"],
    ["inc_2 opened"],
  ]);
  assertEquals([await h.states(), await h.waiting()], [{ delivered: 3 }, [0, 0]]);
});

DeliveriesHarness.test("deliveries: many joined messages end when their channel is deleted", async (h) => {
  await h.put("chat", "slack");
  h.receivers.set("chat", () => FAILED);
  const job = h.job();
  for (let n = 0; n < 45; n++) {
    const deliveries = Array.from({ length: 20 }, (_, i) => {
      const delivery = h.delivery("chat", `inc_${n}_${i}`, "incident.opened", "slack");
      const { incident } = messageOf("x".repeat(200));
      return { ...delivery, message: { ...delivery.message, incident } };
    });
    await h.add(deliveries);
    await h.pass(job, h.nowMs + 2 * MINUTE);
  }
  await h.store.writer.commit({
    deletes: [keys.configObject(h.team.id, "channel", "chat")],
    sets: [wakeRow(h.team.id, "chat", h.nowMs)],
  });
  await h.pass(job, h.nowMs + MINUTE);
  assertEquals([await h.states(), await h.waiting()], [{ cancelled: 900 }, [0, 0]]);
});

DeliveriesHarness.test("deliveries: messages that wait for earlier ones hide no others", async (h) => {
  await h.put("ops");
  const retrying = { state: "retrying", attempts: 4, nextAt: NOON + HOUR } as const;
  const opened = Array.from({ length: 12 }, (_, n) => h.delivery("ops", `inc_${n}`));
  await h.add(opened.map((delivery) => ({ ...delivery, ...retrying })));
  await h.add([
    ...opened.map(({ id }, n) => h.delivery("ops", `inc_${n}`, "incident.resolved", "webhook", id)),
    h.delivery("ops", "inc_new"),
  ]);
  const job = h.job();
  await h.pass(job, NOON + SECOND);
  assertEquals(h.sent.map(({ messages }) => messages), [["inc_new opened"]]);
  await h.pass(job, NOON + 2 * HOUR);
  assertEquals([await h.states(), await h.waiting()], [{ delivered: 25 }, [0, 0]]);
});

DeliveriesHarness.test("deliveries: messages of one incident that a user sends again are all sent", async (h) => {
  await h.put("chat", "slack");
  const job = h.job();
  const opened = await h.send("chat", "inc_1", "incident.opened", "slack");
  const resolved = await h.send("chat", "inc_1", "incident.resolved", "slack", opened);
  await h.pass(job, NOON + MINUTE);
  assertEquals(await h.states(), { delivered: 2 });
  const before = h.sent.length;
  const deliveries = createDeliveryStore(h.store);
  for (const id of [opened, resolved]) {
    await deliveries.resend(h.team, id, { by: "key", at: h.nowMs } as never);
  }
  await h.pass(job, h.nowMs + MINUTE);
  const again = h.sent.slice(before).flatMap(({ messages }) => messages);
  assertEquals(again.toSorted(), ["inc_1 opened", "inc_1 resolved"]);
  assertEquals([await h.states(), await h.waiting()], [{ delivered: 2 }, [0, 0]]);
});

DeliveriesHarness.test("channels: a broken channel is no trouble any more once it is disabled", async (h) => {
  await h.put("ops");
  h.receivers.set("ops", () => ({ ...FAILED, verdict: "gone" }));
  const job = h.job();
  await h.send("ops", "inc_1");
  await h.pass(job, NOON + SECOND);
  const problems = () =>
    serviceStates(h.store, h.team.id, { kind: "service", what: ["broken_channel"] }, h.nowMs);
  assertEquals((await problems()).map(({ value }) => value), [1]);
  await h.put("ops", "webhook", { enabled: false });
  assertEquals(await problems(), []);
});

DeliveriesHarness.test("deliveries: a try that is under way while some of its messages are removed ends for the others", async (h) => {
  await h.put("chat", "slack");
  const deliveries = Array.from(
    { length: 20 },
    (_, n) => h.delivery("chat", `inc_${n}`, "incident.opened", "slack"),
  );
  await h.add(deliveries);
  h.receivers.set("chat", async () => {
    await removeDeliveries(h.store, h.team.id, deliveries.slice(0, 5).map(({ id }) => id));
    return FAILED;
  });
  const job = h.job();
  await h.pass(job, NOON + SECOND);
  h.receivers.delete("chat");
  await h.pass(job, NOON + 2 * MINUTE);
  assertEquals(h.sent.map(({ messages }) => messages.length), [20, 15]);
  assertEquals([await h.states(), await h.waiting()], [{ delivered: 15 }, [0, 0]]);
});

/** Receivers that answer when the test ends them. */
class Silent {
  readonly #answers: PromiseWithResolvers<SendResult>[] = [];

  readonly receive = () => {
    const answer = Promise.withResolvers<SendResult>();
    this.#answers.push(answer);
    return answer.promise;
  };

  get waiting(): number {
    return this.#answers.length;
  }

  end(): void {
    for (const answer of this.#answers.splice(0)) answer.resolve(FAILED);
  }
}

DeliveriesHarness.test("deliveries: a team with slow receivers leaves slots to other teams", async (h) => {
  const silent = new Silent();
  for (let n = 0; n < 12; n++) {
    await h.put(`slow-${n}`);
    h.receivers.set(`slow-${n}`, silent.receive);
    await h.send(`slow-${n}`, `inc_${n}`);
  }
  const other = await insertTeam(h.store, "free", "Other");
  await h.put("fast", "webhook", {}, other);
  const job = h.job();
  await until(() => silent.waiting === 5);
  await h.add([h.delivery("fast", "inc_x")], other);
  await until(() => h.sent.some(({ channel }) => channel === "fast"));
  assertEquals(silent.waiting, 5);
  silent.end();
  for (const slug of [...h.receivers.keys()]) h.receivers.delete(slug);
  await h.pass(job, NOON + 60 * SECOND);
  assertEquals(await h.states(), { delivered: 13 });
});

DeliveriesHarness.test("deliveries: slow receivers of many teams share half of the slots", async (h) => {
  const silent = new Silent();
  const teams: Team[] = [];
  for (let n = 0; n < 20; n++) teams.push(await insertTeam(h.store, "free", `Team ${n}`));
  await h.put("fast");
  h.receivers.set("slow", silent.receive);
  for (const team of teams) {
    await h.put("slow", "webhook", {}, team);
    await h.add([h.delivery("slow", "inc_1"), h.delivery("slow", "inc_2")], team);
  }
  const job = h.job();
  // Nothing is known of them yet, so they may take all slots for one try.
  for (let round = 0; round < 2; round++) {
    await until(() => silent.waiting === 10);
    silent.end();
  }
  h.nowMs = NOON + 10 * SECOND;
  await until(() => silent.waiting === 5);
  await h.send("fast", "inc_x");
  await until(() => h.sent.some(({ channel }) => channel === "fast"));
  assertEquals(silent.waiting, 5);
  h.receivers.delete("slow");
  silent.end();
  await h.pass(job, NOON + 120 * SECOND);
  assertEquals(await h.states(), { delivered: 41 });
});

/** Counts rows that are read. */
function counting(store: Store): { readonly store: Store; rows: number } {
  const counted = { rows: 0, store };
  const reader = replaced(store.reader, {
    list: async function* (...args: Parameters<Deno.Kv["list"]>) {
      for await (const row of store.reader.list(...args)) {
        counted.rows++;
        yield row;
      }
    },
    getMany: (keys: Deno.KvKey[]) => {
      counted.rows += keys.length;
      return store.reader.getMany(keys);
    },
  });
  return Object.assign(counted, { store: { ...store, reader } });
}

DeliveriesHarness.test("deliveries: a long queue of a dead channel costs a try a minute and few reads", async (h) => {
  const counted = counting(h.store);
  await h.put("dead");
  await h.put("chat", "slack");
  await h.put("live");
  h.receivers.set("dead", () => FAILED);
  h.receivers.set("chat", () => FAILED);
  const messages = ["dead", "chat"].flatMap((slug) =>
    Array.from({ length: 1_000 }, (_, n) => {
      const type = slug === "chat" ? "slack" as const : "webhook" as const;
      return newDelivery(`whd_${slug}_${String(n).padStart(5, "0")}`, { slug, type }, {
        event: "incident.opened",
        at: NOON,
        incident: h.delivery(slug, `inc_${n}`).message.incident,
      }, null);
    })
  );
  for (let at = 0; at < messages.length; at += 150) await h.add(messages.slice(at, at + 150));
  const job = h.job(counted.store);
  await h.pass(job, NOON + 600 * SECOND);
  const tries = h.sent.length;
  assert(tries > 20 && tries < 60, String(tries));
  const before = counted.rows;
  for (let n = 0; n < 50; n++) {
    await h.send("live", `inc_${n}`);
    await h.pass(job, h.nowMs + SECOND);
  }
  const rows = (counted.rows - before) / 50;
  assert(rows < 100, `${rows} rows for each delivery`);
  const waits = h.sent.filter(({ channel }) => channel === "live").map(({ at }) => at);
  assertEquals(waits.length, 50);
  assertEquals(waits.map((at, n) => at - NOON - (600 + n) * SECOND), Array(50).fill(0));
});
