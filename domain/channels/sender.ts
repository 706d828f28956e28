/**
 * The contract of what sends messages.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { OpenedChannelSettings } from "./channel.ts";
import type { Message } from "./message.ts";

/** Messages to send to a channel in one request. */
export interface Envelope {
  /** The team. */
  readonly team: Pick<Team, "id" | "name">;
  /** Settings of the channel, with readable secrets. */
  readonly settings: OpenedChannelSettings;
  /** The receiver's key to drop repeats by: other messages have another one. */
  readonly id: string;
  /** Messages: exactly one for webhooks and PagerDuty, up to 20 for chat and mail. */
  readonly messages: readonly Message[];
}

/** Result of one try (decision 86). */
export interface SendResult {
  /**
   * `delivered`; `retry`: try again; `final`: never for this delivery; `gone`: the channel does not
   * exist any more, so it is broken.
   */
  readonly verdict: "delivered" | "retry" | "final" | "gone";
  /** HTTP or SMTP status of the answer; null without one. */
  readonly status: number | null;
  /**
   * Reason of the failure, also of a mail server that delivered and refused some recipients; otherwise
   * null. It names no address.
   */
  readonly error: string | null;
  /** Milliseconds that the receiver asks to wait, at most 1 hour; null for none. */
  readonly retryAfterMs: number | null;
  /** First 256 characters of an answer from a public address; null for none. */
  readonly answer: string | null;
}

/** Maximum milliseconds of one try. */
export const SEND_MS_MAX = 15_000;

/** Maximum messages of one request. */
export const JOINED_MAX = 20;

/** Sends messages. */
export interface Sender {
  /**
   * Makes one try within {@link SEND_MS_MAX}. Never rejects.
   *
   * @param nowMs time of the try, which the signature includes, unix milliseconds
   * @param signal cancels the try
   */
  send(envelope: Envelope, nowMs: number, signal: AbortSignal): Promise<SendResult>;
}

/** Decides which addresses may be called (decision 54). */
export interface EgressPolicy {
  /**
   * Returns the rule that refuses a URL by its text alone; null if none does. A host name that does
   * not resolve is no reason: its addresses are checked when it is called.
   */
  refusal(url: string): string | null;
}
