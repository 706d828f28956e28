/**
 * Memory size of roll-ups.
 *
 * @module
 */
import type { RollupGroup, RollupRow } from "../../domain/spend/rollup.ts";
import type { RunLabels } from "../../domain/runs/run.ts";
import { BYTES_PER_CHAR } from "../base/byte_cache.ts";

/** Bytes of a row without the text of its group: three objects, and measures of which most are bigints. */
const ROW_BYTES = 584;

/** Bytes of one text without its characters. */
const TEXT_BYTES = 24;

/** Estimates the bytes of a row in memory. */
export function bytesOfRow({ group }: RollupRow): number {
  return ROW_BYTES + textsOf(group).reduce((sum, text) => sum + bytesOfText(text), 0);
}

function textsOf(group: RollupGroup): readonly (string | null)[] {
  switch (group.kind) {
    case "total":
      return [];
    case "model":
      return [group.value.provider, group.value.model];
    case "cell":
      return labelsOf(group.labels);
    case "model_cell":
      return [...labelsOf(group.labels), group.value.provider, group.value.model];
    default:
      return [group.value];
  }
}

function labelsOf({ agent, customer, feature }: RunLabels): readonly (string | null)[] {
  return [agent, customer, feature];
}

function bytesOfText(text: string | null): number {
  return text === null ? 0 : TEXT_BYTES + BYTES_PER_CHAR * text.length;
}
