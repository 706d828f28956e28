/** Watchers of changes are notified of commits of this process and of other instances. */
import { assert } from "@std/assert";
import { Memory } from "../../../domain/core/memory.ts";
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

Deno.test("notifier: a commit of another process notifies within half a second", async () => {
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

Deno.test("notifier: commits of another instance on a shared KV notify its team and its runs", async () => {
  await using server = await KvServer.start();
  await using here = await Instance.open(server);
  await using other = await Instance.open(server);
  const never = new AbortController().signal;
  using team = here.watch(TEAM);
  using one = here.watch(TEAM, 1);
  const notified = (...watches: ChangeWatch[]) =>
    Promise.all(watches.map((watch) => watch.next(never)));
  // The first poll notifies: something may have changed before it.
  await notified(team, one);
  await Promise.all([notified(team, one), other.open(1)]);
  await Promise.all([notified(team), other.open(2)]);
  // A commit of this process before theirs hides nothing.
  await Promise.all([notified(team), here.open(3)]);
  await Promise.all([notified(team), other.open(4)]);
});
