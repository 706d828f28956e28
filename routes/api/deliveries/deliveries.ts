/** Requests of `/v1/deliveries`, and their refusals. */
import { isIncidentId } from "../../../domain/alerts/incident.ts";
import { DELIVERY_STATES } from "../../../domain/channels/delivery.ts";
import {
  CHANNEL_TESTS_PER_MINUTE,
  DELIVERIES_PER_PAGE,
  type DeliveriesQuery,
} from "../../../domain/channels/store.ts";
import { CONFIG_SLUG } from "../../../domain/config/objects.ts";
import { notFound, type Parsed } from "../../../domain/core/errors.ts";
import { readQuery, refuseParameter } from "../../../domain/core/query.ts";
import { parseTimeCursor } from "../../http/cursor.ts";

/** The same error for an unknown delivery and one of another team. */
export const NO_SUCH_DELIVERY = notFound(
  "No such delivery: list the deliveries; each is kept for 30 days",
);

/** Seconds after which a test that was one too many may be repeated. */
export const RETRY_TEST_SECONDS = 60;

/** Refusal of one test too many. */
export const TESTS_LIMITED = {
  code: "rate_limit",
  message: `A team may test its channels ${CHANNEL_TESTS_PER_MINUTE} times a minute: ` +
    "retry after the delay in Retry-After",
} as const;

/** Parses the query of a list of deliveries. */
export function parseDeliveriesQuery(text: string): Parsed<DeliveriesQuery> {
  return readQuery(text, (query) => {
    const page = query.page(
      (cursor) => parseTimeCursor(cursor, "whd"),
      DELIVERIES_PER_PAGE,
    );
    const channel = query.text("channel") ?? null;
    if (channel !== null && !CONFIG_SLUG.test(channel)) {
      return refuseParameter("channel", '"channel" must be the slug of a channel');
    }
    const incident = query.text("incident") ?? null;
    if (incident !== null && !isIncidentId(incident)) {
      return refuseParameter("incident", '"incident" must be the id of an incident');
    }
    const state = query.choice("state", DELIVERY_STATES) ?? null;
    return { ...page, channel, state, incident, fromMs: query.instant("from") ?? 0 };
  });
}
