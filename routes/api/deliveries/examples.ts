/** Examples of deliveries, as returned. */

/** The channel of the examples. */
export const CHANNEL = "ops";

export const DELIVERY_ID = "whd_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0006";

const AT = "2026-11-21T12:00:00.000Z";

export const TESTED = {
  ok: false,
  status: null,
  ms: 3,
  error: "The name of the host was not found",
};

export const DELIVERY = {
  id: DELIVERY_ID,
  channel: CHANNEL,
  channel_type: "webhook",
  event: "channel.test",
  incident_id: null,
  state: "dead",
  attempts: [{
    at: AT,
    status: null,
    ms: 3,
    error: "The name of the host was not found",
    answer: null,
  }],
  created_at: AT,
  next_at: null,
  test: true,
};
