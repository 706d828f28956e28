/** A service with three teams, their responses, and their stored data. */
import { decodeResults } from "../../../kv/base/codec_checks.ts";
import { decodeMonitor } from "../../../kv/base/codec_monitors.ts";
import { decodeIncident, decodeInstance } from "../../../kv/alerts/rows.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { createRequestLimits } from "../../../runtime/rate_limit.ts";
import type { Tier } from "../../../domain/teams/plans.ts";
import { isBlock, unpackBlock } from "../../../kv/index/entries.ts";
import { type Answer, Harness, NOON } from "../../support/harness/harness.ts";
import { REPRICE } from "../../support/builders/reprice.ts";
import { callOf, type Kind, type NameOf, NEVER, type Step } from "./calls.ts";

/** Milliseconds of the service's clock between two calls of the observed team. */
const PACE_MS = 1_000;

/** A team, its objects and its responses. */
class Member {
  readonly made: Record<Kind, string[]> = { key: [], rate: [], job: [] };
  /** The first key, and the most recent one. */
  secret: string;
  readonly answers: string[] = [];

  constructor(readonly team: Team, readonly firstKey: string) {
    this.secret = firstKey;
  }
}

/** The service. Always `await using`. */
export class World implements AsyncDisposable {
  readonly members: Member[] = [];
  readonly #harness: Harness;

  private constructor(harness: Harness, readonly observed: number) {
    this.#harness = harness;
  }

  /** Starts a service with one team per plan, one of which is observed. */
  static async open(tiers: readonly Tier[], observed: number): Promise<World> {
    let harness: Harness | null = null;
    // One clock for everything, advanced by the observed team's calls alone.
    const limits = createRequestLimits(() => (harness?.nowMs ?? NOON) - NOON);
    harness = await Harness.open({ deps: { limits } });
    const world = new World(harness, observed);
    for (const tier of tiers) {
      const { team, key } = await harness.addTeam(tier);
      world.members.push(new Member(team, key));
    }
    return world;
  }

  /** Makes calls in parallel, and waits until their background work is done. */
  async act(calls: readonly (readonly [member: number, step: Step])[]): Promise<void> {
    if (calls.some(([member]) => member === this.observed)) this.#harness.nowMs += PACE_MS;
    await Promise.all(calls.map(([member, step]) => this.#call(member, step)));
    await this.#harness.worker.idle();
    // Evaluations of alert rules; what they close is processed too.
    await this.#harness.work.idle();
    await this.#harness.worker.idle();
    await this.#harness.work.idle();
    // Acknowledgements read what budgets judge in the background.
    await this.#harness.guard.idle();
  }

  async #call(number: number, step: Step): Promise<void> {
    const member = this.#member(number);
    const { method, path, ...options } = callOf(step, this.#nameOf(member));
    // Sometimes with the most recent key, which may be revoked by now.
    const key = step.n % 4 === 0 ? member.secret : member.firstKey;
    const answer = await this.#harness.request(method, path, { ...options, key });
    const isJob = step.call === "reprice" && answer.status < 300;
    const result = isJob ? await this.#finished(answer, member) : answer;
    member.answers.push(`${step.call} → ${answer.status} ${textOf(result)}`);
    if (answer.status >= 300) return;
    if (step.call === "newKey" || step.call === "newToken") {
      member.made.key.push(answer.json.id);
      member.secret = answer.json.secret;
    }
    if (step.call === "putRate") member.made.rate.push(answer.json.id);
    if (step.call === "reprice") member.made.job.push(answer.json.id);
  }

  #member(number: number): Member {
    const member = this.members[number];
    if (member === undefined) throw new RangeError(`There is no team ${number}`);
    return member;
  }

  /** Returns a finished job: on a busy machine its call returns before the job ends. */
  async #finished(answer: Answer, { firstKey }: Member): Promise<Answer> {
    const path = `${REPRICE}/${answer.json.id}`;
    return await this.#harness.getFinal(path, { key: firstKey });
  }

