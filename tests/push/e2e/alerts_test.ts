/** Alerts of the real program, from the end of a run to real receivers of webhooks, chats and mail. */
import { assert, assertEquals } from "@std/assert";
import { AlertWorld } from "../../support/harness/alerts.ts";

/** Maximum milliseconds from a finish to its first message, for 95 % of them. */
const WEBHOOK_P95_MS_MAX = 2_000, CHAT_P95_MS_MAX = 13_000;

// Chat and mail wait to join messages: both tests wait at once.
Deno.test("alerts: failures in a row are one webhook and one mail until a success; 50 incidents reach webhooks and chats in time", async () => {
  const ends = await Promise.allSettled([aWebhookAndAMail(), fiftyIncidents()]);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
});

/** Three failures in a row are one signed webhook and one mail, and a success ends both. */
async function aWebhookAndAMail(): Promise<void> {
  await using world = await AlertWorld.start();
  await world.channels("webhook", "email");
  const runs: string[] = [];
  for (let n = 0; n < 3; n++) runs.unshift(await world.beat("nightly", "fail"));
  const [opened] = await world.webhooks(1);
  assert(opened !== undefined);
  const { id, url, group, count, run_ids, state } = opened.incident;
  assertEquals([opened.type, state, count], ["incident.opened", "open", 3]);
  assertEquals([group, run_ids], [{ agent: "nightly" }, runs]);
  assertEquals(url, `https://ledger.example.org/dashboard/alerts/incidents/${id}`);
  assertEquals((await world.call("GET", `/v1/runs/${runs[0]}`)).incidents, [id]);
  const { incidents: [listed] } = await world.call("GET", "/v1/incidents?state=unresolved");
  const { error: _, ...shared } = opened.incident;
  assertEquals(listed, shared);
  await world.mail.until(({ received }) => received.length === 1);
  await world.beat("nightly", "fail");
  await world.beat("nightly", "ok");
  const [, resolved] = await world.webhooks(2);
  assert(resolved !== undefined);
  const { resolved_by, count: all, id: same } = resolved.incident;
  assertEquals([resolved.type, resolved_by, all, same], [
    "incident.resolved",
    "condition",
    4,
    id,
  ]);
  await world.mail.until(({ received }) => received.length === 2);
  assertEquals(world.mail.received.map(({ to }) => to), [["ops@example.org"], ["ops@example.org"]]);
  assert(world.mail.received.every(({ text }) => text.includes(String(url))));
  assertEquals(world.hook.received.length, 2);
  const query = `incident=${id}&channel=webhook&state=delivered`;
  // The ledger notes a message as delivered after its receiver has answered.
  let events: string[] = [];
  while (events.length < 2) {
    const { deliveries } = await world.call("GET", `/v1/deliveries?${query}`);
    events = deliveries.map(({ event }: { event: string }) => event);
  }
  assertEquals(events, ["incident.resolved", "incident.opened"]);
}

Deno.test("alerts: a monitor that goes down is a message; an acknowledgement is one more; a silence holds back until its end", async () => {
  await using world = await AlertWorld.start();
  await world.channels("webhook");
  await world.call("GET", "/v1/ping?agent=backup&exit_code=1&every=1d");
  const [down] = await world.webhooks(1);
  assertEquals([down?.type, down?.incident["rule"]], ["incident.opened", "missed"]);
  await world.call("POST", `/v1/incidents/${down?.incident.id}/ack`, { note: "on it" });
  await world.call("POST", `/v1/incidents/${down?.incident.id}/ack`);
  const [, acknowledged] = await world.webhooks(2);
  assert(acknowledged !== undefined);
  const { state, acknowledged: by } = acknowledged.incident;
  assertEquals([acknowledged.type, state], ["incident.acknowledged", "acknowledged"]);
  assertEquals((by as { note: string }).note, "on it");
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await world.call("PUT", "/v1/silences/quiet", { match: { agents: ["loud"] }, until });
  for (let n = 0; n < 3; n++) await world.beat("loud", "fail");
  for (let n = 0; n < 3; n++) await world.beat("other", "fail");
  const [, , other] = await world.webhooks(3);
  assertEquals(other?.incident["group"], { agent: "other" });
  const { incidents: [silenced] } = await world.call("GET", "/v1/incidents?agent=loud");
  assertEquals([silenced.state, silenced.silenced], ["open", true]);
  await world.call("DELETE", "/v1/silences/quiet");
  const [, , , late] = await world.webhooks(4);
  assertEquals([late?.incident.id, late?.incident["silenced"]], [silenced.id, false]);
});

for (const afterMs of [0, 15, 60]) {
  Deno.test(`alerts: kill -9 ${afterMs} ms after a finish is answered does not lose its message`, async () => {
    await using world = await AlertWorld.start();
    await world.channels("webhook");
    for (let n = 0; n < 3; n++) await world.beat("nightly", "fail");
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    assertEquals((await world.process.stop("SIGKILL")).signal, "SIGKILL");
    await world.startProcess();
    const sent = await world.webhooks(1);
    const { incidents: [{ id }] } = await world.call("GET", "/v1/incidents");
    assertEquals(new Set(sent.map(({ type, incident }) => `${type} ${incident.id}`)).size, 1);
    assertEquals(sent[0]?.incident.id, id);
    // A message that is repeated, because its result was lost, has the same id.
    assertEquals(new Set(sent.map(({ id }) => id)).size, 1);
  });
}

/** 95 % of 50 messages to webhooks and chats arrive in time. */
async function fiftyIncidents(): Promise<void> {
  await using world = await AlertWorld.start();
  await world.channels("webhook", "slack");
  const rule = { kind: "run_failed", params: { consecutive: 1 }, group_by: "agent" };
  await world.call("PUT", "/v1/rules/failures", rule);
  const agents = Array.from({ length: 50 }, (_, n) => `agent-${String(n).padStart(2, "0")}-end`);
  const finishedMs = new Map<string, number>();
  const callMs: number[] = [];
  for (const agent of agents) {
    const sentMs = Date.now();
    await world.beat(agent, "fail");
    finishedMs.set(agent, Date.now());
    callMs.push(Date.now() - sentMs);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await world.hook.until(({ length }) => length >= agents.length);
  const tookIn = (arrivals: readonly { body: string; at: number }[]) =>
    agents.flatMap((agent) => {
      const first = arrivals.find(({ body }) => body.includes(agent));
      return first === undefined ? [] : [first.at - (finishedMs.get(agent) ?? 0)];
    }).sort((a, b) => a - b);
  let chat = tookIn(world.chat.received);
  while (chat.length < agents.length) {
    const known = chat.length;
    await world.chat.until((received) => tookIn(received).length > known);
    chat = tookIn(world.chat.received);
  }
  const hook = tookIn(world.hook.received);
  const p95 = (sorted: readonly number[]) =>
    sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Infinity;
  // A call of an idle machine takes a few milliseconds; a busy one delays messages as it does calls.
  const busyMs = 20 * p95(callMs.toSorted((a, b) => a - b));
  assert(p95(hook) < WEBHOOK_P95_MS_MAX + busyMs, `webhook ${p95(hook)} ms`);
  assert(p95(chat) < CHAT_P95_MS_MAX + busyMs, `chat ${p95(chat)} ms`);
  assert(
    chat.every((ms) => ms > 0) && world.chat.received.length < agents.length / 2,
    "not joined",
  );
}
