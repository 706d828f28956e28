/** Generator of requests to every route: valid ones, and valid ones with a few corruptions. */
import { writeObject } from "../../../domain/core/raw_json.ts";
import type { Random } from "../../../tools/random.ts";
import { eventId, runId } from "../../support/builders/requests.ts";
import { oddId, oddInstant, oddJson, oddQueryValue } from "./values.ts";

/**
 * Members of an object, each value as JSON text, so that values no JavaScript object can hold fit.
 */
type Members = [key: string, json: string][];

/** A request before serialization. */
export interface Draft {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** Names and values, percent-encoded. */
  readonly query: [name: string, value: string][];
  readonly text: string | null;
  readonly patient?: boolean;
}

/** A small set of ids and names, so that requests meet stored objects and the store stays small. */
export const NAMES = {
  runs: { from: 1_001, to: 1_400 },
  agents: ["researcher", "nightly", "writer", "a/b", "\u00fcber"],
} as const;
const { runs: RUNS, agents: AGENTS } = NAMES;
const EVENTS = 200;
const MODELS = ["gpt-4o", "claude-haiku-4-5", "atlas-70b", "gpt-4o-next"] as const;
const DAYS = ["2026-01-02", "2026-01-03", "2026-02-28"] as const;

export class Drafts {
  readonly #random: Random;
  /** Possible numbers of corruptions per object. */
  readonly #harms: readonly [number, ...number[]];

  /** @param harmless true if all requests are valid */
  constructor(random: Random, harmless: boolean) {
    this.#random = random;
    this.#harms = harmless ? [0] : [0, 1, 1, 1, 2, 3];
  }

  /** Draws a request to any route. */
  next(): Draft {
    return this.#random.pick<() => Draft>([
      () => this.#post("/v1/runs", this.#object(this.#opening())),
      () => this.#post("/v1/runs", this.#object(this.#opening())),
      () => this.#post(`/v1/runs/${this.#run()}/events`, this.#batch()),
      () => this.#post(`/v1/runs/${this.#run()}/events`, this.#batch()),
      () => this.#post(`/v1/runs/${this.#run()}/finish`, this.#object(this.#finish())),
      () => this.#post("/v1/heartbeats", this.#object(this.#heartbeat())),
      () => this.#post("/v1/keys", this.#badKey()),
      () => ({ ...this.#post("/v1/rate-card", this.#object(this.#rate())), method: "PUT" }),
      () => this.#reprice(),
      () => this.#get("/v1/ping", this.#ping()),
      () => this.#get("/v1/ping", this.#ping()),
      () => this.#read(),
      () => this.#read(),
      () => this.#delete(),
    ])();
  }

  #post(path: string, text: string): Draft {
    return { method: "POST", path, query: this.#query({}), text };
  }

  #get(path: string, query: Record<string, string>): Draft {
    const method = this.#random.chance(0.1) ? "HEAD" : "GET";
    return { method, path, query: this.#query(query), text: null };
  }