  /**
   * Names an object of the member or of another member; without any, an object that never existed.
   */
  #nameOf(member: Member): NameOf {
    return (kind, { n, foreign }) => {
      const otherMembers = this.members.filter((candidate) => candidate !== member);
      const owners = foreign ? otherMembers : [member];
      const names = owners.flatMap(({ made }) => made[kind]);
      return names[n % names.length] ?? NEVER[kind];
    };
  }

  /** Returns the team's responses in order; generated names are numbered in order of appearance. */
  answers(): string[] {
    return new Names().mask(this.#member(this.observed).answers);
  }

  /** Returns the stored data of the team. */
  async stored(): Promise<string[]> {
    const member = this.#member(this.observed);
    const rows: string[] = [];
    for await (const row of this.#harness.store.reader.list({ prefix: [] })) {
      const { key, value } = row;
      const owner = (value as { team?: unknown } | null)?.team;
      if (!key.includes(member.team.id) && owner !== member.team.id) continue;
      rows.push(rowText(row).replaceAll(member.team.id, "TEAM"));
    }
    const names = new Names();
    // The responses contain nearly all names, in a deterministic order.
    names.mask(member.answers);
    // Incidents are in no response, and those of one instant are stored in a random order.
    const plain = (row: string) => row.replace(MINTED, "NAME");
    return names.mask(rows.sort((a, b) => plain(a) < plain(b) ? -1 : 1)).sort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#harness[Symbol.asyncDispose]();
  }
}

/** Formats a row without the hashes of secrets, which are random. */
function rowText(row: Deno.KvEntry<unknown>): string {
  const { key, value } = row;
  // Packed and compressed ids cannot be masked.
  if (isBlock(key)) return `${inspect(key)} ${inspect(unpackBlock(row))}`;
  if (key[0] === "run" && key[3] === "checks") {
    return `${inspect(key)} ${inspect(decodeResults(value))}`;
  }
  if (key[0] === "incident") return `${inspect(key)} ${inspect(decodeIncident(value))}`;
  if (key[0] === "alert") return `${inspect(key)} ${inspect(decodeInstance(value))}`;
  // A monitor is due by its creation or by a later arrival, whichever is stored first: a later
  // deadline moves no row.
  if (key[0] === "work" && key[3] === "monitor") return inspect(key.toSpliced(2, 1));
  if (key[0] === "monitor") {
    return `${inspect(key)} ${inspect({ ...decodeMonitor(value), dueAt: 0 })}`;
  }
  if (key[0] === "credential") return `credential HASH ${inspect(value)}`;
  return `${inspect(key)} ${key[0] === "team_credential" ? "HASH" : inspect(value)}`;
}

/** Formats a value; most stored bytes are text themselves. */
function inspect(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder("latin1").decode(value);
  return Deno.inspect(value, {
    depth: 20,
    iterableLimit: Infinity,
    strAbbreviateSize: Infinity,
    // The numbers of rules are stored in the order in which they fired.
    sorted: true,
  });
}

/** Formats a response without the parts that are unique to the exchange, or that hash names. */
function textOf({ status, headers, text }: Answer): string {
  const stableHeaders = [...headers].filter(([name]) =>
    !["date", "x-request-id", "etag"].includes(name)
  );
  return `${status} ${JSON.stringify(stableHeaders)} ${text}`;
}

/**
 * Names that the service generates: ids of keys, monitors, incidents, deliveries and what is
 * configured, secrets, run ids with a UUIDv7, and ULIDs.
 */
const MINTED =
  /(?:key|apk|ping|mon|rul|sil|chn|chk|grl|gps|gck|jdg|inc|whd)_eu_[0-9a-f]{32}|run_eu_[0-9a-f]{12}7[0-9a-f]{19}|01[0-9A-HJKMNP-TV-Z]{24}/g;

/** Generated names in order of appearance. */
class Names {
  readonly #known = new Map<string, number>();

  mask(lines: readonly string[]): string[] {
    return lines.map((line) =>
      line.replace(MINTED, (name) => {
        const number = this.#known.get(name) ?? this.#known.size + 1;
        this.#known.set(name, number);
        return `NAME ${number}`;
      })
    );
  }
}
