/** Compares the default card with the package its prices come from: equal, or a listed reason. */
import {
  calcPrice,
  findProvider,
  type MatchLogic,
  type PriceCalculation,
} from "@pydantic/genai-prices";
import { assert, assertEquals } from "@std/assert";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import { priceOf } from "../../../domain/pricing/price.ts";
import { createRateCard } from "../../../domain/pricing/rate_card.ts";
import type { CallTokens, RateMatch } from "../../../domain/pricing/rates.ts";
import { Random } from "../../../tools/random.ts";

const CALLS = 100_000;
/** Tolerance: floating point is off by a few units in the last place; a wrong rate by far more. */
const TOLERANCE = 1e-9;

interface Call extends CallTokens {
  readonly provider: string | null;
  readonly model: string;
  readonly at: Date;
}

/** A call that the card and the package price differently, or that only one of them prices. */
interface Difference {
  readonly call: Call;
  readonly ours: RateMatch | null;
  readonly theirs: PriceCalculation | null;
  /** The package's price for the row's own provider and model. */
  readonly ofRow: PriceCalculation | null;
  /** True if that is our price: then only the search differs, not the card. */
  readonly rowAgrees: boolean;
}

/** Reason for an intended difference. The first that matches explains it. */
const REASONS: readonly {
  readonly name: string;
  /** Maximum share of all calls. */
  readonly shareMax: number;
  readonly holds: (difference: Difference) => boolean;
}[] = [
  {
    name: "only we take prefixes and suffixes off and write dots as dashes",
    shareMax: 0.2,
    holds: ({ ours, theirs, rowAgrees }) =>
      theirs === null && rowAgrees && ours !== null && ours.match !== "exact",
  },
  {
    name: "no provider named: the package knows only some makers by their models' names",
    shareMax: 0.12,
    holds: ({ call, theirs, rowAgrees }) => theirs === null && rowAgrees && leavesOpen(call),
  },
  {
    name: "no provider named: the package asks in another order",
    shareMax: 0.02,
    holds: ({ call, ours, theirs, rowAgrees }) =>
      theirs !== null && rowAgrees && leavesOpen(call) &&
      ours?.row.provider !== theirs.provider.id,
  },
  {
    name: "the package does not know a model by its id, only by other names",
    shareMax: 0.03,
    holds: ({ ours, theirs, ofRow }) => theirs === null && ours !== null && ofRow === null,
  },
  {
    name: "the package matches by pattern where the card has no such name",
    shareMax: 0.02,
    holds: ({ ours, theirs }) => ours === null && theirs !== null && hasPattern(theirs.model.match),
  },
  {
    name: "price by time of day: the card has the one that most of the day belongs to",
    shareMax: 0.01,
    holds: ({ ofRow }) => JSON.stringify(ofRow?.model.prices ?? "").includes("time_of_date"),
  },
  {
    name: "the package adds a fee for each request",
    shareMax: 0.01,
    holds: ({ ofRow }) => ofRow?.model_price.requests_kcount !== undefined,
  },
  {
    name: "a rate with more than 6 decimals",
    shareMax: 0.01,
    holds: ({ ofRow }) => hasMoreDecimals(ofRow?.model_price.cache_write_mtok),
  },
];

Deno.test("the default card prices 100,000 calls as the package does, except for listed reasons", () => {
  const random = new Random("oracle");
  const card = createRateCard([]);
  const counts = new Map<string, number>();
  const unexplained: string[] = [];
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  for (let n = 0; n < CALLS; n++) {
    const call = aCall(random);
    const ours = card.find(call.provider, call.model, call.at.getTime());
    const theirs = askPackage(call);
    if (theirs === null && ours === null) count("neither has a price");
    else if (ours !== null && theirs !== null && isSame(call, ours, theirs)) count("same price");
    else {
      const difference = compare(call, ours, theirs);
      const reason = REASONS.find(({ holds }) => holds(difference));
      if (reason !== undefined) count(reason.name);
      else unexplained.push(describe(difference));
    }
  }
  report(counts);
  assertEquals(unexplained.slice(0, 20), [], `${unexplained.length} unexplained differences`);
  for (const { name, shareMax } of REASONS) {
    const share = (counts.get(name) ?? 0) / CALLS;
    assert(share > 0, `"${name}" explains nothing any more`);
    assert(share <= shareMax, `"${name}" explains ${100 * share} % of all calls`);
  }
  assert((counts.get("same price") ?? 0) > 0.6 * CALLS);
});

