/** Sample refused calls. */
import type { Refusal } from "../../../domain/refusals/refusals.ts";
import { NOON } from "../harness/harness.ts";

export function aRefusal(fields: Partial<Refusal> = {}): Refusal {
  return {
    at: NOON,
    code: "invalid_field",
    field: "goal",
    agent: "researcher",
    userAgent: "agentping-python/1.0",
    message: '"goal" must be a text',
    requestId: "request-1",
    route: "POST /v1/runs",
    ...fields,
  };
}
