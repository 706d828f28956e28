/** Endpoints of deliveries: `/v1/deliveries`, and the test of a channel. */
import type { Delivery } from "../../../domain/channels/delivery.ts";
import { DELIVERIES_PER_PAGE, DELIVERY_DAYS } from "../../../domain/channels/store.ts";
import { instantText } from "../../../domain/core/fields.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import { answer, fail } from "../../http/answer.ts";
import type { RequestContext } from "../../http/context.ts";
import { timeCursor } from "../../http/cursor.ts";
import { madeBy } from "../../http/made_by.ts";
import { idInPath, queryOf } from "../../http/query.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { cursorOf, idOf, limitOf } from "../../openapi/fields.ts";
import { deliveryPage, deliveryState, deliveryValue, testResult } from "./delivery_json.ts";
import { configSlug } from "../config/fields.ts";
import { noSuch, slugInPath } from "../config/objects.ts";
import {
  NO_SUCH_DELIVERY,
  parseDeliveriesQuery,
  RETRY_TEST_SECONDS,
  TESTS_LIMITED,
} from "./deliveries.ts";
import { CHANNEL, DELIVERY, DELIVERY_ID, TESTED } from "./examples.ts";

const pathFields = { id: idOf("whd").describe("The delivery's id.") };

/** Operations whose examples make a delivery. */
const SENT = ["putChannel", "testChannel", "listDeliveries"];

/** Answers with a delivery; null for an unknown one. */
function answerDelivery(c: RequestContext, delivery: Delivery | null): Response {
  if (delivery === null) return fail(c, NO_SUCH_DELIVERY);
  const showsAnswers = mayAdmin(c.get("principal"));
  return answer(c, 200, deliveryValue.write({ ...delivery, showsAnswers }));
}

/** Endpoints of deliveries and of channel tests. */
export const DELIVERY_ENDPOINTS = endpoints("Channels", {
  testChannel: {
    route: "POST /v1/channels/:slug/test",
    access: teamKey("admin"),
    handler: async (c, deps) => {
      const { team } = c.get("principal");
      const slug = slugInPath(c);
      const result = slug === null
        ? null
        : await deps.channelTester.test(team, slug, madeBy(c, deps));
      if (result === null) return fail(c, noSuch("channel"));
      if (result === "limited") {
        return fail(c, TESTS_LIMITED, { "Retry-After": String(RETRY_TEST_SECONDS) });
      }
      return answer(c, 200, testResult.write(result));
    },
    summary: "Test a channel",
    description: "Sends a test message in one try, and returns its result within 15 s. A success " +
      "repairs a broken channel. 10 tests a minute and team.",
    pathFields: { slug: configSlug.describe("The channel's slug.") },
    answers: ok("The result: 200 for a failure too.", testResult),
    errors: ["not_found", "rate_limit"],
    idempotency: "none",
    example: { path: { slug: CHANNEL }, answer: TESTED, needs: ["putChannel"] },
  },
  listDeliveries: {
    route: "GET /v1/deliveries",
    access: teamKey("read"),
    handler: async (c, { deliveries }) => {
      const query = parseDeliveriesQuery(queryOf(c));
      if (!query.ok) return fail(c, query.problem);
      const principal = c.get("principal");
      const page = await deliveries.list(principal.team, query.value);
      const showsAnswers = mayAdmin(principal);
      const items = page.deliveries.map((delivery) => ({ ...delivery, showsAnswers }));
      const cursor = page.next === null ? null : timeCursor(page.next);
      return answer(c, 200, deliveryPage.write({ items, cursor }));
    },
    summary: "List deliveries",
    description:
      "Lists the messages to channels with every try, latest first. Deliveries are kept " +
      `for ${DELIVERY_DAYS} days.`,
    query: {
      channel: configSlug.optional().describe("Only deliveries to the channel with this slug."),
      state: deliveryState.schema.optional().describe(
        "Only deliveries in this state; `dead` leaves out tests.",
      ),
      incident: idOf("inc").optional().describe("Only deliveries about this incident."),
      from: instantText.optional().describe("Earliest creation, inclusive."),
      limit: limitOf(DELIVERIES_PER_PAGE, "deliveries"),
      cursor: cursorOf("cursor"),
    },
    answers: ok("A page of deliveries.", deliveryPage),
    example: {
      query: { channel: CHANNEL },
      answer: { deliveries: [DELIVERY], cursor: null },
      needs: SENT.slice(0, -1),
    },
  },
  getDelivery: {
    route: "GET /v1/deliveries/:id",
    access: teamKey("read"),
    handler: async (c, { deliveries }) => {
      const id = idInPath(c, "whd");
      const { team } = c.get("principal");
      return answerDelivery(c, id === null ? null : await deliveries.read(team, id));
    },
    summary: "Read a delivery",
    description: "Returns one message to one channel, with every try.",
    pathFields,
    answers: ok("The delivery.", deliveryValue),
    errors: ["not_found"],
    example: { path: { id: DELIVERY_ID }, answer: DELIVERY, needs: SENT },
  },
  resendDelivery: {
    route: "POST /v1/deliveries/:id/resend",
    access: teamKey("admin"),
    handler: async (c, deps) => {
      const id = idInPath(c, "whd");
      const { team } = c.get("principal");
      const made = madeBy(c, deps);
      return answerDelivery(c, id === null ? null : await deps.deliveries.resend(team, id, made));
    },
    summary: "Send a delivery again",
    description: "Starts the tries of a delivery that has ended again, with the same id. Changes " +
      "nothing while it waits for a try. A test is not sent again.",
    pathFields,
    answers: ok("The delivery.", deliveryValue),
    errors: ["not_found"],
    idempotency: "none",
    example: { path: { id: DELIVERY_ID }, answer: DELIVERY, needs: SENT },
  },
});
