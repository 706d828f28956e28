/** Deliveries whose channel changes while they wait, and those that users send again. */
import { assertEquals } from "@std/assert";
import { keys } from "../../../kv/base/keys.ts";
import { createDeliveryStore, removeDeliveries } from "../../../kv/channels/deliveries.ts";
import { serviceStates } from "../../../kv/alerts/find_service.ts";
import { wakeRow } from "../../../kv/channels/delivery_rows.ts";
import { DeliveriesHarness, FAILED } from "../../support/harness/deliveries.ts";
import { messageOf } from "../../support/builders/messages.ts";
import { NOON } from "../../support/harness/harness.ts";

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
