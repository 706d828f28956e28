/** Lines of exports of 0.1.0 whose rows are stored in another way since. */
import { assert, assertEquals } from "@std/assert";
import { newDelivery } from "../../../domain/channels/delivery.ts";
import { newNotice } from "../../../domain/teams/quota.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { decodeMonitor } from "../../../kv/base/codec_monitors.ts";
import { unpackJson } from "../../../kv/base/blob.ts";
import { keys } from "../../../kv/base/keys.ts";
import { rowsOf } from "../../../kv/transfer/export_rows.ts";
import { NOON } from "../../support/harness/harness.ts";
import { Memory } from "../../../runtime/memory.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { openStore } from "../../../kv/open.ts";
import { exportLines } from "../../../kv/transfer/export.ts";
import { importLines } from "../../../kv/transfer/import.ts";
import { fillWorld, openWorld, readWorld } from "../../support/builders/whole_world.ts";

const TEAM = "team" as TeamId;

Deno.test("import: deadlines and due channels of earlier exports are rows of the work queue", () => {
  assertEquals(rowsOf({ kind: "due", key: [NOON, "monitor", TEAM, "backup"], value: 3 }), [
    { key: keys.workRow(NOON, "monitor", TEAM, "backup"), value: 0 },
  ]);
  assertEquals(rowsOf({ kind: "delivery_due", key: [NOON, TEAM, "ops"], value: true }), [
    { key: keys.workRow(NOON, "channel", TEAM, "ops"), value: 0 },
  ]);
  const [row] = rowsOf({ kind: "work", key: ["send", NOON, "channel", TEAM, "ops"], value: 0 });
  assertEquals(row?.key, keys.workRow(NOON, "channel", TEAM, "ops"));
  const failed = { failures: 2, error: "Error: no" };
  const [postponed] = rowsOf({
    kind: "work",
    key: ["back", NOON, "reprice", TEAM, "1"],
    value: failed,
  });
  assertEquals(postponed, { key: keys.workRow(NOON, "reprice", TEAM, "1"), value: failed });
});

Deno.test("import: a waiting delivery has a place of its own, also one that was joined to another", () => {
  const message = { event: "incident.opened", at: NOON, incident: null } as const;
  const delivery = newDelivery("whd_eu_1", { slug: "chat", type: "slack" }, message, null);
  const placesOf = (value: unknown) =>
    rowsOf({ kind: "delivery", key: [TEAM, delivery.id], value })
      .map(({ key }) => key).filter(([family]) => family === "delivery_queue");
  const waiting = { ...delivery, joined: [], nextAt: NOON };
  assertEquals(placesOf(waiting), [keys.queuedDelivery(TEAM, "chat", NOON, delivery.id)]);
  assertEquals(placesOf({ ...waiting, state: "delivered", nextAt: null }), []);
});

Deno.test("import: outcomes of groups and monitors of earlier exports are those of a window", () => {
  const run = "run_eu_1";
  const outcome = { at: NOON, key: run, run, value: null, detail: "failed" };
  const base = { ...{ at: 0, key: "", isFiring: false, bads: 0, goods: 0 }, last: null };
  const alert = (kept: unknown) => ({ text: "", outcomes: { base, kept: [kept] } });
  const valueOf = (kind: "alert" | "monitor", value: unknown) => {
    const stored = rowsOf({ kind, key: [TEAM, "a", ""], value })[0]?.value;
    return kind === "monitor" ? decodeMonitor(stored) : unpackJson(stored as Uint8Array);
  };
  assertEquals(
    valueOf("alert", alert({ ...outcome, isBad: true })),
    valueOf("alert", alert({ ...outcome, kind: "bad" })),
  );
  const monitor = {
    agent: "nightly",
    settings: { failureThreshold: 1, recoveryThreshold: 1 },
    base: { at: NOON - 2, name: `${run} fail`, isDown: true, fails: 2, oks: 0, reason: "failed" },
    signals: [{ at: NOON - 1, run, outcome: "ok" }],
    missedAt: NOON,
  };
  const none = { value: null, detail: null };
  assertEquals(valueOf("monitor", monitor), {
    agent: "nightly",
    settings: monitor.settings,
    outcomes: {
      base: {
        ...{ at: NOON - 2, key: `${run} bad`, reason: "failed" },
        ...{ isFiring: true, bads: 2, goods: 0 },
      },
      kept: [
        { at: NOON - 1, key: `${run} good`, kind: "good", run, ...none },
        { at: NOON, key: "~missed", kind: "missed", run: null, ...none },
      ],
    },
  });
});

