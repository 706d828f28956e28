/** The table of deliveries, with every try. */
import { At, type Label, LabelSign } from "../components/elements.tsx";
import type { ChannelHealth, ChannelType } from "../../../domain/channels/channel.ts";
import type { Delivery, DeliveryState, DeliveryTry } from "../../../domain/channels/delivery.ts";
import type { MessageEvent } from "../../../domain/channels/message.ts";
import { durationText } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { type Column, column } from "../components/table.tsx";
import type { AlertSetup } from "./frame.tsx";
import { channelPath, deliveryPath, incidentPath } from "./paths.ts";

/** Names of types. */
export const TYPE_LABELS: Readonly<Record<ChannelType, string>> = {
  webhook: "Webhook",
  email: "E-mail",
  slack: "Slack",
  mattermost: "Mattermost",
  pagerduty: "PagerDuty",
};

/** Events that messages are about. */
const EVENT_LABELS: Readonly<Record<MessageEvent, string>> = {
  "incident.opened": "opened",
  "incident.updated": "still open",
  "incident.acknowledged": "acknowledged",
  "incident.resolved": "resolved",
  "channel.test": "test",
};

/** The word, the icon and the class of each state. */
export const DELIVERY_LABELS: Readonly<Record<DeliveryState, Label>> = {
  waiting: ["Waiting", "late", "st-off"],
  sending: ["Sending", "run"],
  retrying: ["Retrying", "timeout"],
  delivered: ["Delivered", "ok"],
  dead: ["Not delivered", "bad"],
  cancelled: ["Cancelled", "off"],
};

interface DeliveryTableProps {
  readonly deliveries: readonly Delivery[];
  /** States of the channels, and whether the session may change something. */
  readonly setup: Pick<AlertSetup, "health" | "isAdmin">;
  /** Path of the page, to return to. */
  readonly page: string;
  /** True on the page of their incident, which they do not name. */
  readonly ofIncident?: boolean;
}

/** Describes a table of deliveries. */
export function deliveryTable(props: DeliveryTableProps) {
  const { deliveries, setup, page, ofIncident = false } = props;
  const columns: readonly Column<Delivery>[] = [
    column(
      "Message",
      { isName: true, class: "message" },
      ({ channel, channelType, message: { event, incident } }) => {
        const about = ofIncident ? null : incident;
        return [
          <a class="row" href={about === null ? channelPath(channel) : incidentPath(about.id)}>
            {about?.title ?? channel}
          </a>,
          <small class="under">
            {about !== null && `${channel}, `}
            {TYPE_LABELS[channelType]}, {EVENT_LABELS[event]}
          </small>,
        ];
      },
    ),
    { head: "State", class: "whole", cell: (delivery) => stateOf(delivery, setup) },
    { head: "Created", cell: ({ createdAt }) => <At at={createdAt} /> },
    column(
      "Took",
      { class: "num", before: "took" },
      ({ tries }) => tries.map(({ ms }) => durationText(ms)).at(-1) ?? "–",
    ),
    ...setup.isAdmin ? [resendColumn(page)] : [],
  ];
  return { class: "fold deliveries", columns, rows: deliveries };
}

/** Why a delivery waits although its next try is due, by the state of its channel. */
const WAIT_REASONS: Readonly<Record<ChannelHealth["state"], string | null>> = {
  ok: null,
  failing: null,
  broken: "held until a test of the channel succeeds",
  needs_secret: "held until the channel's secrets are set again",
};

/** Shows the state of a delivery, and its tries as soon as one failed. */
function stateOf(delivery: Delivery, { health, isAdmin }: DeliveryTableProps["setup"]) {
  const { state, nextAt, tries, attempts } = delivery;
  const count = Math.max(attempts, tries.length);
  const reason = nextAt === null ? null : WAIT_REASONS[health.get(delivery.channel)?.state ?? "ok"];
  const next = state === "retrying" && nextAt !== null && reason === null &&
    [" ", <At at={nextAt} />];
  return [
    <LabelSign of={DELIVERY_LABELS[state]} isWord>{next}</LabelSign>,
    reason !== null && <small class="under">{reason}</small>,
    tries.some(({ error }) => error !== null) && (
      <details class="tries" open={state === "dead"}>
        <summary>{count === 1 ? "1 try" : `${count} tries`}</summary>
        <ol>
          {tries.map((attempt) => (
            <li>
              <At at={attempt.at} /> <span>{tryText(attempt)}</span>{" "}
              <span class="soft">{durationText(attempt.ms)}</span>
              {isAdmin && attempt.answer && <code>{attempt.answer}</code>}
            </li>
          ))}
        </ol>
      </details>
    ),
  ];
}

/** Returns the result of a try in words. */
export function tryText({ status, error }: DeliveryTry): string {
  if (error === null) return status === null ? "delivered" : `delivered, ${status}`;
  return status === null || error.includes(String(status)) ? error : `${status}: ${error}`;
}

/** A button at deliveries that have ended without being sent. */
const resendColumn = (page: string): Column<Delivery> => ({
  head: <span class="sr">Action</span>,
  class: "end-cell",
  cell: ({ id, state, channel, message }) =>
    (state === "dead" || state === "cancelled") && message.event !== "channel.test" && (
      <form class="one" method="post" action={deliveryPath(id, "/resend")}>
        <input type="hidden" name="from" value={page} />
        <button type="submit" class="btn small" aria-label={`Send again to ${channel}`}>
          <Icon name="send" /> Send again
        </button>
      </form>
    ),
});
