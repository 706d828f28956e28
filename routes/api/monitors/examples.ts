/** Examples of monitors, as sent and as returned. */

export const AGENT = "nightly";

export const SETTINGS_SENT = { schedule: { every_seconds: 86_400 }, grace_seconds: 3_600 };

export const DELETED = {
  agent: AGENT,
  id: "mon_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0004",
  version: 1,
  schedule: { every_seconds: 86_400 },
  grace_seconds: 3_600,
  max_runtime_seconds: null,
  failure_threshold: 1,
  recovery_threshold: 1,
  enabled: true,
  words: "Every day",
  created_at: "2026-11-21T12:00:00.000Z",
  updated_at: "2026-11-21T12:00:00.000Z",
  updated_by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
};

export const MONITOR = {
  ...DELETED,
  state: "up",
  since: "2026-11-21T12:00:00.000Z",
  pause: null,
  running: 0,
  failing: 0,
  last_arrival_at: "2026-11-21T12:00:00.000Z",
  last_ok_at: "2026-11-21T12:00:00.000Z",
  expected_at: "2026-11-22T12:00:00.000Z",
  down_after: "2026-11-22T13:00:00.000Z",
  blocked_by: null,
};

export const PAUSED = {
  ...MONITOR,
  state: "paused",
  pause: { until: null, sticky: true },
  expected_at: null,
  down_after: null,
};

export const DETAIL = {
  ...MONITOR,
  next: [
    "2026-11-22T12:00:00.000Z",
    "2026-11-23T12:00:00.000Z",
    "2026-11-24T12:00:00.000Z",
    "2026-11-25T12:00:00.000Z",
    "2026-11-26T12:00:00.000Z",
  ],
  uptime_30d: null,
  proposal: null,
};

export const FLIPS = {
  flips: [{
    at: "2026-11-21T12:00:00.000Z",
    until: null,
    from: null,
    to: "up",
    reason: "created",
    run_id: null,
  }],
  cursor: null,
};
