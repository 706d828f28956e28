/** A process on a store, without the rest of a service. */
import { createWorkStore, workOf } from "../../../kv/work/store.ts";
import type { Environment } from "../../../domain/core/environment.ts";
import type { Work } from "../../../domain/work/work.ts";
import type { ProcessingStore } from "../../../kv/summaries/processing_store.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { Store } from "../../../kv/store.ts";
import { TeamCommit } from "../../../kv/summaries/team_commit.ts";
import { createJudgeLater, type JudgeLater } from "../../../kv/checks/check_runs.ts";
import { createRunWork } from "../../../kv/runs/run_work.ts";
import { processAll, runsOf } from "../builders/stored_runs.ts";
import { NOON } from "./harness.ts";
import { processingOf } from "./stores.ts";

type Stamps = ConstructorParameters<typeof TeamCommit>[1];

/** One process with its own caches and a clock that the test moves. Two on one store act as two. */
export class StoreProcess {
  nowMs = NOON;
  readonly log: string[] = [];
  readonly runs: RunStore;
  readonly updater: TeamCommit;
  readonly pipeline: ProcessingStore;
  readonly now = (): number => this.nowMs;
  readonly environment: Environment = {
    now: this.now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };

  /** @param stampsOf what makes alerts of runs; nothing by default */
  constructor(readonly store: Store, stampsOf: (environment: Environment) => Stamps = () => null) {
    this.updater = new TeamCommit(store, stampsOf(this.environment));
    this.runs = runsOf(store);
    this.pipeline = processingOf(store, this.now, this.updater);
  }

  work(): Promise<void> {
    return processAll(this.store, this.pipeline);
  }

  dueRuns(nowMs = this.nowMs): Promise<readonly Work[]> {
    return createWorkStore(this.store, Infinity).take("run", nowMs);
  }

  /** Does the work on a run as the work loop does. */
  async workOn(
    row: Work,
    judge: JudgeLater = createJudgeLater({ changes: this.updater, now: this.now }),
  ): Promise<void> {
    const handler = createRunWork({
      store: this.store,
      project: this.pipeline.project,
      judge,
      onChanged: () => {},
      now: this.now,
      log: (line) => this.log.push(line),
    });
    const time = { nowMs: this.nowMs, absences: [], summarizedToMs: this.nowMs };
    await handler.handle([row], time, new AbortController().signal);
  }

  /** Returns the rows of deadlines up to a time. */
  async due(toMs = Number.MAX_SAFE_INTEGER): Promise<Work[]> {
    const range = keys.workTo("settled", toMs);
    return await Array.fromAsync(this.store.reader.list(range), workOf);
  }

  async values(prefix: Deno.KvKey): Promise<unknown[]> {
    return await Array.fromAsync(this.store.reader.list({ prefix }), ({ value }) => value);
  }

  async keysBelow(prefix: Deno.KvKey): Promise<Deno.KvKey[]> {
    return await Array.fromAsync(this.store.reader.list({ prefix }), ({ key }) => key);
  }
}
