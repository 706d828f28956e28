/** The service in a process of its own, and what can be known of it from outside. */
import { keys } from "../../../kv/base/keys.ts";
import { openBeside, type OpenStore } from "../../../kv/open.ts";
import { eachRow } from "../../../kv/store.ts";
import { KEY } from "../../support/harness/harness.ts";
import { Process } from "../../support/harness/process.ts";

/** How long what waits may take to be done, and how often it is looked at. */
const SETTLED_MS_MAX = 30_000, LOOK_MS = 50;

/** A running service over an empty file. Always `await using`. */
export class Service implements AsyncDisposable {
  /** Lines of the log that show a failure: the log is as long as the run, and is not kept. */
  readonly failures: readonly string[];
  readonly #process: Process;
  readonly #store: OpenStore;

  private constructor(process: Process, store: OpenStore, failures: readonly string[]) {
    this.#process = process;
    this.#store = store;
    this.failures = failures;
  }

  /** Starts it in a folder, for a team without a request rate: that would hide everything else. */
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
    return new Service(process, await openBeside(file), failures);
  }

  get url(): string {
    return this.#process.url;
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Signs in to the dashboard, as a browser does, with an agent to look at; answers the cookie. */
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
   * The version of every key, once nothing waits any more: writing a value again changes it too, so
   * that equal answers mean that nothing was written.
   */
  async settled(): Promise<Versions> {
    const endMs = performance.now() + SETTLED_MS_MAX;
    for (let before: Versions | null = null;;) {
      const now: Versions | null = await this.#isBusy() ? null : await this.#versions();
      if (now !== null && before !== null && changed(before, now).length === 0) return now;
      if (performance.now() > endMs) throw new Error("The service is not done with what it stored");
      before = now;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async #isBusy(): Promise<boolean> {
    for (const prefix of [keys.pendingMarks(), keys.dueStages(), keys.activeReprices()]) {
      for await (const _ of eachRow(this.#store, { prefix })) return true;
    }
    return false;
  }

  async #versions(): Promise<Versions> {
    const versions = new Map<string, string>();
    for await (const { key, versionstamp } of eachRow(this.#store, { prefix: [] })) {
      // That a session is in use is written down every half hour, whatever is asked with it.
      if (key[0] === "session") continue;
      versions.set(JSON.stringify(key.map(String)), versionstamp);
    }
    return versions;
  }

  /** The store, to be read beside the service. */
  get store(): OpenStore {
    return this.#store;
  }

  /** Stops it as an operator does; returns its exit code. */
  async stop(): Promise<number> {
    return (await this.#process.stop()).code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await this.#store.close();
  }
}

/** Versions by key. */
export type Versions = ReadonlyMap<string, string>;

/** Keys that were written or deleted between two looks. */
export function changed(before: Versions, after: Versions): string[] {
  const written = [...after].filter(([key, version]) => before.get(key) !== version);
  const deleted = [...before.keys()].filter((key) => !after.has(key));
  return [...written.map(([key]) => key), ...deleted].filter((key) =>
    !WRITTEN_BEHIND.some((family) => key.startsWith(family))
  );
}

/** Last uses and counts of refused calls are written once a minute, whatever is asked. */
const WRITTEN_BEHIND = ['["credential_use",', '["refusal",'];
