/**
 * Calls models over chat completions, for judges (decisions 93 and 98).
 *
 * Addresses are the operator's, so the policy about addresses of teams does not bind them. Redirects
 * are not followed and proxy variables are not read: a key goes to its server alone.
 *
 * @module
 */
import { errorCodeIn, readAnswer } from "../domain/judges/answer.ts";
import type { Connection } from "../domain/judges/connection.ts";
import { type CallOutcome, NO_KEY_STATUS, RETRY_AFTER_MS_MAX } from "../domain/judges/judge_job.ts";
import type { JudgeSettings } from "../domain/judges/judge.ts";
import { createPost, type Egress, type PostDeps, type PostOutcome } from "./http.ts";

/** Maximum bytes of an answer, with its heads. */
const ANSWER_BYTES_MAX = 1_048_576;

/** Maximum milliseconds of a call. */
const CALL_MS_MAX = 60_000;

/** Dependencies of calls. */
export interface ModelDeps extends Pick<PostDeps, "resolve" | "authorities"> {
  /** Connections of the operator. */
  readonly connections: readonly Connection[];
  /** Returns the value of an environment variable; undefined without it. */
  readonly keyOf: (variable: string) => string | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Maximum milliseconds of a call, for tests; {@link CALL_MS_MAX} when absent. */
  readonly callMsMax?: number;
}

/** Calls models. */
export type Models = ReturnType<typeof createModels>;

/** Allows every address, as all connections are the operator's. */
const OPERATORS: Egress = { refusal: () => null, addressRefusal: () => null };

/** Creates the caller of models. */
export function createModels(deps: ModelDeps) {
  const { connections, keyOf, now, callMsMax = CALL_MS_MAX } = deps;
  const post = createPost({ ...deps, egress: OPERATORS, answerBytesMax: ANSWER_BYTES_MAX });
  return {
    connections,
    /**
     * Makes one call, without a retry. Never rejects.
     *
     * @param body request, as `requestBody` builds it
     */
    async call(
      { url, keyVariable }: Connection,
      body: string,
      settings: Pick<JudgeSettings, "result" | "passAt">,
      signal: AbortSignal,
    ): Promise<CallOutcome> {
      const key = keyVariable === null ? undefined : keyOf(keyVariable);
      if (keyVariable !== null && key === undefined) return NO_KEY;
      const headers = {
        "content-type": "application/json",
        "user-agent": "Runledger/1",
        ...key === undefined ? {} : { authorization: `Bearer ${key}` },
      };
      const limit = AbortSignal.any([signal, AbortSignal.timeout(callMsMax)]);
      return outcomeOf(await post({ url, headers, body }, limit), settings, now());
    },
  };
}

/** Outcome without a key that can be sent: the judge is blocked until there is one. */
const NO_KEY: CallOutcome = {
  kind: "refused",
  status: NO_KEY_STATUS,
  code: null,
  retryAfterMs: null,
};

function outcomeOf(
  outcome: PostOutcome,
  settings: Pick<JudgeSettings, "result" | "passAt">,
  nowMs: number,
): CallOutcome {
  if (outcome.kind === "failed") return { kind: outcome.mayBeSent ? "lost" : "unsent" };
  // A header that cannot be sent: the key has characters that no key has.
  if (outcome.kind !== "answered") return NO_KEY;
  const { status, text, header } = outcome;
  const answer = status === 200 ? readAnswer(text, settings) : null;
  if (answer !== null) return { kind: "answered", answer };
  // A body that is cut, or another success, which may have done what it was asked for.
  if (status < 300) return { kind: "lost" };
  const retryAfterMs = retryAfterOf(header("retry-after"), nowMs);
  return { kind: "refused", status, code: errorCodeIn(text), retryAfterMs };
}

/** Returns how long a server asks to wait, in seconds or until a time; null if it does not. */
function retryAfterOf(value: string | null, nowMs: number): number | null {
  const sent = value?.trim() ?? "";
  const ms = /^\d+(\.\d+)?$/.test(sent) ? Number(sent) * 1_000 : Date.parse(sent) - nowMs;
  return ms > 0 ? Math.min(Math.ceil(ms), RETRY_AFTER_MS_MAX) : null;
}