Deno.test("import: a notice that waits has a row of the work queue, with or without an open notice", () => {
  const details = { teamName: "t", month: "2026-11", percent: 80, used: 8, included: 10 } as const;
  const notice = newNotice({ ...details, team: TEAM }, details, true, NOON);
  const rowsFor = (value: unknown) =>
    rowsOf({ kind: "notice", key: [TEAM, "2026-11", 80], value }).map(({ key }) => key);
  const due = keys.workRow(NOON, "notice", TEAM, "2026-11 80");
  assertEquals(rowsFor(notice), [keys.notice(notice), due]);
  assertEquals(rowsFor({ ...notice, state: "sent" }), [keys.notice(notice)]);
  assertEquals(rowsOf({ kind: "open_notice", key: [TEAM, "2026-11", 80], value: true }), []);
});

Deno.test("import: jobs in progress of earlier exports are rows of the work queue", () => {
  assertEquals(rowsOf({ kind: "active_deletion", key: [TEAM, "1"], value: true }), [
    { key: keys.workRow(0, "deletion", TEAM, "1"), value: 0 },
  ]);
  assertEquals(rowsOf({ kind: "active_reprice", key: [TEAM, "2"], value: true }), [
    { key: keys.workRow(0, "reprice", TEAM, "2"), value: 0 },
  ]);
  // The row of a team's jobs did not list them.
  assertEquals(rowsOf({ kind: "reprice", key: [TEAM], value: true }), [
    { key: keys.jobs("reprice", TEAM), value: [] },
  ]);
});

const FOLDER = new URL("../../support/fixtures/", import.meta.url);
const EXPORT = new URL("export-1.ndjson", FOLDER);
const READS = new URL("export-1.reads.ndjson", FOLDER);

/** Answers that no version may change: money, usage and what was audited. */
const KEPT = /spend|usage|\/cost$|audit/;

interface Reads {
  /** Key of the second team. */
  readonly other: string;
  readonly answers: Readonly<Record<string, unknown>>;
}

/** Writes both files, once for each number of the export's format. */
async function record(): Promise<void> {
  await using h = await openWorld();
  const other = await fillWorld(h);
  const all = Object.entries(await readWorld(h, other)).filter(([path]) => KEPT.test(path));
  const answers = Object.fromEntries(all.map(([path, text]) => [path, JSON.parse(String(text))]));
  const lines = await Array.fromAsync(exportLines(h.store));
  await Deno.writeTextFile(EXPORT, `${lines.join("\n")}\n`, { createNew: true });
  await Deno.writeTextFile(READS, `${JSON.stringify({ other, answers })}\n`);
}

/** Checks that an answer still has all that was recorded; it may have more. */
function assertKept(actual: unknown, recorded: unknown, path: string): void {
  if (!(recorded instanceof Object)) return assertEquals(actual, recorded, path);
  assert(actual instanceof Object, path);
  if (Array.isArray(recorded)) assertEquals((actual as unknown[]).length, recorded.length, path);
  for (const [name, value] of Object.entries(recorded)) {
    assertKept((actual as Record<string, unknown>)[name], value, `${path} ${name}`);
  }
}

async function* lines(): AsyncGenerator<string> {
  yield* (await Deno.readTextFile(EXPORT)).trimEnd().split("\n");
}

Deno.test("export: the file of an earlier version is imported, and its numbers are the same", async () => {
  if (Deno.args.includes("--record")) await record();
  const { other, answers }: Reads = JSON.parse(await Deno.readTextFile(READS));
  await using h = await openWorld();
  await h.restart(async () => {
    for (const end of ["", "-wal", "-shm"]) await Deno.remove(h.path + end).catch(() => {});
    const store = await openStore(h.path, new Memory());
    const { runs, events, pending } = await importLines(store, lines());
    assertEquals([runs, events, pending], [18, 14, 0]);
    assertEquals((await verifyStore(store)).differences, []);
    await store.close();
  });
  const actual = await readWorld(h, other);
  for (const [path, answer] of Object.entries(answers)) {
    assertKept(JSON.parse(String(actual[path])), answer, path);
  }
});
