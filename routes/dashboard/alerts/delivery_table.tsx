/** The table of deliveries, with every try. */
import type { ChannelType } from "../../../domain/channels/channel.ts";
import type { Delivery, DeliveryState, DeliveryTry } from "../../../domain/channels/delivery.ts";
import type { MessageEvent } from "../../../domain/channels/message.ts";
import { countedText, durationText } from "../components/format.ts";
import { Icon, type IconName } from "../components/icons.tsx";
import { type Column, Table } from "../components/table.tsx";
import { At } from "../components/time.tsx";
import { channelPath, incidentPath, resendPath } from "./paths.ts";

/** Names of types. */
export const TYPE_LABELS: Readonly<Record<ChannelType, string>> = {
  webhook: "Webhook",
  email: "E-mail",
  slack: "Slack",
  mattermost: "Mattermost",
  pagerduty: "PagerDuty",
};

/** What a message is about. */
const EVENT_LABELS: Readonly<Record<MessageEvent, string>> = {
  "incident.opened": "opened",
  "incident.updated": "still open",
  "incident.acknowledged": "acknowledged",
  "incident.resolved": "resolved",
  "channel.test": "test",
};

/** The word, the icon and the class of each state. */
export const DELIVERY_LABELS: Readonly<Record<DeliveryState, readonly [string, IconName, string]>> =
  {
    waiting: ["Waiting", "late", "st-off"],
    sending: ["Sending", "run", "st-run"],
    retrying: ["Retrying", "timeout", "st-timeout"],
    delivered: ["Delivered", "ok", "st-ok"],
    dead: ["Not delivered", "bad", "st-bad"],
    cancelled: ["Cancelled", "off", "st-off"],
  };

/** States in which a delivery has ended without being sent, so that it can be sent again. */
const UNSENT: ReadonlySet<DeliveryState> = new Set(["dead", "cancelled"]);

interface DeliveryTableProps {
  readonly label: string;
  readonly deliveries: readonly Delivery[];
  readonly isAdmin: boolean;
  /** Path of the page, to return to. */
  readonly page: string;
  /** True on the page of their incident, which they do not name. */
  readonly ofIncident?: boolean;
}

export function DeliveryTable(props: DeliveryTableProps) {
  const { label, deliveries, isAdmin, page, ofIncident } = props;
  const columns: readonly Column<Delivery>[] = [
    {
      head: "Message",
      isName: true,
      class: "message",
      cell: (delivery) => <MessageOf delivery={delivery} ofIncident={ofIncident ?? false} />,
    },
    {
      head: "State",
      class: "whole",
      cell: (delivery) => <StateOf {...delivery} isAdmin={isAdmin} />,
    },
    { head: "Created", cell: ({ createdAt }) => <At at={createdAt} /> },
    {
      head: "Took",
      class: "num",
      before: "took",
      cell: ({ tries }) => {
        const last = tries.at(-1);
        return last === undefined ? "–" : durationText(last.ms);
      },
    },
    ...isAdmin ? [resendColumn(page)] : [],
  ];
  return <Table label={label} class="fold deliveries" columns={columns} rows={deliveries} />;
}

const resendColumn = (page: string): Column<Delivery> => ({
  head: <span class="sr">Action</span>,
  class: "end-cell",
  cell: ({ id, state, channel, message }) =>
    UNSENT.has(state) && message.event !== "channel.test" && (
      <form class="one" method="post" action={resendPath(id)}>
        <input type="hidden" name="from" value={page} />
        <button type="submit" class="btn small" aria-label={`Send again to ${channel}`}>
          <Icon name="send" /> Send again
        </button>
      </form>
    ),
});

function MessageOf({ delivery, ofIncident }: {
  readonly delivery: Delivery;
  readonly ofIncident: boolean;
}) {
  const { channel, channelType, message: { event, incident } } = delivery;
  return (
    <>
      <a
        class="row"
        href={ofIncident || incident === null ? channelPath(channel) : incidentPath(incident.id)}
      >
        {ofIncident || incident === null ? channel : incident.title}
      </a>
      <small class="under">
        {ofIncident || incident === null ? "" : `${channel}, `}
        {TYPE_LABELS[channelType]}, {EVENT_LABELS[event]}
      </small>
    </>
  );
}

/** The state of a delivery, and its tries as soon as one failed. */
function StateOf(
  { state, nextAt, tries, attempts, isAdmin }: Delivery & { readonly isAdmin: boolean },
) {
  const [word, icon, name] = DELIVERY_LABELS[state];
  const failed = tries.some(({ error }) => error !== null);
  return (
    <>
      <span class={`st word ${name}`}>
        <Icon name={icon} />
        <span>
          {word}
          {state === "retrying" && nextAt !== null && (
            <>
              {" "}
              <At at={nextAt} />
            </>
          )}
        </span>
      </span>
      {failed && (
        <details class="tries" open={state === "dead"}>
          <summary>
            {countedText(Math.max(attempts, tries.length), "try").replace(/trys$/, "tries")}
          </summary>
          <ol>
            {tries.map((attempt) => <Try of={attempt} isAdmin={isAdmin} />)}
          </ol>
        </details>
      )}
    </>
  );
}

function Try({ of, isAdmin }: { readonly of: DeliveryTry; readonly isAdmin: boolean }) {
  return (
    <li>
      <At at={of.at} /> <span>{tryText(of)}</span> <span class="soft">{durationText(of.ms)}</span>
      {isAdmin && of.answer !== null && of.answer !== "" && <code>{of.answer}</code>}
    </li>
  );
}

/** Returns the result of a try in words. */
export function tryText({ status, error }: DeliveryTry): string {
  if (error === null) return status === null ? "delivered" : `delivered, ${status}`;
  return status === null || error.includes(String(status)) ? error : `${status}: ${error}`;
}
