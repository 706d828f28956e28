/** The schedule of tries, and what follows from each result. */
import { assert, assertEquals } from "@std/assert";
import {
  afterOutcome,
  afterTry,
  type Delivery,
  NEW_HEALTH,
  newDelivery,
  type Outcome,
  type StoredHealth,
  TRIES_KEPT,
  withSuccess,
} from "../../../../domain/channels/delivery.ts";
import type { ChannelType } from "../../../../domain/channels/channel.ts";
import type { SendResult } from "../../../../domain/channels/sender.ts";
import { NOON } from "../../../support/harness/harness.ts";

const [HOUR, DAY] = [3_600_000, 86_400_000];

function delivery(
  type: ChannelType,
  event: "incident.opened" | "channel.test" = "incident.opened",
) {
  const message = { event, at: NOON, incident: null };
  return newDelivery("whd_eu_1", { slug: "ops", type }, message, null);
}

function outcome(verdict: SendResult["verdict"], atMs: number, more: Partial<SendResult> = {}) {
  const failed = verdict !== "delivered";
  const result: SendResult = {
    verdict,
    status: failed ? 503 : 200,
    error: failed ? "HTTP 503" : null,
    retryAfterMs: null,
    answer: null,
    ...more,
  };
  return { startMs: atMs, endMs: atMs + 10, result } satisfies Outcome;
}

/** Tries a delivery until it ends; returns the hours from its first try to its end. */
function hoursOfTries(type: ChannelType, random: number): readonly [number, Delivery] {
  let tried = delivery(type);
  const firstMs = tried.nextAt ?? 0;
  let atMs = firstMs;
  while (tried.nextAt !== null) {
    atMs = tried.nextAt;
    tried = afterTry(tried, outcome("retry", atMs), random);
  }
  return [(atMs - firstMs) / HOUR, tried];
}

Deno.test("schedule: a webhook is tried 10 times in 75.6 hours, others 11 times in a day", () => {
  const [webhookHours, webhook] = hoursOfTries("webhook", 0.5);
  assertEquals([webhook.state, webhook.attempts, webhookHours.toFixed(1)], ["dead", 10, "75.6"]);
  for (const type of ["slack", "mattermost", "email", "pagerduty"] as const) {
    const [hours, other] = hoursOfTries(type, 0.5);
    assertEquals([other.state, other.attempts, hours.toFixed(1)], ["dead", 11, "23.7"]);
  }
});

Deno.test("schedule: each delay varies by a tenth", () => {
  const delayOf = (random: number) =>
    (afterTry(delivery("webhook"), outcome("retry", NOON), random).nextAt ?? 0) - NOON - 10;
  assertEquals([delayOf(0), delayOf(0.5), delayOf(0.999_999)], [4_500, 5_000, 5_500]);
});

Deno.test("schedule: the first and the latest tries are kept", () => {
  let tried = delivery("webhook");
  for (let n = 0; n < 50; n++) tried = afterTry({ ...tried, attempts: 0 }, outcome("retry", n), 0);
  const { first, latest } = TRIES_KEPT;
  assertEquals(tried.tries.length, first + latest);
  assertEquals([tried.tries[0]?.at, tried.tries[first]?.at], [0, 50 - latest]);
});

function afterFailures(times: readonly number[]): StoredHealth {
  return times.reduce(
    (health, atMs) => afterOutcome(health, "webhook", outcome("retry", atMs)),
    NEW_HEALTH,
  );
}

Deno.test("health: 5 days of failures alone break a channel, and a success repairs it", () => {
  const times = Array.from({ length: 6 }, (_, n) => NOON + n * DAY);
  assertEquals(afterFailures(times.slice(0, 5)).state, "failing");
  const broken = afterFailures(times);
  assertEquals([broken.state, broken.failingSince], ["broken", NOON]);
  const repaired = withSuccess(broken, NOON + 6 * DAY);
  assertEquals([repaired.state, repaired.failingSince, repaired.lastError], ["ok", null, null]);
  const [first, ...later] = times;
  const withOneSuccess = later.reduce(
    (health, atMs) => afterOutcome(health, "webhook", outcome("retry", atMs)),
    afterOutcome(afterFailures([first ?? 0]), "webhook", outcome("delivered", NOON + 1)),
  );
  assertEquals(withOneSuccess.state, "failing");
});

Deno.test("health: a failure long ago does not break a channel at the next one", () => {
  const health = afterFailures([NOON, NOON + 30 * DAY]);
  assertEquals([health.state, health.failingSince], ["failing", NOON + 30 * DAY]);
});

Deno.test("health: gone is broken at once; a final answer holds up no other delivery", () => {
  assertEquals(afterOutcome(NEW_HEALTH, "slack", outcome("gone", NOON)).state, "broken");
  const final = afterOutcome(NEW_HEALTH, "webhook", outcome("final", NOON));
  assertEquals([final.state, final.notBefore], ["failing", 0]);
});

Deno.test("health: failures pause a channel longer and longer, up to a minute", () => {
  const pauses = Array.from({ length: 9 }, (_, n) => {
    const times = Array.from({ length: n + 1 }, (_, i) => NOON + i);
    return afterFailures(times).notBefore - NOON - n - 10;
  });
  assertEquals(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
  const asked = afterOutcome(
    NEW_HEALTH,
    "webhook",
    outcome("retry", NOON, { retryAfterMs: 5_000 }),
  );
  assertEquals(asked.notBefore, NOON + 10 + 5_000);
});

Deno.test("health: chat gets a message a second; a try of over 2 s is slow", () => {
  const paceOf = (type: ChannelType) =>
    afterOutcome(NEW_HEALTH, type, outcome("delivered", NOON)).notBefore;
  assertEquals([paceOf("slack"), paceOf("mattermost")], [NOON + 1_000, NOON + 1_000]);
  assertEquals([paceOf("webhook"), paceOf("email"), paceOf("pagerduty")], [0, 0, 0]);
  const slow = { ...outcome("delivered", NOON), endMs: NOON + 2_001 };
  assert(afterOutcome(NEW_HEALTH, "webhook", slow).isSlow);
});
