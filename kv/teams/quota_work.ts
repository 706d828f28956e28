/**
 * Work on quotas (decision 41): counts the events of teams, and notifies their owners.
 *
 * A commit that changes runs files a check of the usage of its team at the end of the minute. The
 * check adds a notice for each percentage that is reached, with a row of its own until the mail is
 * sent. A notice is claimed before an attempt and marked before the mail server gets its text, so it
 * is sent at most once.
 *
 * @module
 */
import { kindName } from "../../domain/alerts/signal.ts";
import type { Mailer } from "../../domain/core/mail.ts";
import { monthOf } from "../../domain/core/time.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";
import {
  attempted,
  claimed,
  isOpen,
  newNotice,
  type Notice,
  noticeText,
  percentsReached,
} from "../../domain/teams/quota.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import { type JobDeps, jobLine } from "../../runtime/loop.ts";
import { keys } from "../base/keys.ts";
import { getMany, getValue, type Store } from "../store.ts";
import { workKey, workSet } from "../work/store.ts";
import type { KvSet, Write } from "../writer/group.ts";
import { readUse } from "./usage.ts";

export interface QuotaWorkDeps extends JobDeps {
  readonly store: Store;
  /** Null without a mail server. */
  readonly mailer: Mailer | null;
}

/**
 * Milliseconds after the end of a month during which it is still checked, because its last events
 * are counted late.
 */
const LATE_MS = 3_600_000;

/** Returns the rows of a notice: itself, and its work until it ends. */
export function noticeSets(notice: Notice): KvSet[] {
  return [
    { key: keys.notice(notice), value: notice },
    ...isOpen(notice) ? [workSet(noticeWork(notice))] : [],
  ];
}

export function noticeWork({ team, month, percent, dueMs: at }: Notice): Omit<Work, "failures"> {
  return { at, kind: "notice", team, name: `${month} ${percent}` };
}

/** Creates the handlers of usage and of notices. */
export function createQuotaWork(deps: QuotaWorkDeps): readonly WorkHandler[] {
  return [
    {
      kind: "quota",
      async handle(rows) {
        for (const row of rows) await addNotices(deps, row);
        return [];
      },
    },
    {
      kind: "notice",
      async handle(rows, _, stopping) {
        for (const row of rows) await sendNotice(deps, row, stopping);
        return [];
      },
    },
  ];
}

/** Adds the notices that a team is due, each once, and removes the row. */
async function addNotices(deps: QuotaWorkDeps, row: Work): Promise<void> {
  const { store, mailer, now } = deps;
  const { team: id } = row;
  const [due, team] = await getMany(store, [workKey(row), keys.team(id)]);
  if (due === undefined || due.versionstamp === null) return;
  const added = await missingNotices(store, team?.value as Team | null, row.at);
  const canSend = mailer !== null && (team?.value as Team | null)?.ownerEmail !== undefined;
  const notices = added.map((details) =>
    newNotice({ ...details, team: id }, details, canSend, now())
  );
  const version = await store.writer.commit({
    team: id,
    // A check that is filed meanwhile stays.
    checks: [due, ...notices.map((notice) => ({ key: keys.notice(notice), versionstamp: null }))],
    sets: notices.flatMap((notice) => [
      ...noticeSets(notice),
      workSet({ at: notice.dueMs, kind: "rule", team: id, name: kindName("quota") }),
    ]),
    deletes: [due.key],
  });
  if (version !== null && !canSend) notices.forEach((notice) => logNotice(deps, notice));
}

/** Returns the details of the notices that a team is due at an instant and does not have. */
async function missingNotices(store: Store, team: Team | null, atMs: number) {
  if (team === null) return [];
  const included = planOfTeam(team).eventsPerMonth;
  const details = [];
  for (const month of new Set([monthOf(atMs - LATE_MS), monthOf(atMs)])) {
    const used = await readUse(store, team.id, month);
    for (const percent of percentsReached(used, included)) {
      const name = { team: team.id, month, percent };
      if (await getValue<Notice>(store, keys.notice(name)) !== null) continue;
      details.push({ teamName: team.name, month, percent, used, included });
    }
  }
  return details;
}

/** A notice as it is stored, with its work. */
interface StoredNotice {
  readonly notice: Notice;
  readonly version: string;
  readonly row: Omit<Work, "failures">;
}

/** Attempts to send a notice. */
async function sendNotice(deps: QuotaWorkDeps, row: Work, stopping: AbortSignal): Promise<void> {
  const { store, mailer, now } = deps;
  const [month = "", percent] = row.name.split(" ");
  const name = { team: row.team, month, percent: Number(percent) as Notice["percent"] };
  const [entry, team] = await getMany(store, [keys.notice(name), keys.team(row.team)]);
  const notice = entry?.value as Notice | null;
  // Work that failed is later than its notice is due.
  if (!entry?.versionstamp || notice === null || !isOpen(notice) || notice.dueMs > row.at) {
    return void await store.writer.commit({ team: row.team, deletes: [workKey(row)] });
  }
  const stored = { notice, version: entry.versionstamp, row };
  const to = (team?.value as Team | null)?.ownerEmail;
  // The service may have restarted without a mail server or an owner address.
  if (notice.state === "pending" && (mailer === null || to === undefined)) {
    return await endAttempt(deps, stored, { ...notice, state: "logged" });
  }
  let current = await change(store, stored, claimed(notice, now()));
  // Another process claimed it first.
  if (current === null) return;
  if (current.notice.state === "unknown" || mailer === null || to === undefined) {
    return logNotice(deps, current.notice);
  }
  const messageId = `${percent}.${month}.${row.team}@notices.runledger`;
  const mail = { to: [to], messageId, ...noticeText(current.notice) };
  const outcome = await mailer.send(mail, async () => {
    const sending: StoredNotice | null = current &&
      await change(store, current, { ...current.notice, state: "sending" });
    if (sending === null) throw new Error("Another process has claimed the notice");
    current = sending;
  }, stopping);
  await endAttempt(deps, current, attempted(current.notice, outcome, now()));
}

async function endAttempt(deps: QuotaWorkDeps, stored: StoredNotice, to: Notice): Promise<void> {
  if (await change(deps.store, stored, to) !== null) logNotice(deps, to);
}

/** Changes a notice and moves its work; returns null if it was changed since it was read. */
async function change(
  store: Store,
  { version, row }: StoredNotice,
  notice: Notice,
): Promise<StoredNotice | null> {
  const next = noticeWork(notice);
  const stays = isOpen(notice) && next.at === row.at;
  const write: Write = {
    team: notice.team,
    checks: [{ key: keys.notice(notice), versionstamp: version }],
    sets: noticeSets(notice),
    deletes: stays ? [] : [workKey(row)],
  };
  const changed = await store.writer.commit(write);
  return changed === null ? null : { notice, version: changed, row: next };
}

function logNotice({ now, log }: QuotaWorkDeps, notice: Notice): void {
  const { team, month, percent, state, used, included, attempts, error } = notice;
  const fields = { notice: "quota", team, month, percent, state, used, included, attempts };
  log(jobLine(now(), fields, error ?? undefined));
}
