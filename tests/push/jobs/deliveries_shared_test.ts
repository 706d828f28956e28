/** Deliveries of two processes over a shared KV that loses answers, or over `denokv`. */
import { assertEquals } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import { keys } from "../../../kv/base/keys.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { DELIVERED, DeliveriesHarness, FAILED } from "../../support/harness/deliveries.ts";
import { denokvCommand, KvProcess } from "../../support/fakes/denokv.ts";
import { NOON } from "../../support/harness/harness.ts";
import { asKvClient } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const DENOKV = denokvCommand();

/** Lets two processes send at once; fails unless each message is sent once, and in order. */
async function assertSentOnce(url: string): Promise<void> {
  const stores: OpenStore[] = [];
  for (let n = 0; n < 2; n++) stores.push(await asKvClient(() => openStore(url, new Memory())));
  const [one, other] = stores as [OpenStore, OpenStore];
  const closing = {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(stores.map((store) => store.close()));
    },
  };
  await using h = await DeliveriesHarness.over(one, closing);
  let tries = 0;
  for (const slug of ["a", "b", "c"]) {
    await h.put(slug, slug === "c" ? "slack" : "webhook");
    h.receivers.set(slug, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return ++tries % 5 === 0 ? FAILED : DELIVERED;
    });
  }
  for (let n = 0; n < 3; n++) {
    for (const slug of ["a", "b", "c"]) {
      const type = slug === "c" ? "slack" : "webhook";
      const opened = h.delivery(slug, `inc_${n}`, "incident.opened", type);
      await h.add([
        opened,
        h.delivery(slug, `inc_${n}`, "incident.updated", type, opened.id),
      ]);
    }
  }
  const jobs = [h.job(one), h.job(other)];
  const endMs = NOON + 3_600_000;
  for (;;) {
    await Promise.all(jobs.map((job) => job.idle()));
    const nextMs = await h.nextMs();
    if (nextMs === null || nextMs > endMs) break;
    h.nowMs = Math.max(h.nowMs, nextMs);
  }
  assertEquals(await h.states(), { delivered: 18 });
  assertEquals(await h.waiting(), [0, 0]);
  const failed = h.counts.filter(({ state }) => state === "retrying").length;
  const messages = h.sent.flatMap((sent) =>
    sent.messages.map((message) => `${sent.channel} ${message}`)
  );
  assertEquals(messages.length, 18 + failed);
  for (let n = 0; n < 3; n++) {
    for (const slug of ["a", "b", "c"]) {
      const of = messages.filter((message) => message.startsWith(`${slug} inc_${n} `))
        .map((message) => message.split(" ")[2]);
      assertEquals(of.lastIndexOf("opened") < of.indexOf("updated") || slug === "c", true);
    }
  }
  const health = await h.store.reader.get(keys.channelHealth(h.team.id, "a"));
  assertEquals((health.value as { claim: unknown }).claim, null);
}

KvServer.test("deliveries over a shared KV: two processes send each message once, with lost answers", async (server) => {
  await asKvClient(async () => (await openStore(server.url(), new Memory())).close());
  server.knobs.answer = () => server.counts.commits % 5 === 0 ? "lost" : "sent";
  await assertSentOnce(server.url());
});

Deno.test({
  name: "deliveries over denokv: two processes send each message once",
  ignore: DENOKV === null,
  fn: () =>
    withFolder(async (folder) => {
      await using kv = await KvProcess.start(folder, DENOKV);
      await assertSentOnce(kv.url);
    }),
});