function askPackage({ provider, model, at, ...tokens }: Call): PriceCalculation | null {
  const usage = {
    input_tokens: tokens.inputTokens,
    output_tokens: tokens.outputTokens,
    cache_read_tokens: tokens.cachedInputTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
  };
  return calcPrice(usage, model, {
    timestamp: at,
    ...provider === null ? {} : { providerId: provider },
  });
}

function compare(
  call: Call,
  ours: RateMatch | null,
  theirs: PriceCalculation | null,
): Difference {
  const ofRow = ours && askPackage({ ...call, provider: ours.row.provider, model: ours.row.model });
  const rowAgrees = ours !== null && ofRow !== null && isSame(call, ours, ofRow);
  return { call, ours, theirs, ofRow, rowAgrees };
}

function isSame(call: Call, { row }: RateMatch, { total_price: theirs }: PriceCalculation) {
  const ours = Number(priceOf(row, call)) / 1e12;
  return Math.abs(ours - theirs) <= TOLERANCE * Math.max(ours, theirs);
}

/** Generates a call to a model of the card under one of its names, decorated as clients do. */
function aCall(random: Random): Call {
  const row = DEFAULT_RATES.rows[random.int(0, DEFAULT_RATES.rows.length - 1)];
  assert(row !== undefined && row.provider !== null);
  const names = namesOf(row.provider, row.model);
  const model = decorate(random, names[random.int(0, names.length - 1)] ?? row.model, row.provider);
  const provider = random.chance(0.75)
    ? row.provider
    : random.pick([null, null, "litellm", aliasOf(random, row.provider)]);
  const inputTokens = someTokens(random, row.tiers.map((tier) => tier.aboveInputTokens));
  const cachedInputTokens = random.chance(0.5) ? random.int(0, inputTokens) : 0;
  const cacheWriteTokens = random.chance(0.3) ? random.int(0, inputTokens - cachedInputTokens) : 0;
  const outputTokens = random.int(0, 20_000);
  const at = new Date(Date.UTC(2024, 0, random.int(1, 1_150), random.int(0, 23), 17));
  return { provider, model, at, inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens };
}

const NAMES = new Map<string, string[]>();

function namesOf(provider: string, model: string): readonly string[] {
  if (NAMES.size === 0) {
    for (const [seller, byName] of DEFAULT_RATES.names) {
      for (const [name, [row]] of byName) {
        const key = `${seller} ${row?.model}`;
        NAMES.set(key, [...NAMES.get(key) ?? [], name]);
      }
    }
  }
  return NAMES.get(`${provider} ${model}`) ?? [];
}

function decorate(random: Random, name: string, provider: string): string {
  const form = random.int(0, 39);
  if (form === 0) return name.toUpperCase();
  if (form === 1) return ` ${name} `;
  if (form === 2) return `${name}-2026-02-03`;
  if (form === 3) return `${name}-20260203`;
  if (form === 4) return `${name}-latest`;
  if (form === 5) return `${provider}/${name}`;
  if (form === 6) return name.replaceAll(".", "-");
  if (form === 7) return `${name}-v1:0`;
  if (form === 8) return `${name}-x`;
  return name;
}

/** A name known to both, so that its providers can be compared. */
function aliasOf(random: Random, provider: string): string {
  const current = [...DEFAULT_RATES.aliases].filter(([alias, id]) =>
    id === provider && findProvider({ providerId: alias })?.id === provider
  );
  return current[random.int(0, current.length - 1)]?.[0] ?? provider;
}

function someTokens(random: Random, thresholds: readonly number[]): number {
  const threshold = thresholds[random.int(0, thresholds.length - 1)];
  if (threshold !== undefined && random.chance(0.5)) return threshold + random.int(-1, 1);
  return random.chance(0.5) ? random.int(0, 5_000) : random.int(0, 1_000_000);
}

function leavesOpen({ provider }: Call): boolean {
  return provider === null || provider === "litellm";
}

function hasPattern(match: MatchLogic): boolean {
  if ("or" in match) return match.or.some(hasPattern);
  return !("equals" in match);
}

function hasMoreDecimals(price: unknown): boolean {
  return typeof price === "number" && (String(price).split(".")[1] ?? "").length > 6;
}

function describe({ call, ours, theirs }: Difference): string {
  const { provider, model, at } = call;
  const mine = ours === null ? "none" : `${ours.row.id} by ${ours.match}`;
  const other = theirs === null ? "none" : `${theirs.provider.id}/${theirs.model.id}`;
  return `${provider} ${model} at ${at.toISOString()}: ours ${mine}, the package ${other}`;
}

function report(counts: ReadonlyMap<string, number>): void {
  // deno-lint-ignore no-console -- how often each reason applies is what a reader wants to know
  for (const [what, count] of [...counts].sort((a, b) => b[1] - a[1])) console.log(count, what);
}
