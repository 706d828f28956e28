/**
 * Judges the answer to a message (decision 86).
 *
 * @module
 */
import type { ChannelType } from "../domain/channels/channel.ts";
import { RETRY_AFTER_MS_MAX } from "../domain/channels/schedule.ts";
import type { SendResult } from "../domain/channels/sender.ts";
import { cutText, printable } from "../domain/core/text.ts";
import type { PostOutcome } from "./http.ts";

/** Maximum characters of an answer that are kept. */
const ANSWER_CHARS_MAX = 256;

type Answered = PostOutcome & { readonly kind: "answered" };
type Verdict = SendResult["verdict"];

const CHATS: ReadonlySet<ChannelType> = new Set(["slack", "mattermost"]);

/**
 * Converts the outcome of a request to a result.
 *
 * @param nowMs time of the try, unix milliseconds
 */
export function resultOf(type: ChannelType, outcome: PostOutcome, nowMs: number): SendResult {
  switch (outcome.kind) {
    case "refused":
      // An operator may list the host, or its addresses change, before the last try.
      return failure("retry", `Refused by RUNLEDGER_EGRESS: ${outcome.rule}`);
    case "failed":
      return failure("retry", outcome.reason);
    case "invalid":
      return failure("final", outcome.reason);
    case "answered":
      return answerResult(type, outcome, nowMs);
  }
}

/** Returns the result of a try without an answer. */
export function failure(verdict: Verdict, error: string): SendResult {
  return { verdict, status: null, error, retryAfterMs: null, answer: null };
}

function answerResult(type: ChannelType, answered: Answered, nowMs: number): SendResult {
  const { status, text, isPublic } = answered;
  const verdict = verdictOf(type, answered);
  const answer = cutText(printable(text), ANSWER_CHARS_MAX);
  return {
    verdict,
    status,
    error: verdict === "delivered" ? null : errorOf(answered, verdict),
    retryAfterMs: verdict === "retry" ? retryAfterOf(answered, nowMs) : null,
    answer: isPublic && answer !== "" ? answer : null,
  };
}

function verdictOf(type: ChannelType, { status, header }: Answered): Verdict {
  if (type === "pagerduty" ? status === 202 : status >= 200 && status < 300) return "delivered";
  if (status === 410) return "gone";
  if ([400, 401, 403, 404].includes(status) && CHATS.has(type)) return "gone";
  if ([400, 401, 403].includes(status) && type === "pagerduty") return "final";
  return header("webhook-delivery") === "abort-message" ? "final" : "retry";
}

function errorOf({ status, header }: Answered, verdict: Verdict): string {
  if (header("webhook-delivery") === "abort-message") {
    return `${status}: the receiver wants no more`;
  }
  if (status >= 300 && status < 400) return `${status}: redirects are not followed`;
  return verdict === "gone"
    ? `${status}: the channel does not exist any more`
    : `Answered ${status}`;
}

/** Returns how long the receiver asks to wait: `Retry-After`, or Discord's `retry_after`. */
function retryAfterOf({ header, text, status }: Answered, nowMs: number): number | null {
  const value = header("retry-after")?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(value)
    ? Number(value) * 1_000
    : Date.parse(value) - nowMs || (status === 429 ? discordMs(text) : NaN);
  return ms > 0 ? Math.min(Math.ceil(ms), RETRY_AFTER_MS_MAX) : null;
}

function discordMs(text: string): number {
  const seconds = /"retry_after"\s*:\s*(\d+(?:\.\d+)?)/.exec(text)?.[1];
  return seconds === undefined ? NaN : Number(seconds) * 1_000;
}
