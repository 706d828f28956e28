/** Slow receivers and long queues of some channels hold up no others, and cost few reads. */
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import { newDelivery } from "../../../domain/channels/delivery.ts";
import type { SendResult } from "../../../domain/channels/sender.ts";
import type { Store } from "../../../kv/store.ts";
import { DeliveriesHarness, FAILED } from "../../support/harness/deliveries.ts";
import { NOON } from "../../support/harness/harness.ts";
import { insertTeam } from "../../support/builders/teams.ts";
import { until } from "../../support/harness/until.ts";
import { replaced } from "../../support/fakes/replaced.ts";

const SECOND = 1_000;

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
