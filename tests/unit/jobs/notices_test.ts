/** Quota notices: which are sent, and that each is sent once. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { newNotice, NOTICE_BACKOFF_MS, NOTICE_LEASE_MS } from "../../../domain/teams/quota.ts";
import { createNoticeStore } from "../../../kv/teams/usage.ts";
import { createMailer } from "../../../outbound/mail.ts";
import { SENDER } from "../../support/fakes/smtp.ts";
import { KEY, NOON } from "../../support/harness/harness.ts";
import { MONTH, NoticesHarness } from "../../support/harness/notices.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";
import type { NoticeStore } from "../../../kv/teams/usage.ts";

Deno.test("notices: the owner gets one e-mail at exactly 80 % and one at exactly 100 %", async () => {
  await using b = await NoticesHarness.open();
  const job = b.job();
  const runChecks = async () => {
    job.updated(b.team.id);
    await job.round();
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

Deno.test("notices: each month has its own, and the last events of a month still count", async () => {
  await using b = await NoticesHarness.open();
  b.nowMs = Date.UTC(2027, 0, 1) - 1;
  const job = b.job();
  await b.count(80_000, "2026-12");
  await job.round();
  assertEquals(b.subjects, ["80 % of its events for 2026-12"]);
  b.nowMs++;
  await b.count(20_000, "2026-12");
  await b.count(79_999, "2027-01");
  job.updated(b.team.id);
  await job.round();
  assertEquals(b.subjects, ["100 % of its events for 2026-12", "80 % of its events for 2026-12"]);
  await b.count(1, "2027-01");
  job.updated(b.team.id);
  await job.round();
  assertEquals(b.subjects.filter((subject) => subject.includes("2027-01")).length, 1);
});

Deno.test("notices: concurrent workers send one e-mail per notice", async () => {
  await using b = await NoticesHarness.open();
  await b.count(100_000);
  for (let turn = 0; turn < 3; turn++) {
    const jobs = Array.from({ length: 6 }, () => b.job());
    await Promise.all(jobs.map((job) => job.round()));
  }
  assertEquals(b.subjects, ["100 % of its events for 2026-11", "80 % of its events for 2026-11"]);
});

Deno.test("notices: a refused notice is sent exactly once when the mail server accepts it", async () => {
  await using b = await NoticesHarness.open();
  await b.count(80_000);
  b.sink.behaviour = "refuse text";
  await b.job().round();
  b.sink.behaviour = "accept";
  await b.job().round();
  assertEquals(b.sink.received.length, 0);
  b.nowMs += NOTICE_BACKOFF_MS;
  await b.job().round();
  await b.job().round();
  assertEquals([b.sink.received.length, await b.states()], [1, [[80, "sent"]]]);
});

Deno.test("notices: a notice that was being sent when its process died becomes unknown; one not yet started is sent", async () => {
  await using b = await NoticesHarness.open();
  const { id: team, name: teamName } = b.team;
  for (const [percent, state] of [[80, "sending"], [100, "pending"]] as const) {
    const facts = { teamName, month: MONTH, percent, used: 1, included: 1 };
    const notice = newNotice({ team, month: MONTH, percent }, facts, true, b.nowMs);
    const dueMs = b.nowMs + NOTICE_LEASE_MS;
    assert(await b.store.add({ ...notice, state, attempts: 1, dueMs }));
  }
  await b.job().round();
  assertEquals(b.sink.connections, 0, "another process may still hold them");
  b.nowMs += NOTICE_LEASE_MS;
  await b.job().round();
  assertEquals(await b.states(), [[80, "unknown"], [100, "sent"]]);
  assertEquals(b.subjects, ["100 % of its events for 2026-11"]);
});

Deno.test("notices: no e-mail is sent unless its mark could be stored", async () => {
  await using b = await NoticesHarness.open();
  await b.count(80_000);
  const { store } = b;
  const faulty: NoticeStore = {
    ...store,
    change: (known, to) => to.state === "sending" ? Promise.resolve(null) : store.change(known, to),
  };
  await b.job(undefined, faulty).round();
  assertEquals([b.sink.connections, b.sink.received.length], [1, 0]);
  assertEquals(await b.states(), [[80, "pending"]]);
});

Deno.test("notices: a missing mail server or owner is logged in one line, only once", async () => {
  for (const without of ["server", "owner"]) {
    await using b = await NoticesHarness.open();
    if (without === "owner") await b.forgetOwner();
    await b.count(80_000);
    const mailer = without === "server" ? null : createMailer(b.sink.url, SENDER);
    for (let turn = 0; turn < 3; turn++) await b.job(mailer).round();
    assertEquals(b.log.length, 1, without);
    const { team, month, percent, state } = JSON.parse(b.log[0] ?? "");
    assertEquals([team, month, percent, state], [b.team.id, MONTH, 80, "logged"]);
    await b.job().round();
    assertEquals([b.sink.connections, await b.states()], [0, [[80, "logged"]]]);
  }
});

Deno.test("notices: the first team gets the owner's address, also later, and keeps it", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const environment = { now: () => NOON, random: (bytes: number) => new Uint8Array(bytes) };
  const region = "eu";
  const start = async (ownerEmail: string | null) => {
    const options = { region, key: KEY, tier: null, ownerEmail } as const;
    const { team } = await ensureFirstTeam(store, environment, options);
    assertEquals(await createNoticeStore(store).team(team.id), team);
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
