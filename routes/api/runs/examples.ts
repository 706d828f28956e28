/** Values of the examples of runs. */

/** The run of the examples. */
export const RUN = "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001";

export const COST = { state: "final", revision: 1, unpriced_models: [], flags: [] };

/** Fields that rows and records begin with. */
const HEAD = {
  id: RUN,
  kind: "run",
  agent: "researcher",
  status: "success",
  closed_by: "finish",
  started_at: "2026-11-21T12:00:00.000Z",
  finished_at: "2026-11-21T12:00:09.000Z",
  received_at: "2026-11-21T12:00:00.215Z",
};

/** Row of the examples. */
export const ROW = {
  ...HEAD,
  duration_ms: 9000,
  flags: [],
  has: [],
  customer_id: "acme",
  feature: null,
  cost_usd: 0.0013,
  cost: COST,
  usage: {
    events: 1,
    llm_calls: 1,
    tool_calls: 0,
    logs: 0,
    errors: 0,
    input_tokens: 900,
    output_tokens: 80,
    cached_input_tokens: 0,
  },
};

export const EVENT = {
  id: "evt_eu_019aa6b2c8b87e1f8a9b0c1d2e3f0001",
  type: "llm_call",
  ts: "2026-11-21T12:00:04.000Z",
  received_at: "2026-11-21T12:00:04.310Z",
  data: { provider: "anthropic", model: "claude-haiku-4-5", input_tokens: 900, output_tokens: 80 },
  cost_usd: 0.0013,
  priced_by: "default/anthropic/claude-haiku-4-5",
};

export const RECORD = {
  ...HEAD,
  updated_at: "2026-11-21T12:00:09.120Z",
  duration_ms: 9000,
  flags: [],
  customer_id: "acme",
  feature: null,
  metadata: { env: "prod" },
  goal: null,
  output: { answer: 42 },
  note: null,
  cost_usd: 0.0013,
  cost: COST,
  cost_with_children_usd: 0.0013,
  usage: ROW.usage,
  scores: [{ name: "quality", value: 0.9, source: "self" }],
  events: [EVENT],
  events_cursor: null,
  checks: [],
  judge_results: [],
  incidents: [],
  links: { parent: null, children: [] },
  processing: [
    { stage: "cost", state: "done", attempts: 1, at: "2026-11-21T12:00:09.131Z" },
    { stage: "checks", state: "skipped", attempts: 0, at: "2026-11-21T12:00:09.131Z" },
    { stage: "alerts", state: "skipped", attempts: 0, at: "2026-11-21T12:00:09.131Z" },
    { stage: "judge", state: "skipped", attempts: 0, at: "2026-11-21T12:00:09.131Z" },
  ],
};
