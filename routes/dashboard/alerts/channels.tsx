/** `/dashboard/alerts/channels`: the places that messages go to, each with its state. */
import { Ago, type Label, LabelSign } from "../components/elements.tsx";
import { type Column, column } from "../components/table.tsx";
import { showList, slugColumn } from "../objects/list.tsx";
import { CHANNEL_PAGES } from "./channel_form.tsx";
import { TYPE_LABELS } from "./delivery_table.tsx";
import { type ChannelRow, loadChannels } from "./alerts_load.ts";

export const showChannels = showList(CHANNEL_PAGES, async (channels, visit) => {
  const next = visit.isAdmin
    ? "Add one, and send it a test:"
    : "A team member with the scope admin adds one.";
  return {
    subtitle: "Where messages about incidents go",
    rows: await loadChannels(visit, channels),
    columns: COLUMNS,
    empty: ["No channel yet", `Without a channel incidents are only shown here. ${next}`],
  };
});

const COLUMNS: readonly Column<ChannelRow>[] = [
  slugColumn(
    CHANNEL_PAGES,
    ({ channel }) => channel.slug,
    ({ channel: { settings } }) => settings.isDefault && <span class="tag">default</span>,
  ),
  { head: "Type", cell: ({ channel: { settings } }) => TYPE_LABELS[settings.type] },
  column("State", { class: "whole" }, HealthOf),
  column("Last message", { before: "last message" }, ({ health }) => {
    const at = health?.lastOkAt ?? null;
    return at === null ? <span class="soft">none</span> : <Ago at={at} />;
  }),
];

const STATES = {
  ok: ["Works", "ok"],
  failing: ["Failing", "warn"],
  broken: ["Broken", "bad"],
  needs_secret: ["Needs its secret", "warn"],
  disabled: ["Disabled", "paused"],
  test_failed: ["Test failed", "bad"],
  unused: ["Not used yet", "new", "st-off"],
} as const satisfies Readonly<Record<string, Label>>;

/** The state of a channel, since when, and its last error. */
export function HealthOf({ channel: { settings }, health, latest }: ChannelRow) {
  const { state = "ok", failingSince = null, lastOkAt = null, lastError = null } = health ?? {};
  // A failed test changes no health, which is for the better only.
  const testError = latest?.message.event === "channel.test" && state === "ok" && settings.enabled
    ? latest.tries.at(-1)?.error ?? null
    : null;
  const unused = state === "ok" && lastOkAt === null ? "unused" : state;
  const shown = !settings.enabled ? "disabled" : testError !== null ? "test_failed" : unused;
  const error = state === "ok" ? testError : lastError;
  return (
    <>
      <LabelSign of={STATES[shown]} isWord />
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
