/** The operator of a service under test. */
import { fixture } from "./fixture.ts";
import { type Answer, Harness, type HarnessOptions } from "./harness.ts";

export const OPERATOR_KEY = `opk_eu_${"0f".repeat(16)}`;

export function openWithOperator(options: HarnessOptions = {}): Promise<Harness> {
  return Harness.open({ ...options, operatorKey: OPERATOR_KEY });
}

export const operator = { test: fixture(() => openWithOperator()) };

/** Sends a call as the operator. */
export function operate(h: Harness, method: string, path: string, body?: unknown): Promise<Answer> {
  return h.request(method, path, { key: OPERATOR_KEY, ...(body === undefined ? {} : { body }) });
}

/** Creates a team; returns it with its first key. */
export async function aTeam(h: Harness, fields: Record<string, unknown> = {}) {
  const { status, json, text } = await operate(h, "POST", "/v1/teams", {
    name: "Acme",
    tier: "team",
    ...fields,
  });
  if (status !== 201) throw new Error(`${status} ${text}`);
  return json;
}
