/** Sending: order, retries, joins, and the ends of deliveries. */
import { assert, assertEquals } from "@std/assert";
import { keys } from "../../../kv/base/keys.ts";
import { wakeRow } from "../../../kv/channels/delivery_rows.ts";
import { DELIVERED, DeliveriesHarness, FAILED } from "../../support/harness/deliveries.ts";
import { NOON } from "../../support/harness/harness.ts";

const [SECOND, HOUR, DAY] = [1_000, 3_600_000, 86_400_000];

DeliveriesHarness.test("deliveries: a webhook gets each message at once, in order, and once", async (h) => {
  await h.put("ops");
  const job = h.job();
  const ids = [await h.send("ops", "inc_1"), await h.send("ops", "inc_2")];
  await h.pass(job, NOON + SECOND);
  assertEquals(h.sent.map(({ id, messages }) => [id, ...messages]), [
    [ids[0], "inc_1 opened"],
    [ids[1], "inc_2 opened"],
  ]);
  await h.pass(job, NOON + DAY);
  assertEquals(h.sent.length, 2);
  assertEquals(await h.states(), { delivered: 2 });
  assertEquals(await h.waiting(), [0, 0]);
  assertEquals(h.counts, [
    { type: "webhook", state: "delivered" },
    { type: "webhook", state: "delivered" },
  ]);
});

DeliveriesHarness.test("deliveries: 75 hours of retries with one id, then dead", async (h) => {
  await h.put("ops");
  h.receivers.set("ops", () => FAILED);
  const job = h.job();
  const id = await h.send("ops", "inc_1");
  await h.pass(job, NOON + 80 * HOUR);
  assertEquals(h.sent.length, 10);
  assertEquals(new Set(h.sent.map((sent) => sent.id)), new Set([id]));
  const hours = h.sent.map(({ at }) => (at - NOON) / HOUR);
  assert(Math.abs((hours.at(-1) ?? 0) - 75.6) < 0.1, String(hours));
  const dead = await h.stored(id);
  assertEquals([dead.state, dead.tries.length, dead.tries[0]?.error], ["dead", 10, "HTTP 503"]);
  assertEquals((await h.health("ops"))?.state, "failing");
  assertEquals(h.mails, []);
  const deadRows = await Array.fromAsync(
    h.store.reader.list({ prefix: keys.deadDeliveries(h.team.id) }),
  );
  assertEquals(deadRows.map(({ key }) => key.at(-1)), [id]);
  assertEquals(await h.waiting(), [0, 0]);
});

Deno.test("deliveries: the owner gets one mail when the last default channel breaks", async () => {
  for (const others of [0, 1]) {
    await using h = await DeliveriesHarness.open();
    await h.put("ops");
    if (others > 0) await h.put("other", "slack");
    h.receivers.set("ops", () => ({ ...FAILED, verdict: "gone" }));
    const job = h.job();
    for (let n = 0; n < 3; n++) await h.send("ops", `inc_${n}`);
    await h.pass(job, NOON + HOUR);
    const mails = h.mails.map(({ to, subject }) => [...to, subject]);
    const mail = ["owner@example.org", "Runledger: channel ops of team Ships does not work"];
    assertEquals(mails, others > 0 ? [] : [mail]);
    assertEquals(await h.states(), { dead: 1, waiting: 2 });
  }
});

DeliveriesHarness.test("deliveries: resolved waits until opened is delivered or dead; other incidents pass", async (h) => {
  await h.put("ops");
  h.receivers.set(
    "ops",
    ({ messages: [message] }) => message?.incident?.id === "inc_1" ? FAILED : DELIVERED,
  );
  const job = h.job();
  const opened = await h.send("ops", "inc_1");
  await h.pass(job, NOON + SECOND);
  const resolved = await h.send("ops", "inc_1", "incident.resolved", "webhook", opened);
  await h.send("ops", "inc_2");
  await h.pass(job, NOON + 4 * SECOND);
  assertEquals(h.sent.map(({ messages }) => messages[0]), ["inc_1 opened", "inc_2 opened"]);
  h.receivers.delete("ops");
  await h.pass(job, NOON + 10 * SECOND);
  assertEquals(h.sent.map(({ id }) => id).slice(2), [opened, resolved]);
  assertEquals(await h.states(), { delivered: 3 });
  assertEquals(await h.waiting(), [0, 0]);
});

DeliveriesHarness.test("deliveries: chat gets all that is queued in one message, one a second", async (h) => {
  await h.put("chat", "slack");
  const deliveries = Array.from(
    { length: 45 },
    (_, n) => h.delivery("chat", `inc_${n}`, "incident.opened", "slack"),
  );
  await h.add(deliveries);
  await h.pass(h.job(), NOON + 20 * SECOND);
  assertEquals(h.sent.map(({ messages, at }) => [messages.length, (at - NOON) / SECOND]), [
    [20, 0],
    [20, 1],
    [5, 2],
  ]);
  assertEquals(await h.states(), { delivered: 45 });
});

