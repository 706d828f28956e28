/**
 * Key parts of the run index: labels, models and costs as sortable strings.
 *
 * @module
 */
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { ModelName } from "../../domain/runs/model_usage.ts";
import { createHash } from "node:crypto";
import { groupName, type RollupGroup } from "../../domain/spend/rollup.ts";

/** Maximum characters of a model's name in a key, and of its prefix if it is longer. */
const MODEL_CHARS = { max: 200, prefix: 150 } as const;

/** Digits of costs that the index distinguishes: a tenth of a cent to thousands of dollars. */
const COST_DIGITS = { min: 10, max: 16 } as const;

/** All cost magnitudes in ascending order. */
export const COST_PARTS = Array.from(
  { length: COST_DIGITS.max - COST_DIGITS.min + 1 },
  (_, i) => [1, 2, 5].map((first) => partOf(COST_DIGITS.min + i, first)),
).flat();

/** Returns the key part of an agent. */
export function agentPart(slug: string): string {
  return keyPart({ kind: "agent", value: slug });
}

/** Returns the key part of a customer. */
export function customerPart(customer: string): string {
  return keyPart({ kind: "customer", value: customer });
}

/** Returns the key part of a feature. */
export function featurePart(feature: string): string {
  return keyPart({ kind: "feature", value: feature });
}

/** Returns the key part of a nonzero cost's magnitude: the number of digits, then 1, 2 or 5. */
export function costPart(cost: Picodollars): string {
  const { min, max } = COST_DIGITS;
  const text = `${cost}`;
  if (text.length < min) return partOf(min, 1);
  if (text.length > max) return partOf(max, 5);
  const first = Number(text[0]);
  return partOf(text.length, first < 2 ? 1 : first < 5 ? 2 : 5);
}

/** Returns all cost magnitudes that may contain this cost or a higher one. */
export function costPartsFrom(cost: Picodollars): string[] {
  const least = costPart(cost);
  return COST_PARTS.filter((part) => part >= least);
}

function partOf(digits: number, first: number): string {
  return `${digits}`.padStart(2, "0") + first;
}

/** Returns the key part of a model: the name comes first, to find it for any provider. */
export function modelPart({ provider, model }: ModelName): string {
  const name = JSON.stringify([model, provider]);
  if (name.length <= MODEL_CHARS.max) return name;
  const hash = createHash("sha256").update(name).digest("base64url");
  return `${beginning(name)}#${hash}`;
}

/** Returns the common prefix of a model name's parts for all providers; other names may match. */
export function modelPrefix(model: string): string {
  return beginning(JSON.stringify([model]).slice(0, -1));
}

/** Truncates a long name without splitting a surrogate pair. */
function beginning(text: string): string {
  const cut = text.slice(0, MODEL_CHARS.prefix);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

/** Maximum characters of a group name in a key; 3 bytes each stay well below 2,048 bytes. */
const NAME_CHARS_MAX = 200;

/** Returns the key part of a group; a name that is too long is replaced by its SHA-256. */
export function keyPart(group: RollupGroup): string {
  const name = groupName(group);
  // A name is a JSON array, so it never begins with "#".
  return name.length <= NAME_CHARS_MAX
    ? name
    : `#${createHash("sha256").update(name).digest("base64url")}`;
}
