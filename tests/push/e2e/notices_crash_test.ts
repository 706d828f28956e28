/** Tests that a quota notice reaches the owner at most once, wherever kill -9 strikes. */
import { assert, assertEquals } from "@std/assert";
import { ENVIRONMENT } from "../../../app/start.ts";
import { isOpen, newNotice, type Notice, NOTICE_LEASE_MS } from "../../../domain/teams/quota.ts";
import { monthOf } from "../../../domain/core/time.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { OpenStore } from "../../../kv/open.ts";
import { noticeSets, noticeWork } from "../../../kv/teams/quota_work.ts";
import { usageSet } from "../../../kv/summaries/team_write.ts";
import { workKey } from "../../../kv/work/store.ts";
import { ensureFirstTeam } from "../../../kv/teams/teams.ts";
import { Process, type Settings } from "../../support/harness/process.ts";
import { type Behaviour, SENDER, SmtpSink } from "../../support/fakes/smtp.ts";
import { inFolder, onStore, withStore } from "../../support/harness/temp_store.ts";

const KEY = `apk_eu_${"d5".repeat(16)}`;
const OWNER = "owner@example.org";

/** Moments of the kill, and the recorded state of the notice then and at the end. */
const ROUNDS: { strikes: string; behaviour: Behaviour; mails: number; states: string[] }[] = [
  { strikes: "before the greeting", behaviour: "silent greeting", mails: 1, states: ["sent"] },
  { strikes: "before the text", behaviour: "silent recipient", mails: 1, states: ["sent"] },
  { strikes: "before the answer", behaviour: "silent text", mails: 1, states: ["unknown"] },
  // The response was in flight: the process may or may not have recorded it.
  { strikes: "at the answer", behaviour: "accept", mails: 1, states: ["sent", "unknown"] },
];

for (const { strikes, behaviour, mails, states } of ROUNDS) {
  inFolder.test(`notices: kill -9 ${strikes} of the mail server does not send twice`, async (folder) => {
    await using sink = await SmtpSink.start();
    const settings = settingsIn(folder, sink);
    await create(settings.RUNLEDGER_KV);
    await withStore(settings.RUNLEDGER_KV, (store, team) => count(store, team, 80_000));

    sink.behaviour = behaviour;
    await killOnce(
      settings,
      sink,
      (it) =>
        behaviour === "silent greeting"
          ? it.connections > 0
          : behaviour === "silent recipient"
          ? it.recipients > 0
          : it.received.length > 0,
    );

    sink.behaviour = "accept";
    await withStore(settings.RUNLEDGER_KV, letLeasesPass);
    await finishNotice(settings);
    await finishNotice(settings);
    const notices = await withStore(settings.RUNLEDGER_KV, allNotices);
    assertEquals(notices.length, 1);
    assert(states.includes(notices[0]?.state ?? ""), JSON.stringify(notices));
    assertEquals(sink.received.map(({ to }) => to), Array(mails).fill([OWNER]));
  });
}

/** Returns settings of a service that sends its owner's notices to a mail server. */
function settingsIn(folder: string, sink: SmtpSink) {
  return {
    RUNLEDGER_KV: `${folder}/test.kv`,
    RUNLEDGER_KEY: KEY,
    RUNLEDGER_TIER: "free",
    RUNLEDGER_SMTP_URL: sink.url,
    RUNLEDGER_SMTP_FROM: SENDER,
    RUNLEDGER_OWNER_EMAIL: OWNER,
  };
}

/** Creates the ledger with its first team. */
function create(path: string): Promise<void> {
  const options = { region: "eu", key: KEY, tier: "free" } as const;
  return onStore(path, async (store) => void await ensureFirstTeam(store, ENVIRONMENT, options));
}

/** Starts a process, and kills it when the mail server reaches the given point. */
async function killOnce(
  settings: Settings,
  sink: SmtpSink,
  farEnough: (sink: SmtpSink) => boolean,
): Promise<void> {
  await using process = await Process.start(settings);
  await sink.until(farEnough);
  assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
}

