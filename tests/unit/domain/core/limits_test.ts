/** Limits that must fit each other and the contract's numbers. */
import { assert, assertEquals } from "@std/assert";
import { ERRORS } from "../../../../domain/core/errors.ts";
import { PACKED_ID_BYTES, PAGE_IDS_MAX } from "../../../../domain/runs/ledger.ts";
import * as limits from "../../../../domain/core/limits.ts";
import { CHUNK_BYTES_MAX, COMMIT_BYTES_MAX, LOCKED_RETRY } from "../../../../kv/base/limits.ts";

/** Deno KV's limits for one value and for one commit. */
const KV_VALUE_BYTES = 65_536, KV_COMMIT_BYTES = 819_200, KV_KEY_BYTES = 2_048;

Deno.test("contract 14: the limits have the contract's values", () => {
  assertEquals(limits.EVENTS_PER_BATCH_MAX, 50);
  assertEquals([limits.METADATA_KEY_CHARS_MAX, limits.METADATA_VALUE_CHARS_MAX], [20, 50]);
});

Deno.test("R7, R10: sizes nest: an output fits a body, and the largest events fit a batch", () => {
  assertEquals([limits.EVENTS_BODY_BYTES_MAX, limits.BODY_BYTES_MAX], [16_777_216, 2_097_152]);
  assertEquals([limits.WHOLE_BODY_BYTES_MAX, limits.JSON_DEPTH_MAX], [1_048_576, 64]);
  assertEquals([limits.EVENT_BYTES_MAX, limits.OUTPUT_BYTES_MAX], [262_144, 524_288]);
  const events = limits.EVENTS_PER_BATCH_MAX * (limits.EVENT_BYTES_MAX + 1);
  assert(events < limits.EVENTS_BODY_BYTES_MAX);
  assert(limits.OUTPUT_BYTES_MAX < limits.WHOLE_BODY_BYTES_MAX);
});

Deno.test("R7: a truncated payload is smaller than an event, whatever metrics it keeps", () => {
  const preview = 6 * limits.PREVIEW_CHARS_MAX, requestMetrics = 4 * limits.USAGE_FIELD_BYTES_MAX;
  assert(preview + requestMetrics < limits.EVENT_BYTES_MAX);
});

Deno.test("a piece fits a value, and the pieces of a commit fit one commit including their keys", () => {
  const blobNameBytes = 26, formatBytes = 2;
  assert(CHUNK_BYTES_MAX + blobNameBytes + formatBytes <= KV_VALUE_BYTES);
  const pieces = Math.ceil(COMMIT_BYTES_MAX / CHUNK_BYTES_MAX) + 1;
  const ledgerAndPage = 2 * KV_VALUE_BYTES;
  assert(COMMIT_BYTES_MAX + ledgerAndPage + pieces * 200 <= KV_COMMIT_BYTES);
});

Deno.test("one byte can count the pieces of the largest body", () => {
  assert(Math.ceil(2 * limits.BODY_BYTES_MAX / CHUNK_BYTES_MAX) <= 255);
});

Deno.test("the ids of an open page fit a value together with the totals", () => {
  const most = PAGE_IDS_MAX - 1 + limits.EVENTS_PER_BATCH_MAX;
  assert(most * PACKED_ID_BYTES < KV_VALUE_BYTES / 4);
});

Deno.test("names used in keys fit a key at four bytes per character", () => {
  const remainder = 200;
  for (const chars of [limits.AGENT_CHARS_MAX, limits.LABEL_CHARS_MAX]) {
    assert(chars * 4 + remainder <= KV_KEY_BYTES);
  }
});

Deno.test("a locked file is retried for less time than a caller waits", () => {
  assert(LOCKED_RETRY.attemptsMax * LOCKED_RETRY.pauseMs < limits.STORAGE_DEADLINE_MS);
});

Deno.test("the shutdown deadline leaves time for a storage call to finish", () => {
  assertEquals(limits.DRAIN_MS_MAX, 5_000);
  assert(limits.STORAGE_DEADLINE_MS < limits.DRAIN_MS_MAX);
});

Deno.test("contract 9: retry helps exactly for 429, 5xx, a slow body and a block", () => {
  // A block ends with its period, with its pause, or with a raised limit.
  const passing = [408, 423, 429];
  for (const [code, { status, retry }] of Object.entries(ERRORS)) {
    assertEquals(retry, passing.includes(status) || status >= 500, code);
  }
});
