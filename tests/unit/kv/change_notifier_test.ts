/** Watchers of changes are notified of commits of this process and of other instances. */
import { assert, assertEquals } from "@std/assert";
import { Memory } from "../../../domain/core/memory.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import type { ChangeWatch } from "../../../domain/feed/changes.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { RunUpdater } from "../../../kv/summaries/run_updater.ts";
import {
  finish,
  open,
  processingStoreOf,
  run,
  runsOf,
  TEAM,
} from "../../support/builders/stored_runs.ts";
import { asKvClient } from "../../support/harness/kv_client.ts";
import { KvServer } from "../../support/harness/kv_server.ts";
import { NOON } from "../../support/harness/harness.ts";
import { processingOf } from "../../support/harness/stores.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

Deno.test("notifier: a commit of this process notifies its team and its runs, and no other", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const commits = new RunUpdater(store, null);
  const over = new AbortController();
  using team = commits.notifier.watch(TEAM.id);
  using one = commits.notifier.watch(TEAM.id, run(1));
  using other = commits.notifier.watch(TEAM.id, run(2));
  await open(runsOf(store), 1);
  await processingOf(store, () => NOON, [], commits).project(TEAM.id, [run(1)]);
  // The notification arrived before any wait.
  await Promise.all([team.next(over.signal), one.next(over.signal)]);
  const rung = other.next(over.signal).then(() => over.signal.aborted);
  over.abort();
  assert(await rung);
});

Deno.test("notifier: a commit of another process notifies within about a second", async () => {
  await using temp = await TempStore.open();
  const { store } = temp;
  const { notifier } = new RunUpdater(store, null);
  const never = new AbortController().signal;
  await open(runsOf(store), 1);
  using team = notifier.watch(TEAM.id);
  using one = notifier.watch(TEAM.id, run(1));
  // The first check notifies: something may have changed before it.
  await Promise.all([one.next(never), team.next(never)]);
  // Waiters for a run's end also see its stages change.
  await finish(runsOf(store), 1);
  await processingStoreOf(store).project(TEAM.id, [run(1)]);
  await Promise.all([one.next(never), team.next(never)]);
});

/** An instance of the service on a shared KV, without its sockets and jobs. */
class Instance implements AsyncDisposable {
  readonly updater: RunUpdater;

  private constructor(readonly store: OpenStore) {
    this.updater = new RunUpdater(store, null);
  }

  static async open(server: KvServer): Promise<Instance> {
    return new Instance(await asKvClient(() => openStore(server.url(), new Memory())));
  }

  watch(team: Team, n?: number): ChangeWatch {
    return this.updater.notifier.watch(team.id, n === undefined ? undefined : run(n));
  }

  /** Opens a run and processes it. */
  async open(n: number, team: Team = TEAM): Promise<void> {
    await open(runsOf(this.store), n, {}, team);
    await this.process(n, team);
  }

  async process(n: number, team: Team = TEAM): Promise<void> {
    await processingOf(this.store, () => NOON, [], this.updater).project(team.id, [run(n)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.updater.notifier.stop();
    await this.store.close();
  }
}

/** Milliseconds between two polls of the notifier. */
const POLL_MS = 1_000;

/** Milliseconds until a test fails that waits for a notification. */
const DEADLINE_MS = 10_000;

/** Runs a test in which the notifier polls only when the test says so. */
async function withPolls(test: (poll: () => void) => Promise<void>): Promise<void> {
  const { setInterval } = globalThis;
  let poll: (() => void) | undefined;
  const capture = (callback: () => void, ms: number) => {
    if (ms !== POLL_MS) return setInterval(callback, ms);
    poll = callback;
    return 0;
  };
  globalThis.setInterval = capture as unknown as typeof setInterval;
  try {
    await test(() => {
      assert(poll !== undefined, "nothing polls");
      poll();
    });
  } finally {
    globalThis.setInterval = setInterval;
  }
}

/** Waits for the next notification of each watch while `work` runs; fails without one. */
async function notified(
  watches: readonly ChangeWatch[],
  work: () => unknown = () => {},
): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), DEADLINE_MS);
  try {
    const waiting = Promise.all(watches.map((watch) => watch.next(over.signal)));
    await work();
    await waiting;
    assert(!over.signal.aborted, "no notification");
  } finally {
    clearTimeout(timer);
  }
}