/** Runs a process until it reports the outcome of a notice, or briefly if there is none. */
async function finishNotice(settings: ReturnType<typeof settingsIn>): Promise<void> {
  const isOpen = await withStore(settings.RUNLEDGER_KV, isOneOpen);
  await using process = await Process.start(settings);
  if (isOpen) await process.logs(/"notice":"quota"/);
  const { code, stdout } = await process.stop();
  assertEquals(code, 0);
  assert(!stdout.includes(OWNER), stdout);
}

async function count(store: OpenStore, team: TeamId, by: number): Promise<void> {
  const sums = [{ key: keys.usage(team, monthOf(Date.now())), by: BigInt(by) }];
  await store.writer.commit({ team, sums, sets: [usageSet(team, Date.now() - 60_000)] });
}

/** Makes the leases of a killed process expire. */
async function letLeasesPass(store: OpenStore): Promise<void> {
  for (const { notice, row } of await openNotices(store)) {
    const earlier = { ...notice, dueMs: notice.dueMs - NOTICE_LEASE_MS };
    await store.writer.commit({ sets: noticeSets(earlier), deletes: [row] });
  }
}

/** Returns the notices that are not sent, with their rows of work. */
async function openNotices(store: OpenStore) {
  const rows = await Array.fromAsync(store.reader.list<Notice>({ prefix: ["notice"] }));
  return rows.map(({ value }) => value).filter(isOpen)
    .map((notice) => ({ notice, row: workKey(noticeWork(notice)) }));
}

async function allNotices(store: OpenStore, team: TeamId): Promise<Notice[]> {
  const rows = store.reader.list<Notice>({ prefix: keys.notices(team, monthOf(Date.now())) });
  return await Array.fromAsync(rows, ({ value }) => value);
}

inFolder.test("notices: under kill -9 at any moment each of many notices is sent at most once", async (folder) => {
  await using sink = await SmtpSink.start();
  const settings = settingsIn(folder, sink);
  await create(settings.RUNLEDGER_KV);
  const wanted = 60;
  await withStore(settings.RUNLEDGER_KV, async (store, team) => {
    for (let n = 0; n < wanted; n++) {
      const month = `20${String(n + 26).padStart(2, "0")}-01`;
      const facts = { teamName: "t", month, percent: 80, used: 4, included: 5 } as const;
      const name = { team, month, percent: 80 } as const;
      await store.writer.commit({ sets: noticeSets(newNotice(name, facts, true, 0)) });
    }
  });
  for (const messages of [3, 20, 41]) {
    await using process = await Process.start(settings);
    await sink.until(({ received }) => received.length >= messages);
    assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
    await withStore(settings.RUNLEDGER_KV, letLeasesPass);
  }
  while (await withStore(settings.RUNLEDGER_KV, isOneOpen)) await finishNotice(settings);
  const ids = sink.received.map(({ messageId }) => messageId);
  assertEquals(new Set(ids).size, ids.length, "one was sent twice");
  const states = await withStore(settings.RUNLEDGER_KV, allStates);
  assertEquals(states.length, wanted);
  assert(states.every((state) => state === "sent" || state === "unknown"), states.join());
  const sent = states.filter((state) => state === "sent").length;
  // Notices recorded as sent were sent; at most five were in flight at each kill.
  assert(sent <= ids.length && sent >= wanted - 3 * 5, `${sent} sent, ${ids.length} received`);
});

async function isOneOpen(store: OpenStore): Promise<boolean> {
  return (await openNotices(store)).length > 0;
}

async function allStates(store: OpenStore): Promise<string[]> {
  const rows = store.reader.list<Notice>({ prefix: ["notice"] });
  return await Array.fromAsync(rows, ({ value }) => value.state);
}
