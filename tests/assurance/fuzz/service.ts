/** Runs the service in a separate process and observes it from outside. */
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { type OpenStore, openUnlocked } from "../../../kv/open.ts";
import { eachRow } from "../../../kv/store.ts";
import { KEY } from "../../support/harness/harness.ts";
import { Process } from "../../support/harness/process.ts";

/** Maximum milliseconds for pending work, and the poll interval. */
const FINAL_MS_MAX = 30_000, POLL_MS = 50;

/**
 * Families of keys that change without a request: the clock, monitors whose deadline has passed, what
 * the looks at rules and silences change, in turn with roll-ups, and deliveries. Any request may update
 * the last use of a session, every half hour.
 */
const CHANGED_BY_TIME: ReadonlySet<unknown> = new Set([
  ..."session clock work monitor flip rollup_version alert alert_state incident".split(" "),
  ..."incident_at open_incident delivery delivery_at dead_delivery delivery_queue channel_health"
    .split(" "),
]);

/** A running service over an empty file. Always `await using`. */
export class Service implements AsyncDisposable {
  /** Log lines that show a failure; the complete log would be too long to keep. */
  readonly failures: readonly string[];
  readonly #process: Process;
  readonly #store: OpenStore;

  private constructor(process: Process, store: OpenStore, failures: readonly string[]) {
    this.#process = process;
    this.#store = store;
    this.failures = failures;
  }

  /** Starts the service for a team without a rate limit, which would hide everything else. */
  static async start(folder: string): Promise<Service> {
    const file = `${folder}/fuzz.kv`;
    const settings = {
      HOST: "127.0.0.1",
      RUNLEDGER_KV: file,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_TIER: "enterprise",
      RUNLEDGER_REGION: "eu",
    };
    const failures: string[] = [];
    const process = await Process.startLogging(settings, (line) => {
      if (/"failure"|"status":5/.test(line)) failures.push(line);
    });
    return new Service(process, await openUnlocked(file), failures);
  }

  get url(): string {
    return this.#process.url;
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Signs in to the dashboard and stores an agent; returns the session cookie. */
  async signIn(): Promise<string> {
    const beat = { agent: "researcher", status: "ok" };
    const headers = { Authorization: `Bearer ${KEY}`, "Sec-Fetch-Site": "same-origin" };
    const [stored, signedIn] = await Promise.all([
      fetch(`${this.url}/v1/heartbeats`, { method: "POST", headers, body: JSON.stringify(beat) }),
      fetch(`${this.url}/dashboard/sign-in`, {
        method: "POST",
        headers,
        body: new URLSearchParams({ key: KEY }),
        redirect: "manual",
      }),
    ]);
    await Promise.all([stored.body?.cancel(), signedIn.body?.cancel()]);
    if (!stored.ok) throw new Error(`No agent could be stored: ${stored.status}`);
    return (signedIn.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  }

  /**
   * Returns the version of every key once no work is pending. Rewriting an equal value changes the
   * version too, so equal results prove that nothing was written.
   */
  async finalVersions(): Promise<Versions> {
    const endMs = performance.now() + FINAL_MS_MAX;
    for (let before: Versions | null = null;;) {
      const now: Versions | null = await this.#isBusy() ? null : await this.#versions();
      if (now !== null && before !== null && changed(before, now).length === 0) return now;
      if (performance.now() > endMs) throw new Error("The service still has pending work");
      before = now;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async #isBusy(): Promise<boolean> {
    for await (const _ of eachRow(this.#store, { prefix: keys.pendingMarks() })) return true;
    for (const prefix of [keys.work("run"), keys.work("back")]) {
      for await (const { key } of eachRow(this.#store, { prefix })) {
        // The usage of a minute is counted at its end.
        if (keyParts.work(key).kind !== "quota") return true;
      }
    }
    return false;
  }

  async #versions(): Promise<Versions> {
    const versions = new Map<string, string>();
    for await (const { key, versionstamp } of eachRow(this.#store, { prefix: [] })) {
      if (CHANGED_BY_TIME.has(key[0])) continue;
      versions.set(JSON.stringify(key.map(String)), versionstamp);
    }
    return versions;
  }

  /** The store, for reads while the service runs. */
  get store(): OpenStore {
    return this.#store;
  }

  /** Stops the service as an operator does; returns its exit code. */
  async stop(): Promise<number> {
    return (await this.#process.stop()).code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await this.#store.close();
  }
}

type Versions = ReadonlyMap<string, string>;

/** Returns the keys written or deleted between two snapshots. */
export function changed(before: Versions, after: Versions): string[] {
  const written = [...after].filter(([key, version]) => before.get(key) !== version);
  const deleted = [...before.keys()].filter((key) => !after.has(key));
  return [...written.map(([key]) => key), ...deleted].filter((key) =>
    !WRITTEN_BEHIND.some((family) => key.startsWith(family))
  );
}

/** Any request may update these last uses and counts, once a minute. */
const WRITTEN_BEHIND = ['["credential_use",', '["product_use",', '["refusal",'];
