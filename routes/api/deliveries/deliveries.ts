/** Endpoints of deliveries, `/v1/deliveries`, and the test of a channel, with their JSON. */
import { z } from "zod";
import { isIncidentId } from "../../../domain/alerts/incident.ts";
import { CHANNEL_TYPES } from "../../../domain/channels/channel.ts";
import {
  CHANNEL_TESTS_PER_MINUTE,
  DELIVERIES_PER_PAGE,
  type DeliveriesQuery,
  type Delivery,
  DELIVERY_DAYS,
  DELIVERY_STATES,
  type DeliveryTry,
} from "../../../domain/channels/delivery.ts";
import { MESSAGE_EVENTS } from "../../../domain/channels/message.ts";
import { isConfigSlug } from "../../../domain/config/body.ts";
import { existing, notFound } from "../../../domain/core/errors.ts";
import { instantText } from "../../../domain/core/fields.ts";
import { Query } from "../../../domain/core/query.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import type { HandlerArguments } from "../../http/admission.ts";
import { answer, fail } from "../../http/answer.ts";
import { madeBy } from "../../http/context.ts";
import { idInPath, parseTimeCursor, queryOf, timeCursor } from "../../http/query.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { idOf } from "../../openapi/fields.ts";
import { configSlug, noSuch, slugInPath } from "../objects.ts";
import * as shape from "../../openapi/wire.ts";
import { listOf, returns } from "../answers.ts";

/** The same error for an unknown delivery and one of another team. */
export const NO_SUCH_DELIVERY = notFound(
  "No such delivery: list the deliveries; each is kept for 30 days",
);

/** Seconds after which a test that was one too many may be repeated. */
const RETRY_TEST_SECONDS = 60;

/** Refusal of one test too many. */
const TESTS_LIMITED = {
  code: "rate_limit",
  message: `A team may test its channels ${CHANNEL_TESTS_PER_MINUTE} times a minute: ` +
    "retry after the delay in Retry-After",
} as const;

/** Parses the query of a list of deliveries. */
export function parseDeliveriesQuery(text: string): DeliveriesQuery {
  const query = new Query(text);
  const page = query.page((cursor) => parseTimeCursor(cursor, "whd"), DELIVERIES_PER_PAGE);
  const channel = query.valid("channel", isConfigSlug, "the slug of a channel");
  const incident = query.valid("incident", isIncidentId, "the id of an incident");
  const state = query.choice("state", DELIVERY_STATES) ?? null;
  return { ...page, channel, state, incident, fromMs: query.instant("from") ?? 0 };
}

const deliveryState = shape.oneOf("DeliveryState", DELIVERY_STATES);

/** A delivery as returned. */
interface DeliveryView extends Delivery {
  /** True for keys that may read the receivers' answers. */
  readonly showsAnswers: boolean;
}

/** A try; its answer is undefined for keys that may not read it. */
type TryView = Omit<DeliveryTry, "answer"> & { readonly answer: string | null | undefined };

const RESULT: shape.WireFields<TryView> = {
  status: shape.count.orNull("status", "HTTP or SMTP status of the answer; null without one."),
  ms: shape.count("ms", "Duration in milliseconds."),
  error: shape.text.orNull("error", "Why it failed; null for success."),
};

const deliveryTry = shape.object<TryView>("DeliveryAttempt", {
  at: shape.instant("at", "Begin of the try."),
  ...RESULT,
  answer: shape.wire(z.string().nullable()).optional(
    "answer",
    "First 256 characters of an answer from a public address. Only with the scope `admin`.",
  ),
});

