/** A process that ends anywhere between a transition and its receiver leaves nothing unsent. */
import { assert, assertEquals } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { CLAIM_MS } from "../../../domain/channels/delivery.ts";
import { DELIVERED, DeliveriesHarness } from "../../support/harness/deliveries.ts";
import { NOON } from "../../support/harness/harness.ts";
import { until } from "../../support/harness/until.ts";

const SECOND = 1_000;

/** Steps at which a process can end. */
type Step = "claimed" | "received" | "stored";

/** Starts a job that gets to a step, and not beyond it before it is disposed. */
async function endsAt(h: DeliveriesHarness, step: Step): Promise<AsyncDisposable> {
  const reached = Promise.withResolvers<void>();
  const end = Promise.withResolvers<never>();
  end.promise.catch(() => {});
  const hold = () => {
    reached.resolve();
    return end.promise;
  };
  let hasStored = false;
  const job = h.job(h.store, {
    sender: {
      send: async (...args) => {
        const result = await h.sender.send(...args);
        return step === "received" ? await hold() : result;
      },
    },
    // Opened between the claim and the try.
    open: (...args) => step === "claimed" || hasStored ? hold() : h.open(...args),
    counts: {
      count: () => {
        hasStored = true;
        if (step === "stored") reached.resolve();
      },
    },
  });
  await reached.promise;
  return {
    [Symbol.asyncDispose]: async () => {
      end.reject(new Error("The process has ended"));
      await job.stop();
    },
  };
}

for (const step of ["claimed", "received", "stored"] as const) {
  for (const type of ["webhook", "email"] as const) {
    DeliveriesHarness.test(`deliveries: a process that ends when a try is ${step} leaves a ${type} to the next`, async (h) => {
      await h.put("ops", type, { host: "ops" } as never);
      const deliveries = ["inc_1", "inc_2"].map((incident) =>
        h.delivery("ops", incident, "incident.opened", type)
      );
      await h.add(deliveries);
      h.nowMs = NOON + 10 * SECOND;
      await using _ = await endsAt(h, step);
      const before = h.sent.length;
      const job = h.job();
      await h.pass(job, h.nowMs + CLAIM_MS - SECOND);
      // Nothing else of the channel is sent while the try may be under way.
      if (step !== "stored") assertEquals(h.sent.length, before);
      await h.pass(job, h.nowMs + 60 * SECOND);
      assertEquals(await h.states(), { delivered: 2 });
      assertEquals(await h.waiting(), [0, 0]);
      const first = h.sent.filter(({ messages }) => messages.includes("inc_1 opened"));
      assertEquals(first.length, { claimed: 1, received: 2, stored: 1 }[step]);
      // A repeat has the same messages and the same id.
      assertEquals(new Set(first.map(({ id, messages }) => `${id} ${messages}`)).size, 1);
    });
  }
}

DeliveriesHarness.test("deliveries: a repeat with a message that came after the crash has another id", async (h) => {
  await h.put("mail", "email", { host: "mail" } as never);
  const id = await h.send("mail", "inc_1", "incident.opened", "email");
  h.nowMs = NOON + 10 * SECOND;
  await using _ = await endsAt(h, "received");
  await h.send("mail", "inc_2", "incident.opened", "email");
  await h.pass(h.job(), h.nowMs + 120 * SECOND);
  assertEquals(h.sent.map(({ messages }) => messages), [
    ["inc_1 opened"],
    ["inc_1 opened", "inc_2 opened"],
  ]);
  // A mail server drops a mail whose id it knows, and with it the new message.
  const [first, second] = h.sent;
  assertEquals([first?.id, second?.id === id], [id, false]);
});

DeliveriesHarness.test("deliveries: a result that cannot be stored at first is stored later, without a repeat", async (h) => {
  await h.put("ops");
  let failures = 0;
  const { writer } = h.store;
  const failing = {
    commit: (write: Parameters<typeof writer.commit>[0]) =>
      failures-- > 0
        ? Promise.reject(new StorageUnavailable("Cannot commit: disk I/O error"))
        : writer.commit(write),
  };
  h.receivers.set("ops", () => {
    failures = 2;
    return DELIVERED;
  });
  const job = h.job({ ...h.store, writer: Object.assign(Object.create(writer), failing) });
  await h.send("ops", "inc_1");
  await h.pass(job, NOON + SECOND);
  assertEquals([h.sent.length, await h.states()], [1, { delivered: 1 }]);
});

DeliveriesHarness.test("deliveries: a stop ends tries within 2 s, and the next process repeats them at once", async (h) => {
  await h.put("ops");
  h.receivers.set(
    "ops",
    (_, signal) =>
      new Promise((resolve) =>
        signal.addEventListener(
          "abort",
          () => resolve({ ...DELIVERED, verdict: "retry", error: "cancelled" }),
        )
      ),
  );
  const id = await h.send("ops", "inc_1");
  const job = h.job();
  h.nowMs = NOON + SECOND;
  await until(() => h.sent.length > 0);
  const startMs = performance.now();
  await job.stop();
  const ms = performance.now() - startMs;
  assert(ms > 1_900 && ms < 10_000, `${ms} ms`);
  assertEquals([(await h.stored(id)).state, (await h.stored(id)).attempts], ["waiting", 0]);
  h.receivers.delete("ops");
  await h.pass(h.job(), h.nowMs + SECOND);
  assertEquals(h.sent.map((sent) => sent.id), [id, id]);
});

DeliveriesHarness.test("deliveries: a claim from before the clock was set back does not hold the channel", async (h) => {
  await h.put("ops");
  await h.send("ops", "inc_1");
  h.nowMs = NOON + 3_600 * SECOND;
  await using _ = await endsAt(h, "received");
  h.nowMs = NOON + 2 * SECOND;
  await h.send("ops", "inc_2");
  await h.pass(h.job(), h.nowMs + SECOND);
  assertEquals(await h.states(), { delivered: 2 });
});
