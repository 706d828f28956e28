/** Dependencies and settings of a service. */
import type { Leadership } from "../runtime/loop.ts";
import type { Timers } from "../runtime/deadlines.ts";
import type { Mailer } from "../domain/core/mail.ts";
import type { MetricFamily } from "../runtime/metrics.ts";
import type { ModelCalls } from "../kv/judges/calls.ts";
import type { SealKeys } from "../kv/channels/seal.ts";
import type { StoreRefused } from "../kv/refused.ts";
import type { Store } from "../kv/store.ts";
import type { Egress } from "../outbound/http.ts";
import type { AppDeps } from "../routes/http/context.ts";

/** Dependencies and settings of a service. */
export interface ServiceOptions
  extends Pick<AppDeps, "environment" | "region" | "limits" | "draining" | "log"> {
  readonly store: Store;
  /** Monotonic clock and timers. */
  readonly timers: Timers;
  /** True if other instances may use the store; then one of them does the background work. */
  readonly isShared?: boolean;
  /** Decides without a lease whether this instance does the background work; it does when absent. */
  readonly leadership?: Leadership;
  /** Loads the sample runs; absent or null where there are none. */
  readonly loadSamples?: AppDeps["loadSamples"];
  /** True if no bell rings for the worker, so that it polls for work; as `isShared` when absent. */
  readonly pollsForWork?: boolean;
  /** Maximum milliseconds that a response may send nothing; no limit when absent. */
  readonly silentMsMax?: number;
  /** Milliseconds without a turn of the clock that are an absence; 60,000 when absent. */
  readonly clockGapMaxMs?: number;
  /** True under `deno task dev`. */
  readonly dev?: boolean;
  /** Secret that is refused even if it is stored. */
  readonly refusedSecret: string | null;
  /** The operator's key; null or absent for no operator. */
  readonly operatorKey?: string | null;
  /** Sign-in link for the dashboard on this machine; absent for none. */
  readonly signInLink?: AppDeps["signInLink"];
  /** Sends quota notices and alerts; null without a mail server. */
  readonly mailer: Mailer | null;
  /** Addresses that channels may call; none when absent. */
  readonly egress?: Egress;
  /** Calls models for judges; without it there are no connections. */
  readonly models?: ModelCalls;
  /** Origin of links in messages; null or absent for no links. */
  readonly publicUrl?: string | null;
  /** Key of the secrets of channels; without one none can be stored. */
  readonly sealKeys?: SealKeys;
  /** Metrics of the process; none when absent. */
  readonly processFamilies?: () => readonly MetricFamily[];
  /** Milliseconds the worker waits after a store failure; 1,000 when absent. */
  readonly failurePauseMs?: number;
  /**
   * Called once when a newer version has changed the format of a shared store. From then on each
   * call is refused, and no job works: the process should drain and end.
   */
  readonly onOtherFormat?: (error: StoreRefused) => void;
  /** Replaces dependencies, for fault injection in tests and for benchmark baselines. */
  readonly parts?: Partial<AppDeps>;
}