DeliveriesHarness.test("deliveries: messages of one try are tried again together, with one id", async (h) => {
  await h.put("mail", "email", { host: "mail" } as never);
  h.receivers.set("mail", () => FAILED);
  const some = Array.from(
    { length: 3 },
    (_, n) => h.delivery("mail", `inc_${n}`, "incident.opened", "email"),
  );
  await h.add(some);
  const job = h.job();
  await h.pass(job, NOON + 6 * SECOND);
  h.receivers.delete("mail");
  const late = await h.send("mail", "inc_9", "incident.opened", "email");
  await h.pass(job, NOON + 60 * SECOND);
  const [first, second] = h.sent;
  assertEquals([first?.messages.length, second?.messages], [3, first?.messages]);
  assertEquals(second?.id, first?.id);
  assertEquals(h.sent.slice(2).map(({ id, messages }) => [id, messages.length]), [
    [late, 1],
    [first?.id, 3],
  ]);
  assertEquals((await h.stored(some[2]?.id ?? "")).tries.length, 3);
  assertEquals(await h.states(), { delivered: 4 });
});

DeliveriesHarness.test("deliveries: an incident that is over before its message is sent is told from open to end", async (h) => {
  await h.put("chat", "mattermost");
  const opened = h.delivery("chat", "inc_1", "incident.opened", "mattermost");
  await h.add([
    opened,
    h.delivery("chat", "inc_1", "incident.resolved", "mattermost", opened.id),
    h.delivery("chat", "inc_2", "incident.opened", "mattermost"),
  ]);
  await h.pass(h.job(), NOON + 30 * SECOND);
  assertEquals(h.sent.map(({ messages }) => messages), [
    ["inc_1 opened", "inc_1 resolved", "inc_2 opened"],
  ]);
  assertEquals([await h.states(), await h.waiting()], [{ delivered: 3 }, [0, 0]]);
});

DeliveriesHarness.test("deliveries: a channel that is deleted or disabled under way sends nothing more", async (h) => {
  for (const slug of ["gone", "off"]) {
    await h.put(slug);
    h.receivers.set(slug, () => FAILED);
  }
  const job = h.job();
  for (let n = 0; n < 90; n++) {
    await h.add([h.delivery("gone", `inc_${n}`), h.delivery("off", "i")]);
  }
  await h.pass(job, NOON + SECOND);
  const tries = h.sent.length;
  await h.put("off", "webhook", { enabled: false });
  await h.store.writer.commit({
    deletes: [keys.configObject(h.team.id, "channel", "gone")],
    sets: ["gone", "off"].map((slug) => wakeRow(h.team.id, slug, h.nowMs)),
  });
  await h.pass(job, NOON + 20 * SECOND);
  assertEquals([await h.states(), h.sent.length], [{ cancelled: 180 }, tries]);
  assertEquals(await h.waiting(), [0, 0]);
  assertEquals(await h.health("gone"), null);
});

DeliveriesHarness.test("deliveries: a broken channel keeps its messages for 5 days", async (h) => {
  await h.put("chat", "slack");
  h.receivers.set("chat", () => ({ ...FAILED, verdict: "gone", status: 404, error: "HTTP 404" }));
  const job = h.job();
  await h.send("chat", "inc_1", "incident.opened", "slack");
  await h.pass(job, NOON + 11 * SECOND);
  assertEquals([(await h.health("chat"))?.state, await h.states()], ["broken", { dead: 1 }]);
  assertEquals(h.mails.length, 1);
  await h.send("chat", "inc_2", "incident.opened", "slack");
  await h.pass(job, NOON + 5 * DAY);
  assertEquals([h.sent.length, await h.states()], [1, { dead: 1, waiting: 1 }]);
  await h.pass(job, NOON + 6 * DAY);
  assertEquals([h.sent.length, await h.states()], [1, { dead: 2 }]);
  assertEquals(await h.waiting(), [0, 0]);
  const audit = await Array.fromAsync(h.store.reader.list<{ action: string; actor: string }>({
    prefix: ["audit_log", h.team.id],
  }));
  assertEquals(audit.map(({ value: { action, actor } }) => [action, actor]).at(-1), [
    "channel.broken",
    "service",
  ]);
});

DeliveriesHarness.test("deliveries: without the key messages wait, and are sent once it is back", async (h) => {
  await h.put("ops");
  h.hasKey = false;
  const job = h.job();
  await h.send("ops", "inc_1");
  await h.pass(job, NOON + HOUR);
  assertEquals([h.sent, (await h.health("ops"))?.state], [[], "needs_secret"]);
  h.hasKey = true;
  await h.pass(job, NOON + 3 * HOUR);
  assertEquals([h.sent.length, (await h.health("ops"))?.state], [1, "ok"]);
});

DeliveriesHarness.test("deliveries: a receiver's wait pauses the channel", async (h) => {
  await h.put("ops");
  h.receivers.set("ops", () => ({ ...FAILED, status: 429, retryAfterMs: 30 * SECOND }));
  const job = h.job();
  for (let n = 0; n < 3; n++) await h.send("ops", `inc_${n}`);
  await h.pass(job, NOON + 29 * SECOND);
  assertEquals(h.sent.length, 1);
  h.receivers.delete("ops");
  await h.pass(job, NOON + 40 * SECOND);
  assertEquals([h.sent.length, await h.states()], [4, { delivered: 3 }]);
});
