/** JSON of deliveries and of channel tests in responses. */
import { z } from "zod";
import { CHANNEL_TYPES } from "../../../domain/channels/channel.ts";
import {
  type Delivery,
  DELIVERY_STATES,
  type DeliveryTry,
} from "../../../domain/channels/delivery.ts";
import { MESSAGE_EVENTS } from "../../../domain/channels/message.ts";
import {
  booleanValue,
  countValue,
  idValue,
  instantValue,
  listValue,
  objectValue,
  oneOfValue,
  pageValue,
  textValue,
  wire,
} from "../../openapi/wire.ts";

export const deliveryState = oneOfValue("DeliveryState", DELIVERY_STATES);

/** A delivery as returned. */
interface DeliveryView extends Delivery {
  /** True for keys that may read the receivers' answers. */
  readonly showsAnswers: boolean;
}

/** A try; its answer is undefined for keys that may not read it. */
type TryView = Omit<DeliveryTry, "answer"> & { readonly answer: string | null | undefined };

const deliveryTry = objectValue<TryView>("DeliveryAttempt", {
  at: instantValue("at", "Begin of the try."),
  status: countValue.orNull("status", "HTTP or SMTP status of the answer; null without one."),
  ms: countValue("ms", "Duration in milliseconds."),
  error: textValue.orNull("error", "Why it failed; null for success."),
  answer: wire(z.string().nullable()).optional(
    "answer",
    "First 256 characters of an answer from a public address. Only with the scope `admin`.",
  ),
});

export const deliveryValue = objectValue<DeliveryView>("Delivery", {
  id: idValue("whd")("id", "The same for all tries; receivers recognize repeats by it."),
  channel: textValue("channel", "Slug of the channel."),
  channel_type: oneOfValue("ChannelType", CHANNEL_TYPES)("channelType"),
  event: oneOfValue("MessageEvent", MESSAGE_EVENTS)(({ message }) => message.event),
  incident_id: idValue("inc").orNull(
    ({ message }) => message.incident?.id ?? null,
    "Null for a test.",
  ),
  state: deliveryState(
    "state",
    "`dead`: given up; `cancelled`: the channel was deleted or disabled, or the incident was " +
      "resolved before its message was sent.",
  ),
  attempts: listValue(deliveryTry)(
    ({ tries, showsAnswers }) =>
      showsAnswers ? tries : tries.map((each) => ({ ...each, answer: undefined })),
    "Tries in order; of many the first and the latest.",
  ),
  created_at: instantValue("createdAt"),
  next_at: instantValue.orNull("nextAt", "Earliest time of the next try; null at the end."),
  test: booleanValue(({ message }) => message.event === "channel.test"),
});

export const deliveryPage = pageValue("DeliveryPage", "deliveries", deliveryValue);

export const testResult = objectValue<DeliveryTry>("ChannelTestResult", {
  ok: booleanValue(({ error }) => error === null, "True if the receiver took the message."),
  status: countValue.orNull("status", "HTTP or SMTP status of the answer; null without one."),
  ms: countValue("ms", "Duration in milliseconds."),
  error: textValue.orNull("error", "Why it failed; null for success."),
});
