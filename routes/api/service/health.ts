/** `GET /healthz` and `GET /readyz`, for supervisors and load balancers. */
import { rawOf } from "../../../domain/core/raw_json.ts";
import { answer, fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";

/** The process is alive. */
export function healthz(): Handle {
  return (c) => answer(c, 200, rawOf({ status: "ok" }));
}

/** The store answers and new requests are welcome. */
export function readyz({ ready, draining }: AppDeps): Handle {
  return async (c) => {
    if (draining()) return fail(c, SHUTTING_DOWN);
    if (await ready()) return answer(c, 200, rawOf({ status: "ready" }));
    return fail(c, { code: "storage_unavailable", message: "The store does not answer" });
  };
}

/** What every request is told between the signal to stop and the end. */
export const SHUTTING_DOWN = {
  code: "shutting_down",
  message: "This instance is shutting down: send the request again",
} as const;
