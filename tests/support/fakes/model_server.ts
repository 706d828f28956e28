/**
 * A server of chat completions that bills by its own book: what it did, whatever becomes of the
 * answer.
 */
import { parseConnections } from "../../../domain/judges/connection.ts";
import type { ModelCalls } from "../../../kv/judges/calls.ts";
import { createModels } from "../../../outbound/models.ts";
import { completion } from "../builders/judges.ts";
import { answer, type Behavior, type ReceivedRequest, Receiver } from "./receiver.ts";

/** Returns the behavior of a good answer. */
export function judged(
  value: number | boolean,
  usage: { readonly prompt: number; readonly completion: number } | null = {
    prompt: 100,
    completion: 10,
  },
): Behavior {
  return answer(200, {}, completion({ reasoning: `worth ${value}`, value }, usage));
}

/** A server. Always `await using`. */
export class ModelServer implements AsyncDisposable {
  readonly receiver = new Receiver(judged(5));

  /** Calls of the service, with the connection `local` to this server. */
  models(now: () => number): ModelCalls {
    return createModels({
      connections: parseConnections(`local=http://127.0.0.1:${this.receiver.port}/v1`) ?? [],
      keyOf: () => undefined,
      resolve: () => Promise.resolve(["127.0.0.1"]),
      now,
    });
  }

  get requests(): readonly ReceivedRequest[] {
    return this.receiver.requests;
  }

  set behavior(behavior: Behavior) {
    this.receiver.behavior = behavior;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.receiver[Symbol.asyncDispose]();
  }
}
