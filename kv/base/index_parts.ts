/**
 * Parts of the keys of the run index: labels, models and costs as texts that sort.
 *
 * @module
 */
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { ModelName } from "../../domain/runs/contribution.ts";
import { createHash } from "node:crypto";
import { groupName, type RollupGroup } from "../../domain/spend/rollup.ts";

/** Characters of a model's name in a key, and of them those that stand there as they are if it is longer. */
const MODEL_CHARS = { max: 200, kept: 150 } as const;

/** Digits of costs that are told apart: from a tenth of a cent to thousands of dollars. */
const COST_DIGITS = { min: 10, max: 16 } as const;

/** All magnitudes of costs, from the least to the greatest. */
const COST_PARTS = Array.from(
  { length: COST_DIGITS.max - COST_DIGITS.min + 1 },
  (_, i) => [1, 2, 5].map((first) => partOf(COST_DIGITS.min + i, first)),
).flat();

/** An agent as the part of a key. */
export function agentPart(slug: string): string {
  return keyPart({ kind: "agent", value: slug });
}

/** A customer as the part of a key. */
export function customerPart(customer: string): string {
  return keyPart({ kind: "customer", value: customer });
}

/** A feature as the part of a key. */
export function featurePart(feature: string): string {
  return keyPart({ kind: "feature", value: feature });
}

/** The magnitude of a cost that is not 0, as the part of a key: 1, 2 or 5 and so many digits. */
export function costPart(cost: Picodollars): string {
  const { min, max } = COST_DIGITS;
  const text = `${cost}`;
  if (text.length < min) return partOf(min, 1);
  if (text.length > max) return partOf(max, 5);
  const first = Number(text[0]);
  return partOf(text.length, first < 2 ? 1 : first < 5 ? 2 : 5);
}

/** All magnitudes of costs that may be as much as this one or more. */
export function costPartsFrom(cost: Picodollars): string[] {
  const least = costPart(cost);
  return COST_PARTS.filter((part) => part >= least);
}

function partOf(digits: number, first: number): string {
  return `${digits}`.padStart(2, "0") + first;
}

/** A model as the part of a key: its name first, so that it is found whoever provided it. */
export function modelPart({ provider, model }: ModelName): string {
  const name = JSON.stringify([model, provider]);
  if (name.length <= MODEL_CHARS.max) return name;
  const hash = createHash("sha256").update(name).digest("base64url");
  return `${beginning(name)}#${hash}`;
}

/** What the parts of all providers' models of a name begin with, and perhaps some others' too. */
export function modelPrefix(model: string): string {
  return beginning(JSON.stringify([model]).slice(0, -1));
}

/** What is kept of a long name; half a character would be none. */
function beginning(text: string): string {
  const cut = text.slice(0, MODEL_CHARS.kept);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

/** Characters of a group's name that stands in its key; with 3 bytes each they are far from 2,048. */
const NAME_CHARS_MAX = 200;

/** A group as the part of a key; a name too long for one stands there as its SHA-256. */
export function keyPart(group: RollupGroup): string {
  const name = groupName(group);
  // A name is a JSON array, so no name begins as a hash does.
  return name.length <= NAME_CHARS_MAX
    ? name
    : `#${createHash("sha256").update(name).digest("base64url")}`;
}