  #read(): Draft {
    const random = this.#random;
    const range = { from: random.pick(DAYS), to: "2026-03-01" };
    const page = { events_limit: String(random.int(1, 20)) };
    const limit = String(random.int(1, 5));
    return random.pick<() => Draft>([
      () => this.#get(`/v1/runs/${this.#run()}`, page),
      () => this.#get(`/v1/runs/${this.#run()}/cost`, page),
      () => this.#get("/v1/runs", { limit, has: "unpriced", agent: random.pick(AGENTS) }),
      () => this.#get("/v1/runs", { limit, q: "0a", min_cost_usd: "0.5", ...range }),
      () => this.#get("/v1/keys", {}),
      () => this.#get("/v1/rate-card", { limit, model: random.pick(MODELS) }),
      () => this.#get("/v1/rate-card/match", { model: random.pick(MODELS), provider: "openai" }),
      () => this.#get("/v1/rate-card/reprice", {}),
      () => this.#get(`/v1/rate-card/reprice/${this.#id("01KAK7ZJ5V76GRSDBZG2T155Y0")}`, {}),
      () => this.#get("/v1/agents", { sort: random.pick(["agent", "last_seen"]), limit }),
      () => this.#get(`/v1/agents/${encodeURIComponent(random.pick(AGENTS))}`, {}),
      () => this.#get("/v1/spend", { ...range, group_by: random.pick(["day", "agent", "model"]) }),
      () => this.#get("/v1/spend/unpriced", range),
      () => this.#get("/v1/usage", { month: "2026-01" }),
      () => this.#get(random.pick(["/healthz", "/readyz"]), {}),
    ])();
  }

  #delete(): Draft {
    const id = this.#random.chance(0.5)
      ? `/v1/keys/${this.#id(`key_eu_${"0".repeat(32)}`)}`
      : `/v1/rate-card/${this.#id(`rate_${"0".repeat(26)}`)}`;
    return { method: "DELETE", path: id, query: [], text: null };
  }

  /**
   * Rarely a valid one: a repricing blocks its caller and costs more than thousands of other calls.
   */
  #reprice(): Draft {
    const body = { model: this.#random.pick(MODELS), from: this.#instant(), dry_run: true };
    const members = membersOf(body);
    if (this.#random.chance(0.99)) {
      members.push(["dry_run", this.#random.pick(["1", '"true"', "{}"])]);
    }
    return { ...this.#post("/v1/rate-card/reprice", this.#object(members)), patient: true };
  }

  #opening(): Members {
    return membersOf({
      id: runId(this.#random.int(RUNS.from, RUNS.to)),
      agent: this.#random.pick(AGENTS),
      started_at: this.#instant(),
      customer_id: "acme",
      feature: "search",
      metadata: { env: "prod", n: 1 },
      goal: "find",
      idle_timeout_seconds: 60,
    });
  }

  #finish(): Members {
    const finished_at = this.#instant();
    const status = this.#random.pick(["success", "failed", "timeout", "cancelled"]);
    return membersOf({ status, finished_at, output: { a: [1] }, scores: { good: true, n: 0.5 } });
  }

  #heartbeat(): Members {
    return membersOf({ ...this.#ping(), input_tokens: 12, output_tokens: 3, metadata: { a: "b" } });
  }

  #ping(): Record<string, string> {
    return {
      id: runId(this.#random.int(RUNS.from, RUNS.to)),
      agent: this.#random.pick(AGENTS),
      status: this.#random.pick(["ok", "fail", "timeout", "start"]),
      started_at: this.#instant(),
      model: this.#random.pick(MODELS),
    };
  }

  #batch(): string {
    const count = this.#random.chance(0.02) ? 51 : this.#random.int(0, 4);
    const items = Array.from({ length: count }, () => this.#event());
    return this.#object([["events", `[${items.join(",")}]`]], 0.2);
  }

  #event(): string {
    const data = membersOf({
      provider: "openai",
      model: this.#random.pick(MODELS),
      input_tokens: 9,
    });
    const type = this.#random.pick(["llm_call", "log", "tool_call", "custom"]);
    const event = { id: eventId(this.#random.int(1, EVENTS)), type, ts: this.#instant(), turn: 1 };
    return this.#object([...membersOf(event), ["data", this.#object(data, 0.3)]], 0.4);
  }

  #rate(): Members {
    const model = this.#random.pick(MODELS);
    const rates = { input_usd_per_million: 2.5, output_usd_per_million: 10 };
    const tiers = [{ above_input_tokens: 1_000, ...rates }];
    return membersOf({ provider: "openai", model, effective_from: null, ...rates, tiers });
  }

  /** Always invalid: each valid one would add a credential to the lists. */
  #badKey(): string {
    const kind = this.#random.pick(["opk", "", "API_KEY"]);
    return this.#object(membersOf({ kind, name: "", scopes: ["ingest", "root"] }));
  }

  #object(members: Members, chance = 1): string {
    let harms = this.#random.chance(chance) ? this.#random.pick(this.#harms) : 0;
    for (; harms > 0 && members.length > 0; harms--) harm(this.#random, members);
    return writeObject(members);
  }

  #query(query: Record<string, string>): [string, string][] {
    const pairs = Object.entries(query)
      .map(([name, value]): [string, string] => [name, encodeURIComponent(value)]);
    let harms = this.#random.pick(this.#harms);
    for (; harms > 0 && pairs.length > 0; harms--) {
      const at = this.#random.int(0, pairs.length - 1);
      const [name] = pairs[at] ?? [""];
      if (this.#random.chance(0.2)) pairs.splice(at, 1);
      else pairs[at] = [name, oddQueryValue(this.#random)];
    }
    return pairs;
  }

  #instant(): string {
    return `${this.#random.pick(DAYS)}T0${this.#random.int(0, 9)}:00:00.000Z`;
  }

  #run(): string {
    return this.#id(runId(this.#random.int(RUNS.from, RUNS.to)));
  }

  /** Returns an id for a path, sometimes a malformed one. */
  #id(id: string): string {
    const isOdd = this.#harms.length > 1 && this.#random.chance(0.3);
    return isOdd ? encodeURIComponent(oddId(this.#random, id).toWellFormed()) : id;
  }
}

function membersOf(fields: Record<string, unknown>): Members {
  return Object.entries(fields).map(([key, value]) => [key, JSON.stringify(value)]);
}

const ODD_KEYS = ["__proto__", "constructor", "", "id ", "currency", "dryRun", "\ud800"] as const;

function harm(random: Random, members: Members): void {
  const at = random.int(0, members.length - 1);
  const [key, json] = members[at] ?? ["", ""];
  random.pick<() => void>([
    () => members[at] = [key, oddJson(random)],
    () => members[at] = [key, oddJson(random)],
    () => members[at] = [key, JSON.stringify(nearly(random, json))],
    () => members[at] = [key, JSON.stringify(nearly(random, json))],
    () => members[at] = [key, "null"],
    () => members[at] = [key.toUpperCase(), json],
    () => members.splice(at, 1),
    () => members.push([key, oddJson(random)]),
    () => members.unshift([random.pick(ODD_KEYS), oddJson(random)]),
  ])();
}

/** Returns a text that resembles a member's value. */
function nearly(random: Random, json: string): string {
  const value: unknown = JSON.parse(json);
  if (typeof value !== "string") return String(value);
  if (/^\d{4}-/.test(value)) return oddInstant(random);
  return /^[a-z]{3}_/.test(value)
    ? oddId(random, value)
    : random.pick([`${value} `, "", value + "\0"]);
}