const deliveryValue = shape.object<DeliveryView>("Delivery", {
  id: shape.id("whd")("id", "The same for all tries; receivers recognize repeats by it."),
  channel: shape.text("channel", "Slug of the channel."),
  channel_type: shape.oneOf("ChannelType", CHANNEL_TYPES)("channelType"),
  event: shape.oneOf("MessageEvent", MESSAGE_EVENTS)(({ message }) => message.event),
  incident_id: shape.id("inc").orNull(
    ({ message }) => message.incident?.id ?? null,
    "Null for a test.",
  ),
  state: deliveryState(
    "state",
    "`dead`: given up; `cancelled`: the channel was deleted or disabled, or the incident was " +
      "resolved before its message was sent.",
  ),
  attempts: shape.list(deliveryTry)(
    ({ tries, showsAnswers }) =>
      showsAnswers ? tries : tries.map((each) => ({ ...each, answer: undefined })),
    "Tries in order; of many the first and the latest.",
  ),
  created_at: shape.instant("createdAt"),
  next_at: shape.instant.orNull("nextAt", "Earliest time of the next try; null at the end."),
  test: shape.boolean(({ message }) => message.event === "channel.test"),
});

const deliveryPage = shape.page("DeliveryPage", "deliveries", deliveryValue);

const testResult = shape.object<DeliveryTry>("ChannelTestResult", {
  ok: shape.boolean(({ error }) => error === null, "True if the receiver took the message."),
  ...RESULT,
});

const pathFields = { id: idOf("whd").describe("The delivery's id.") };

/** Declares the part of an endpoint by which it answers with the delivery that its path names. */
function returnsDelivery(
  read: (id: string, ...request: HandlerArguments) => Promise<Delivery | null>,
) {
  return returns("The delivery.", deliveryValue, async (c, deps, principal) => {
    const id = existing(idInPath(c, "whd"), NO_SUCH_DELIVERY);
    const delivery = existing(await read(id, c, deps, principal), NO_SUCH_DELIVERY);
    return { ...delivery, showsAnswers: mayAdmin(principal) };
  });
}

/** Endpoints of deliveries and of channel tests. */
export const DELIVERY_ENDPOINTS = endpoints("Channels", {
  testChannel: {
    route: "POST /v1/channels/:slug/test",
    access: teamKey("admin"),
    handler: async (c, deps, { team }) => {
      const slug = slugInPath(c, noSuch("channel"));
      const tested = await deps.channelTester.test(team, slug, madeBy(c, deps));
      const result = existing(tested, noSuch("channel"));
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
  },
  listDeliveries: {
    route: "GET /v1/deliveries",
    access: teamKey("read"),
    ...listOf("deliveries", deliveryPage, DELIVERIES_PER_PAGE, async (c, deps, principal) => {
      const query = parseDeliveriesQuery(queryOf(c));
      const { deliveries, next } = await deps.deliveries.list(principal.team, query);
      const showsAnswers = mayAdmin(principal);
      const items = deliveries.map((delivery) => ({ ...delivery, showsAnswers }));
      return { items, cursor: next && timeCursor(next) };
    }, {
      channel: configSlug.optional().describe("Only deliveries to the channel with this slug."),
      state: deliveryState.schema.optional().describe(
        "Only deliveries in this state; `dead` leaves out tests.",
      ),
      incident: idOf("inc").optional().describe("Only deliveries about this incident."),
      from: instantText.optional().describe("Earliest creation, inclusive."),
    }),
    summary: "List deliveries",
    description: "Lists the messages to channels with every try, latest first. Deliveries are " +
      `kept for ${DELIVERY_DAYS} days.`,
  },
  getDelivery: {
    route: "GET /v1/deliveries/:id",
    access: teamKey("read"),
    ...returnsDelivery((id, _, { deliveries }, { team }) => deliveries.read(team, id)),
    summary: "Read a delivery",
    description: "Returns one message to one channel, with every try.",
    pathFields,
    errors: ["not_found"],
  },
  resendDelivery: {
    route: "POST /v1/deliveries/:id/resend",
    access: teamKey("admin"),
    ...returnsDelivery((id, c, deps, { team }) =>
      deps.deliveries.resend(team, id, madeBy(c, deps))
    ),
    summary: "Send a delivery again",
    description: "Starts the tries of a delivery that has ended again, with the same id. Changes " +
      "nothing while it waits for a try. A test is not sent again.",
    pathFields,
    errors: ["not_found"],
    idempotency: "none",
  },
});
