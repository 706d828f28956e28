/** `/dashboard/alerts/channels`: the places that messages go to, each with its state. */
import type { Delivery } from "../../../domain/channels/delivery.ts";
import type { Channel } from "../../../domain/channels/store.ts";
import type { Handler } from "../../http/admission.ts";
import { Ago, Done, Sign } from "../components/elements.tsx";
import { type Column, column, listPage, nameColumn } from "../components/table.tsx";
import { VariantLinks } from "../objects/pages.tsx";
import { CHANNEL_PAGES } from "./channel_form.tsx";
import { TYPE_LABELS } from "./delivery_table.tsx";
import { loadChannels } from "./alerts_load.ts";
import { type AlertSetup, showAlerts } from "./frame.tsx";
import { channelPath, NEW_CHANNEL_PATH } from "./paths.ts";

export const showChannels: Handler = async (c, deps) => {
  const { setup, latest } = await loadChannels(c, deps);
  const { channels, isAdmin } = setup;
  const view = listPage({
    title: "Channels",
    lead: "Where messages about incidents go",
    aside: isAdmin && channels.length > 0
      ? <a class="btn main" href={NEW_CHANNEL_PATH}>New channel</a>
      : null,
    notice: <Done c={c} />,
    table: {
      label: "Channels",
      class: "fold",
      columns: columnsFor(setup, latest),
      rows: channels,
    },
    empty: [
      "No channel yet",
      <>
        Without a channel incidents are only shown here.{" "}
        {isAdmin ? "Add one, and send it a test:" : "A team member with the scope admin adds one."}
      </>,
      isAdmin && <VariantLinks of={CHANNEL_PAGES} />,
    ],
  });
  return showAlerts(c, setup, "channels", view);
};

function columnsFor(
  setup: AlertSetup,
  latest: ReadonlyMap<string, Delivery>,
): readonly Column<Channel>[] {
  return [
    nameColumn("Channel", ({ slug, settings: { isDefault } }) => (
      <>
        <a class="row" href={channelPath(slug)}>{slug}</a>
        {isDefault && <span class="tag">default</span>}
      </>
    )),
    { head: "Type", cell: ({ settings }) => TYPE_LABELS[settings.type] },
    column(
      "State",
      { class: "whole" },
      (channel) => <HealthOf {...{ setup, channel }} latest={latest.get(channel.slug)} />,
    ),
    column("Last message", { before: "last message" }, ({ slug }) => {
      const at = setup.health.get(slug)?.lastOkAt ?? null;
      return at === null ? <span class="soft">none</span> : <Ago at={at} />;
    }),
  ];
}

/** The word, the icon and the class of each state. */
const STATES = {
  ok: ["Works", "ok", "st-ok"],
  failing: ["Failing", "warn", "st-warn"],
  broken: ["Broken", "bad", "st-bad"],
  needs_secret: ["Needs its secret", "warn", "st-warn"],
  disabled: ["Disabled", "paused", "st-paused"],
  test_failed: ["Test failed", "bad", "st-bad"],
  unused: ["Not used yet", "new", "st-off"],
} as const;

interface HealthProps {
  readonly setup: AlertSetup;
  readonly channel: Channel;
  /** Its latest delivery; undefined if none is listed. */
  readonly latest: Delivery | undefined;
}

/** The state of a channel, since when, and its last error. */
export function HealthOf({ setup: { health }, channel, latest }: HealthProps) {
  const { slug, settings } = channel;
  const { state = "ok", failingSince = null, lastOkAt = null, lastError = null } =
    health.get(slug) ?? {};
  // A failed test changes no health, which is for the better only.
  const testError = latest?.message.event === "channel.test" && state === "ok" && settings.enabled
    ? latest.tries.at(-1)?.error ?? null
    : null;
  const unused = state === "ok" && lastOkAt === null ? "unused" : state;
  const shown = !settings.enabled ? "disabled" : testError !== null ? "test_failed" : unused;
  const [word, icon, name] = STATES[shown];
  const error = state === "ok" ? testError : lastError;
  return (
    <>
      <Sign icon={icon} name={`word ${name}`}>{word}</Sign>
      {state !== "ok" && failingSince !== null && (
        <span class="soft">
          {" since "}
          <Ago at={failingSince} />
        </span>
      )}
      {error !== null && <span class="under">{error}</span>}
    </>
  );
}
