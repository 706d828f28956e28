/** A service with three teams, what each of them is told, and what is stored of each. */
import type { Team } from "../../../domain/teams/team.ts";
import { createRequestLimits } from "../../../domain/teams/rate_limit.ts";
import type { Tier } from "../../../domain/teams/plans.ts";
import { type Answer, Harness, NOON } from "../../support/harness/harness.ts";
import { REPRICE } from "../../support/builders/reprice.ts";
import { callOf, type Kind, type NameOf, NEVER, type Step } from "./calls.ts";

/** Milliseconds between two calls of the team that is looked at, by the service's clock. */
const PACE_MS = 1_000;

/** A team, what it has made, and what it was told. */
class Member {
  readonly made: Record<Kind, string[]> = { key: [], rate: [], job: [] };
  /** The first key, and the last that was made. */
  secret: string;
  readonly told: string[] = [];

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

  /** Starts a service with a team on each of some plans, one of which is looked at. */
  static async open(tiers: readonly Tier[], observed: number): Promise<World> {
    let harness: Harness | null = null;
    // One clock for everything, moved by the calls of that team alone.
    const limits = createRequestLimits(() => (harness?.nowMs ?? NOON) - NOON);
    harness = await Harness.open({ deps: { limits } });
    const world = new World(harness, observed);
    for (const tier of tiers) {
      const { team, key } = await harness.addTeam(tier);
      world.members.push(new Member(team, key));
    }
    return world;
  }

  /** Makes calls at once, and waits until what follows from them is done. */
  async act(calls: readonly (readonly [member: number, step: Step])[]): Promise<void> {
    if (calls.some(([member]) => member === this.observed)) this.#harness.nowMs += PACE_MS;
    await Promise.all(calls.map(([member, step]) => this.#call(member, step)));
    await this.#harness.worker.idle();
  }

  async #call(number: number, step: Step): Promise<void> {
    const member = this.#member(number);
    const { method, path, ...options } = callOf(step, this.#nameOf(member));
    // Now and then with the key that was made last, which may be revoked by now.
    const key = step.n % 4 === 0 ? member.secret : member.firstKey;
    const answer = await this.#harness.request(method, path, { ...options, key });
    const isJob = step.call === "reprice" && answer.status < 300;
    const told = isJob ? await this.#finished(answer, member) : answer;
    member.told.push(`${step.call} → ${answer.status} ${textOf(told)}`);
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

  /** A job once it is done: on a busy machine its call is answered before. */
  async #finished(answer: Answer, { firstKey }: Member): Promise<Answer> {
    const path = `${REPRICE}/${answer.json.id}`;
    return await this.#harness.getSettled(path, { key: firstKey });
  }

  /** Own names, or those of the others; a name that never was where there is none. */
  #nameOf(member: Member): NameOf {
    return (kind, { n, foreign }) => {
      const others = this.members.filter((each) => each !== member);
      const owners = foreign ? others : [member];
      const names = owners.flatMap(({ made }) => made[kind]);
      return names[n % names.length] ?? NEVER[kind];
    };
  }

  /** What the team was told, in order; names that are minted are told by the order they came in. */
  told(): string[] {
    return new Names().mask(this.#member(this.observed).told);
  }

  /** What is stored of the team. */
  async stored(): Promise<string[]> {
    const member = this.#member(this.observed);
    const rows: string[] = [];
    for await (const { key, value } of this.#harness.store.reader.list({ prefix: [] })) {
      const owner = (value as { team?: unknown } | null)?.team;
      if (!key.includes(member.team.id) && owner !== member.team.id) continue;
      rows.push(rowText(key, value).replaceAll(member.team.id, "TEAM"));
    }
    const names = new Names();
    // What was told names nearly all there is, in an order that does not depend on chance.
    names.mask(member.told);
    return names.mask(rows).sort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#harness[Symbol.asyncDispose]();
  }
}

/** A row as text, without the hashes of secrets, which are chance. */
function rowText(key: Deno.KvKey, value: unknown): string {
  if (key[0] === "credential") return `credential HASH ${inspect(value)}`;
  return `${inspect(key)} ${key[0] === "team_credential" ? "HASH" : inspect(value)}`;
}

/** A value as text; most of those stored as bytes are text themselves. */
function inspect(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder("latin1").decode(value);
  return Deno.inspect(value, { depth: 20, iterableLimit: Infinity, strAbbreviateSize: Infinity });
}

/** Everything of an answer but the names of this one exchange, and the hash of a text that has names. */
function textOf({ status, headers, text }: Answer): string {
  const kept = [...headers].filter(([name]) => !["date", "x-request-id", "etag"].includes(name));
  return `${status} ${JSON.stringify(kept)} ${text}`;
}

/** What the service mints: ids of keys, secrets, run ids of UUIDs of version 7, and ULIDs. */
const MINTED =
  /(?:key|apk|ping)_eu_[0-9a-f]{32}|run_eu_[0-9a-f]{12}7[0-9a-f]{19}|01[0-9A-HJKMNP-TV-Z]{24}/g;

/** Names that are minted, by the order in which they are met. */
class Names {
  readonly #known = new Map<string, number>();

  /** Replaces names in lines. */
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
