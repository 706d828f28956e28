/** Service under attack: a separate process with little memory, an operator and two teams. */
import { Memory } from "../../../runtime/memory.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import type { Tier } from "../../../domain/teams/plans.ts";
import { openStore } from "../../../kv/open.ts";
import type { Store } from "../../../kv/store.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { type Ended, type Launcher, Process } from "../../support/harness/process.ts";
import type { Target } from "./attacker.ts";
import type { MemoryGroup } from "./cgroup.ts";

/** Memory flags of a small machine, in addition to those of `deno task start`. */
const V8_FLAGS = "--heap-growing-percent=60,--max-old-space-size=512";

/** A team and one of its keys, with every scope. */
interface Team {
  readonly id: TeamId;
  readonly key: string;
}

/** Writes the log to a file: reading it line by line would take processor time from the service. */
const START = 'exec "$@" >>"$0"';
const START_IN_GROUP = 'group=$1; shift; echo $$ >"$group" && exec "$@" >>"$0"';

/** A ledger in a folder and the process that serves it. Always `await using`. */
export class Ledger implements AsyncDisposable {
  #process: Process;

  private constructor(
    private readonly folder: string,
    private readonly group: MemoryGroup | null,
    process: Process,
    readonly attacker: Team,
    readonly victim: Team,
  ) {
    this.#process = process;
  }

  /** Starts a service over an empty file and creates both teams. */
  static async create(folder: string, group: MemoryGroup | null): Promise<Ledger> {
    const process = await start(folder, group);
    // The attacker sorts first in lists of teams, which favors it wherever teams are served in
    // order.
    const [attacker, victim] = [await createTeam(process.url), await createTeam(process.url)]
      .sort((a, b) => a.id < b.id ? -1 : 1);
    if (attacker === undefined || victim === undefined) throw new Error("There are no teams");
    return new Ledger(folder, group, process, attacker, victim);
  }

  get process(): Process {
    return this.#process;
  }

  /** Returns the address and credential for a team's requests. */
  target({ key }: Team): Target {
    return { url: this.#process.url, key };
  }

  /** Sets the plan of the attacking team. */
  async putAttackerOn(tier: Tier): Promise<void> {
    await operate(this.#process.url, "PATCH", `/v1/teams/${this.attacker.id}`, { tier });
  }

  /** Stops the service, lets `between` write to its file, and restarts it. */
  async restart(between?: (store: Store, team: TeamId) => Promise<void>): Promise<void> {
    await this.#process.stop();
    if (between !== undefined) {
      const store = await openStore(fileIn(this.folder), new Memory());
      await between(store, this.attacker.id);
      await store.close();
    }
    this.#process = await start(this.folder, this.group);
  }

  /** Stops the service as an operator does. */
  async stop(): Promise<Ended> {
    return await this.#process.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}

function fileIn(folder: string): string {
  return `${folder}/ledger.kv`;
}

async function start(folder: string, group: MemoryGroup | null): Promise<Process> {
  const log = `${folder}/log.ndjson`;
  const launcher: Launcher = group === null
    ? ["sh", "-c", START, log]
    : ["sh", "-c", START_IN_GROUP, log, group.processes];
  return await Process.startBy(launcher, {
    RUNLEDGER_KV: fileIn(folder),
    RUNLEDGER_OPERATOR_KEY: OPERATOR_KEY,
    DENO_V8_FLAGS: V8_FLAGS,
  });
}

async function createTeam(url: string): Promise<Team> {
  const { id, key } = await operate(url, "POST", "/v1/teams", { name: "Acme", tier: "business" });
  return { id, key: key.secret };
}

async function operate(url: string, method: string, path: string, body: unknown) {
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}` };
  const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }
  return await response.json();
}
