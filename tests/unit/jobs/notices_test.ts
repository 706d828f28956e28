/** Quota notices: which are sent, and that each is sent once. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { newNotice, type Notice, NOTICE_LEASE_MS } from "../../../domain/teams/quota.ts";
import { keys } from "../../../kv/base/keys.ts";
import { noticeSets } from "../../../kv/teams/quota_work.ts";
import { createMailer } from "../../../outbound/mail.ts";
import { SENDER } from "../../support/fakes/smtp.ts";
import { KEY, NOON } from "../../support/harness/harness.ts";
import { MONTH, NoticesHarness } from "../../support/harness/notices.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";

NoticesHarness.test("notices: the owner gets one e-mail at exactly 80 % and one at exactly 100 %", async (b) => {
  const loop = b.loop();
  const runChecks = async () => {
    await b.check(loop);
    return b.sink.received.length;
  };
  await b.count(79_999);
  assertEquals(await runChecks(), 0);
  await b.count(1);
  assertEquals([await runChecks(), await runChecks()], [1, 1]);
  await b.count(19_999);
  assertEquals(await runChecks(), 1);
  await b.count(1);
  assertEquals([await runChecks(), await runChecks()], [2, 2]);
  await b.count(900_000);
  assertEquals(await runChecks(), 2);
  const [first, second] = b.sink.received;
  assert(first !== undefined && second !== undefined);
  assertEquals(first.to, ["owner@example.org"]);
  assertEquals(first.subject, "Runledger: team Ships has reached 80 % of its events for 2026-11");
  for (const part of ["80,000", "100,000", "2026-12-01 00:00 UTC", "Nothing is cut off"]) {
    assertStringIncludes(first.text, part);
  }
  assertEquals(first.html, undefined);
  assertStringIncludes(second.subject, "reached 100 %");
  assertEquals(first.messageId, `<80.2026-11.${b.team.id}@notices.runledger>`);
  assertEquals(await b.states(), [[80, "sent"], [100, "sent"]]);
});

NoticesHarness.test("notices: each month has its own, and the last events of a month still count", async (b) => {
  b.nowMs = Date.UTC(2027, 0, 1) - 1;
  await b.count(80_000, "2026-12");
  await b.check();
  assertEquals(b.subjects, ["80 % of its events for 2026-12"]);
  b.nowMs++;
  await b.count(20_000, "2026-12");
  await b.count(79_999, "2027-01");
  await b.check();
  assertEquals(b.subjects, ["100 % of its events for 2026-12", "80 % of its events for 2026-12"]);
  await b.count(1, "2027-01");
  await b.check();
  assertEquals(b.subjects.filter((subject) => subject.includes("2027-01")).length, 1);
});

NoticesHarness.test("notices: concurrent loops send one e-mail per notice", async (b) => {
  await b.count(100_000);
  for (let turn = 0; turn < 3; turn++) {
    const loops = Array.from({ length: 6 }, () => b.loop());
    await Promise.all(loops.map((loop) => b.check(loop)));
  }
  assertEquals(b.subjects, ["100 % of its events for 2026-11", "80 % of its events for 2026-11"]);
});

NoticesHarness.test("notices: a notice that was being sent when its process died becomes unknown; one not yet started is sent", async (b) => {
  const { id: team, name: teamName } = b.team;
  for (const [percent, state] of [[80, "sending"], [100, "pending"]] as const) {
    const facts = { teamName, month: MONTH, percent, used: 1, included: 1 };
    const notice = newNotice({ team, month: MONTH, percent }, facts, true, b.nowMs);
    const dueMs = b.nowMs + NOTICE_LEASE_MS;
    const sets = noticeSets({ ...notice, state, attempts: 1, dueMs });
    await b.store.writer.commit({ sets });
  }
  await b.check();
  assertEquals(b.sink.connections, 0, "another process may still hold them");
  b.nowMs += NOTICE_LEASE_MS;
  await b.check();
  assertEquals(await b.states(), [[80, "unknown"], [100, "sent"]]);
  assertEquals(b.subjects, ["100 % of its events for 2026-11"]);
});

NoticesHarness.test("notices: no e-mail is sent unless its mark could be stored", async (b) => {
  await b.count(80_000);
  const { writer } = b.store;
  const commit: typeof writer.commit = (write) => {
    const isMark = write.sets?.some(({ value }) => (value as Notice).state === "sending");
    return isMark ? Promise.resolve(null) : writer.commit(write);
  };
  const metrics = writer.metrics;
  const faulty = { ...b.store, writer: { ...writer, metrics, commit } as typeof writer };
  await b.check(b.loop(undefined, faulty));
  assertEquals([b.sink.connections, b.sink.received.length], [1, 0]);
  assertEquals(await b.states(), [[80, "pending"]]);
});

Deno.test("notices: a missing mail server or owner is logged in one line, only once", async () => {
  for (const without of ["server", "owner"]) {
    await using b = await NoticesHarness.open();
    if (without === "owner") await b.forgetOwner();
    await b.count(80_000);
    const mailer = without === "server" ? null : createMailer(b.sink.url, SENDER);
    for (let turn = 0; turn < 3; turn++) await b.check(b.loop(mailer));
    assertEquals(b.log.length, 1, without);
    const { team, month, percent, state } = JSON.parse(b.log[0] ?? "");
    assertEquals([team, month, percent, state], [b.team.id, MONTH, 80, "logged"]);
    await b.check();
    assertEquals([b.sink.connections, await b.states()], [0, [[80, "logged"]]]);
  }
});

TempStore.test("notices: the first team gets the owner's address, also later, and keeps it", async ({ store }) => {
  const environment = { now: () => NOON, random: (bytes: number) => new Uint8Array(bytes) };
  const region = "eu";
  const start = async (ownerEmail: string | null) => {
    const options = { region, key: KEY, tier: null, ownerEmail } as const;
    const { team } = await ensureFirstTeam(store, environment, options);
    assertEquals((await store.reader.get(keys.team(team.id))).value, team);
    return team.ownerEmail;
  };
  assertEquals(await start(null), undefined);
  assertEquals(await start("a@example.org"), "a@example.org");
  assertEquals(await start(null), "a@example.org");
  assertEquals(await start("b@example.org"), "b@example.org");
  await using other = await TempStore.open();
  const options = { region, key: KEY, tier: null, ownerEmail: "c@example.org" } as const;
  const { team } = await ensureFirstTeam(other.store, environment, options);
  assertEquals(team.ownerEmail, "c@example.org");
});
