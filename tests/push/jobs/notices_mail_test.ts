/** Quota notices with mail servers that are slow, misbehave or need a password. */
import { RETRIES } from "../../../domain/work/work.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { NOTICE_LEASE_MS, NOTICE_SEND_MS_MAX } from "../../../domain/teams/quota.ts";
import type { Mailer } from "../../../domain/core/mail.ts";
import { Memory } from "../../../runtime/memory.ts";
import { openStore } from "../../../kv/open.ts";
import { createMailer } from "../../../outbound/mail.ts";
import { drip, SENDER, SmtpSink } from "../../support/fakes/smtp.ts";
import { Harness } from "../../support/harness/harness.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";
import { keys } from "../../../kv/base/keys.ts";
import { createUsageStore } from "../../../kv/teams/usage.ts";
import { usageSet } from "../../../kv/summaries/team_write.ts";
import { MONTH, NoticesHarness } from "../../support/harness/notices.ts";

NoticesHarness.test("notices: a mail server that refuses is retried with backoff, eight times in total", async (b) => {
  await b.count(80_000);
  for (const behaviour of ["refuse recipient", "refuse text"] as const) {
    b.sink.behaviour = behaviour;
    const loop = b.loop();
    await b.check(loop);
    await b.check(loop);
    const before = b.sink.connections;
    for (let waits = 0; waits < 3; waits++) {
      b.nowMs += RETRIES.notice.firstMs * 2 ** 6 - 1;
      await b.check(loop);
    }
    assert(b.sink.connections > before);
    assertEquals(await b.states(), [[80, "pending"]]);
  }
  b.nowMs += RETRIES.notice.firstMs * 2 ** 7;
  await b.check();
  b.nowMs += RETRIES.notice.firstMs * 2 ** 7;
  await b.check();
  assertEquals(await b.states(), [[80, "dead"]]);
  assertEquals(b.sink.connections, RETRIES.notice.triesMax);
  b.sink.behaviour = "accept";
  b.nowMs += RETRIES.notice.firstMs * 2 ** 9;
  await b.check();
  assertEquals(b.sink.received, []);
});

for (const behaviour of ["silent greeting", "silent recipient"] as const) {
  NoticesHarness.test(`notices: a mail server with a ${behaviour} did not accept the e-mail, and is retried`, async (b) => {
    await b.count(80_000);
    b.sink.behaviour = behaviour;
    await b.check(b.loop(createMailer(b.sink.url, SENDER, 150)));
    assertEquals(await b.states(), [[80, "pending"]]);
    b.sink.behaviour = "accept";
    b.nowMs += RETRIES.notice.firstMs;
    await b.check();
    assertEquals([b.sink.received.length, await b.states()], [1, [[80, "sent"]]]);
  });
}

NoticesHarness.test("notices: an e-mail that was sent in full but not answered is never sent again", async (b) => {
  await b.count(80_000);
  b.sink.behaviour = "silent text";
  const mailer = createMailer(b.sink.url, SENDER);
  const limit = new AbortController();
  const send: Mailer["send"] = (mail, handOver) => mailer.send(mail, handOver, limit.signal);
  const round = b.check(b.loop({ ...mailer, send }));
  await b.sink.until(({ received }) => received.length === 1);
  limit.abort();
  await round;
  assertEquals([b.sink.received.length, await b.states()], [1, [[80, "unknown"]]]);
  b.sink.behaviour = "accept";
  b.nowMs += 10 * NOTICE_LEASE_MS;
  await b.check();
  assertEquals([b.sink.received.length, b.sink.connections], [1, 1]);
});

NoticesHarness.test("notices: a mail server that drips delays the loop by at most one attempt", async (b) => {
  await b.count(80_000);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const dripped = drip(listener);
  const mailer = createMailer(`smtp://127.0.0.1:${listener.addr.port}`, SENDER, 2_000);
  const startedMs = performance.now();
  await b.check(b.loop(mailer));
  const tookMs = performance.now() - startedMs;
  assert(tookMs >= 1_990 && tookMs < NOTICE_SEND_MS_MAX / 2, `${tookMs} ms`);
  assert(await dripped > 3, "the server never got to drip");
  assertEquals(await b.states(), [[80, "pending"]]);
});

NoticesHarness.test("notices: a loop that stops does not wait for a mail server", async (b) => {
  await b.count(80_000);
  b.sink.behaviour = "silent recipient";
  const loop = b.loop();
  const checking = b.check(loop);
  await b.sink.until(({ connections }) => connections === 1);
  const startedMs = performance.now();
  await loop.stop();
  await checking;
  assert(performance.now() - startedMs < NOTICE_SEND_MS_MAX / 2);
  assertEquals(await b.states(), [[80, "pending"]]);
});

Deno.test("notices: while a mail server is silent, calls are accepted and the worker aggregates", async () => {
  await using sink = await SmtpSink.start();
  await using h = await Harness.open({ tier: "free", mailer: createMailer(sink.url, SENDER) });
  sink.behaviour = "silent recipient";
  // No loop of the first process may take the notice.
  await h.restart(async () => {
    const store = await openStore(h.path, new Memory());
    const team = { ...h.team, ownerEmail: "owner@example.org" };
    await store.writer.commit({
      sums: [{ key: keys.usage(h.team.id, MONTH), by: 80_000n }],
      sets: [{ key: keys.team(h.team.id), value: team }, usageSet(team.id, h.nowMs - 60_000)],
    });
    await store.close();
  });
  await sink.until(({ recipients }) => recipients === 1);
  assertEquals((await h.post("/v1/heartbeats", aHeartbeat(1))).status, 202);
  const { json } = await h.getFinal("/v1/spend?from=2026-11-21");
  assertEquals(json.totals.runs, 1);
  assertEquals(sink.connections, 1, "the try was over before anything was shown");
});

Deno.test("notices: no password is sent without TLS except to this machine", async () => {
  await using b = await NoticesHarness.open({ user: "ledger", pass: "s3cret" });
  await b.count(80_000);
  // The same server by an address that is not recognized as local.
  await b.check(b.loop(createMailer(b.sink.url.replace("127.0.0.1", "0.0.0.0"), SENDER)));
  assertEquals([b.sink.logins, b.sink.received.length], [0, 0]);
  assertEquals(await b.states(), [[80, "pending"]]);
  assertStringIncludes(b.log.join(), "STARTTLS");
});

Deno.test("notices: the mail server's login is used, and its password is never logged", async () => {
  const pass = "s3cret: p@ss/wörd";
  await using b = await NoticesHarness.open({ user: "ledger", pass });
  await b.count(80_000);
  await b.check(b.loop(createMailer(b.sink.url.replace("s3cret", "wr0ng"), SENDER)));
  assertEquals([b.sink.received.length, await b.states()], [0, [[80, "pending"]]]);
  assertStringIncludes(b.log.join(), "The login failed");
  assert(!b.log.join().includes("p@ss") && !b.log.join().includes("wr0ng"), b.log.join());
  const [notice] = await createUsageStore(b.store).notices(b.team.id, MONTH);
  assertStringIncludes(notice?.error ?? "", "The login failed");
  assert(!notice?.error?.includes("wr0ng"), notice?.error ?? "");
  b.nowMs += RETRIES.notice.firstMs;
  await b.check();
  assertEquals([b.sink.received.length, await b.states()], [1, [[80, "sent"]]]);
});