/** Returns team number `n`. */
function teamOf(n: number): Team {
  return { ...TEAM, id: `team-${n}` as TeamId };
}

Deno.test("notifier: commits of another instance on a shared KV notify its team and its runs without a poll", () =>
  withPolls(async () => {
    await using server = await KvServer.start();
    await using here = await Instance.open(server);
    await using other = await Instance.open(server);
    using team = here.watch(TEAM);
    using one = here.watch(TEAM, 1);
    // The first versions notify: something may have changed before they arrive.
    await notified([team, one]);
    await notified([team, one], () => other.open(1));
    await notified([team], () => other.open(2));
    await notified([team, one], async () => {
      await finish(runsOf(other.store), 1);
      await other.process(1);
    });
    // A commit of this process before theirs hides nothing.
    await notified([team], () => here.open(3));
    await notified([team], () => other.open(4));
  }));

Deno.test("notifier: a watch whose connection is lost is opened again", () =>
  withPolls(async () => {
    await using server = await KvServer.start();
    await using here = await Instance.open(server);
    await using other = await Instance.open(server);
    using team = here.watch(TEAM);
    await notified([team]);
    for (let n = 1; n <= 3; n++) {
      // Also a commit while the watch is not open notifies.
      await notified([team], () => {
        server.watches.end(new Error("the connection is lost"));
        return other.open(n);
      });
    }
    assertEquals(server.counts.watches, 4);
  }));

Deno.test("notifier: teams share watches of 10 keys, and no watch is left after the stop", () =>
  withPolls(async () => {
    await using server = await KvServer.start();
    await using other = await Instance.open(server);
    const here = await Instance.open(server);
    const watches = Array.from({ length: 25 }, (_, n) => here.watch(teamOf(n)));
    await notified(watches);
    await server.watches.until(3);
    for (const n of [0, 12, 24]) {
      await notified(watches.slice(n, n + 1), () => other.open(n, teamOf(n)));
    }
    await here.updater.notifier.stop();
    await server.watches.until(0);
    for (const watch of watches) watch[Symbol.dispose]();
    // A late long poll of a stopping service opens none.
    here.watch(TEAM)[Symbol.dispose]();
    await here[Symbol.asyncDispose]();
    await server.watches.until(0);
  }));

Deno.test("notifier: a team that is watched again needs no further watch", () =>
  withPolls(async () => {
    await using server = await KvServer.start();
    await using here = await Instance.open(server);
    await using other = await Instance.open(server);
    const first = here.watch(TEAM);
    await notified([first]);
    for (let n = 1; n <= 5; n++) {
      using again = here.watch(TEAM);
      if (n === 1) first[Symbol.dispose]();
      await notified([again], () => other.open(n));
    }
    assertEquals(server.counts.watches, 1);
  }));

Deno.test("notifier: teams beyond 100 are polled, until others leave their place", () =>
  withPolls(async (poll) => {
    await using server = await KvServer.start();
    await using here = await Instance.open(server);
    await using other = await Instance.open(server);
    const watches = Array.from({ length: 100 }, (_, n) => here.watch(teamOf(n)));
    await notified(watches);
    await server.watches.until(10);
    const last = here.watch(teamOf(100));
    await notified([last], poll);
    await notified([last], () => other.open(1, teamOf(100)).then(poll));
    last[Symbol.dispose]();
    watches.pop()?.[Symbol.dispose]();
    using again = here.watch(teamOf(100));
    await notified([again]);
    await notified([again], () => other.open(2, teamOf(100)));
    await server.watches.until(10);
    for (const watch of watches) watch[Symbol.dispose]();
  }));

Deno.test("notifier: while a watch fails, polls notify; it is opened again", () =>
  withPolls(async (poll) => {
    await using server = await KvServer.start();
    server.knobs.refusesWatches = true;
    await using here = await Instance.open(server);
    await using other = await Instance.open(server);
    using team = here.watch(TEAM);
    await notified([team], poll);
    for (let n = 1; n <= 10; n++) {
      if (n === 5) server.knobs.refusesWatches = false;
      await notified([team], () => other.open(n).then(poll));
    }
    await server.watches.until(1);
    await notified([team], () => other.open(11));
  }));
