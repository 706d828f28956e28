/** JSON of deliveries and of channel tests in responses. */
import { z } from "zod";
import { CHANNEL_TYPES } from "../../../domain/channels/channel.ts";
import {
  type Delivery,
  DELIVERY_STATES,
  type DeliveryTry,
} from "../../../domain/channels/delivery.ts";
import { MESSAGE_EVENTS } from "../../../domain/channels/message.ts";
import * as shape from "../../openapi/wire.ts";

export const deliveryState = shape.oneOfValue("DeliveryState", DELIVERY_STATES);

/** A delivery as returned. */
interface DeliveryView extends Delivery {
  /** True for keys that may read the receivers' answers. */
  readonly showsAnswers: boolean;
}

/** A try; its answer is undefined for keys that may not read it. */
type TryView = Omit<DeliveryTry, "answer"> & { readonly answer: string | null | undefined };

const deliveryTry = shape.objectValue<TryView>("DeliveryAttempt", {
  at: shape.instantValue("at", "Begin of the try."),
  status: shape.countValue.orNull("status", "HTTP or SMTP status of the answer; null without one."),
  ms: shape.countValue("ms", "Duration in milliseconds."),
  error: shape.textValue.orNull("error", "Why it failed; null for success."),
  answer: shape.wire(z.string().nullable()).optional(
    "answer",
    "First 256 characters of an answer from a public address. Only with the scope `admin`.",
  ),
});

export const deliveryValue = shape.objectValue<DeliveryView>("Delivery", {
  id: shape.idValue("whd")("id", "The same for all tries; receivers recognize repeats by it."),
  channel: shape.textValue("channel", "Slug of the channel."),
  channel_type: shape.oneOfValue("ChannelType", CHANNEL_TYPES)("channelType"),
  event: shape.oneOfValue("MessageEvent", MESSAGE_EVENTS)(({ message }) => message.event),
  incident_id: shape.idValue("inc").orNull(
    ({ message }) => message.incident?.id ?? null,
    "Null for a test.",
  ),
  state: deliveryState(
    "state",
    "`dead`: given up; `cancelled`: the channel was deleted or disabled, or the incident was " +
      "resolved before its message was sent.",
  ),
  attempts: shape.listValue(deliveryTry)(
    ({ tries, showsAnswers }) =>
      showsAnswers ? tries : tries.map((each) => ({ ...each, answer: undefined })),
    "Tries in order; of many the first and the latest.",
  ),
  created_at: shape.instantValue("createdAt"),
  next_at: shape.instantValue.orNull("nextAt", "Earliest time of the next try; null at the end."),
  test: shape.booleanValue(({ message }) => message.event === "channel.test"),
});

export const deliveryPage = shape.pageValue("DeliveryPage", "deliveries", deliveryValue);

export const testResult = shape.objectValue<DeliveryTry>("ChannelTestResult", {
  ok: shape.booleanValue(({ error }) => error === null, "True if the receiver took the message."),
  status: shape.countValue.orNull("status", "HTTP or SMTP status of the answer; null without one."),
  ms: shape.countValue("ms", "Duration in milliseconds."),
  error: shape.textValue.orNull("error", "Why it failed; null for success."),
});
