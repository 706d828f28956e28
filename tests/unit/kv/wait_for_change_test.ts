/** Waits for a change: of this process, and of another one. */
import { assert, assertEquals } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { ReadScope } from "../../../domain/core/read_scope.ts";
import type { ChangeStore } from "../../../domain/feed/changes.ts";
import { keys } from "../../../kv/base/keys.ts";
import { READS, readScopes } from "../../../kv/base/reads.ts";
import { createChangeStore } from "../../../kv/feed/changes.ts";
import { getValue } from "../../../kv/store.ts";
import { ChangeNotifier, TeamCommit } from "../../../kv/summaries/team_commit.ts";
import { waitForChange } from "../../../routes/http/wait_for_change.ts";
import { open, processingStoreOf, run, runsOf, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { processingOf } from "../../support/harness/stores.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

/** The changes of a team whose store the test lets fail. */
class FakeChanges implements ChangeStore {
  isDown = false;
  reads = 0;
  #version = 0;
  #wasRead = Promise.withResolvers<void>();
  readonly #notifier = new ChangeNotifier();

  version(): Promise<string> {
    this.reads++;
    this.#wasRead.resolve();
    this.#wasRead = Promise.withResolvers();
    if (this.isDown) return Promise.reject(new StorageUnavailable("The test lets it fail"));
    return Promise.resolve(String(this.#version));
  }

  listen(...listener: Parameters<ChangeStore["listen"]>): Disposable {
    return this.#notifier.listen(...listener);
  }

  /** Commits in this process, or in another one. */
  commit(where: "here" | "elsewhere"): void {
    this.#version++;
    if (where === "here") this.#notifier.notify(TEAM.id, []);
  }

  /** Resolves after the next read. */
  untilRead(): Promise<void> {
    return this.#wasRead.promise;
  }

  page(): Promise<null> {
    return Promise.resolve(null);
  }

  last(): Promise<number> {
    return Promise.resolve(this.#version);
  }
}

/** A wait that counts its checks, and is done once the test says so. */
class Wait {
  readonly over = new AbortController();
  readonly isDone: Promise<boolean>;
  checks = 0;
  #isEnough = false;
  #checked = Promise.withResolvers<void>();

  constructor(changes: ChangeStore, waited: RunId | null) {
    const at = { team: TEAM.id, run: waited };
    this.isDone = waitForChange(changes, at, this.over.signal, () => {
      this.checks++;
      this.#checked.resolve();
      this.#checked = Promise.withResolvers();
      return Promise.resolve(this.#isEnough);
    });
  }

  /** Resolves after the next check. */
  checked(): Promise<void> {
    return this.#checked.promise;
  }

  /** Lets the next check succeed. */
  enough(): void {
    this.#isEnough = true;
  }
}

TempStore.test("wait: a commit of this process is checked for its team and its runs, and for no other", async ({ store }) => {
  const updater = new TeamCommit(store, null);
  const changes = createChangeStore(store, updater.notifier);
  const waits = [null, run(1), run(2)].map((waited) => new Wait(changes, waited));
  const [team, one, other] = waits as [Wait, Wait, Wait];
  await Promise.all(waits.map((wait) => wait.checked()));
  for (const wait of [team, one]) wait.enough();
  await open(runsOf(store), 1);
  await processingOf(store, () => NOON, updater).project(TEAM.id, [run(1)]);
  assertEquals(await Promise.all([team.isDone, one.isDone]), [true, true]);
  other.over.abort();
  assertEquals([await other.isDone, other.checks], [false, 1]);
});

Deno.test("wait: a commit of this process during a check is not missed; the end needs no read", async () => {
  const changes = new FakeChanges();
  // No read follows but those after a commit of this process.
  using _time = new FakeTime();
  let isDone = false;
  const never = new AbortController().signal;
  const wait = waitForChange(changes, { team: TEAM.id, run: null }, never, () => {
    const was = isDone;
    if (!isDone) changes.commit("here");
    isDone = true;
    return Promise.resolve(was);
  });
  assertEquals([await wait, changes.reads], [true, 2]);
  const endless = new Wait(changes, null);
  await endless.checked();
  endless.over.abort();
  assertEquals(await endless.isDone, false);
});

TempStore.test("wait: the commits of another process are found, failures of a run too", async ({ store }) => {
  const changes = createChangeStore(store, new ChangeNotifier());
  await open(runsOf(store), 1);
  const [team, one] = [new Wait(changes, null), new Wait(changes, run(1))];
  await Promise.all([team.checked(), one.checked()]);
  const opened = [team.checked(), one.checked()];
  await processingStoreOf(store).project(TEAM.id, [run(1)]);
  await Promise.all(opened);
  const staged = one.checked();
  await store.writer.commit({ sets: [{ key: keys.runFailure(TEAM.id, run(1)), value: true }] });
  await staged;
  for (const wait of [team, one]) wait.over.abort();
  assertEquals(await Promise.all([team.isDone, one.isDone]), [false, false]);
  assertEquals([team.checks, one.checks], [2, 3]);
});

TempStore.test("wait: polls need no read slot of the team, and are not counted as its reads", async ({ store }) => {
  const changes = createChangeStore(store, new ChangeNotifier());
  const end = Promise.withResolvers<void>();
  const slots = Array.from(
    { length: READS.file.team },
    () => store.reads.run(TEAM.id, () => end.promise),
  );
  const scope = new ReadScope(new AbortController().signal);
  await readScopes.run(scope, () => changes.version(TEAM.id, run(1)));
  assertEquals(scope.rows, 0);
  await readScopes.run(scope, () => getValue(store, keys.summary(TEAM.id, run(1))));
  assertEquals(scope.rows, 1);
  end.resolve();
  await Promise.all(slots);
});

Deno.test("wait: polls check nothing while nothing changes, and survive a store that fails", async () => {
  const changes = new FakeChanges();
  const wait = new Wait(changes, null);
  await wait.checked();
  changes.isDown = true;
  for (const _ of [1, 2]) await changes.untilRead();
  changes.isDown = false;
  await changes.untilRead();
  assertEquals(wait.checks, 1);
  wait.enough();
  changes.commit("elsewhere");
  assert(await wait.isDone);
  assertEquals(wait.checks, 2);
});
