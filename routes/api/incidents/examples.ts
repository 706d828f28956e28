/** Examples of incidents, as returned. */
import { RUN } from "../runs/examples.ts";

export const INCIDENT_ID = "inc_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0005";

export const INCIDENT = {
  id: INCIDENT_ID,
  rule: "costly-runs",
  kind: "run_cost",
  severity: "warning",
  state: "open",
  group: { agent: "researcher" },
  opened_at: "2026-11-21T12:00:09.120Z",
  resolved_at: null,
  resolved_by: null,
  duration_seconds: null,
  count: 1,
  value: 0.0013,
  threshold: 0.001,
  message: "A run of researcher cost $0.0013, more than $0.001",
  run_ids: [RUN],
  silenced: false,
  acknowledged: null,
  url: null,
};

const OPENED = { at: "2026-11-21T12:00:09.120Z", what: "opened", count: 1 };

export const DETAIL = { ...INCIDENT, timeline: [OPENED] };

const ACK = {
  by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
  at: "2026-11-21T12:05:00.000Z",
  note: "looking into it",
};

export const ACKNOWLEDGED = {
  ...INCIDENT,
  state: "acknowledged",
  acknowledged: ACK,
  timeline: [OPENED, { at: ACK.at, what: "acknowledged", by: ACK.by, note: ACK.note }],
};

export const RESOLVED = {
  ...INCIDENT,
  state: "resolved",
  resolved_at: "2026-11-21T12:10:00.000Z",
  resolved_by: "hand",
  duration_seconds: 0,
  timeline: [OPENED, {
    at: "2026-11-21T12:10:00.000Z",
    what: "resolved",
    resolved_by: "hand",
    by: ACK.by,
    note: "a smaller model is set",
  }],
};
