/** Pauses: what may not run, who said so and why, and how it runs again. */
import { type Pause, PAUSES } from "../../../domain/budgets/budget.ts";
import { isPaused, REASON_CHARS_MAX } from "../../../domain/budgets/budget.ts";
import { Refused } from "../../../domain/core/errors.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { parseDuration } from "../../../domain/monitors/schedule.ts";
import { At, RESUMED } from "../components/elements.tsx";
import { type Column, column, nameColumn } from "../components/table.tsx";
import { Actor, type ActorNames, actorNames, ACTORS } from "../keys/labels.tsx";
import { bodyIn } from "../objects/form.tsx";
import { readKnownValues } from "../objects/known_values.tsx";
import { buttonColumn, showList } from "../objects/list.tsx";
import { objectPages, objectsPage } from "../objects/pages.tsx";
import { checkScope, scopeFields, scopeText, withSpendTabs } from "./scope.tsx";

function columnsFor(isAdmin: boolean, names: ActorNames): readonly Column<Pause>[] {
  return [
    nameColumn("Pause", ({ slug, settings: { reason } }) => (
      <>
        {slug}
        <small class="under">{reason}</small>
      </>
    )),
    { head: "Runs of", cell: ({ settings }) => scopeText(settings) },
    column(
      "By",
      { before: "by" },
      ({ updatedBy: id }) => id !== null && pausedBy(id, names, isAdmin),
    ),
    { head: "Since", before: "since", cell: ({ updatedAt }) => <At at={updatedAt} /> },
    column(
      "Until",
      { before: "until" },
      ({ settings: { until } }) => until === null ? "you resume it" : <At at={until} />,
    ),
    ...isAdmin ? [buttonColumn<Pause>(PAUSE_PAGES, () => ["Resume", "delete"])] : [],
  ];
}

/** Names who paused, with a link for those who may see keys. */
export function pausedBy(id: string, names: ActorNames, isAdmin: boolean) {
  const name = names.get(id) ?? null;
  return isAdmin ? <Actor id={id} name={name} /> : name ?? ACTORS.get(id) ?? id;
}

/** Returns when a pause of a typed length ends; undefined for no text. */
export function endAfter(text: string, nowMs: number): string | undefined {
  if (text === "") return undefined;
  const seconds = parseDuration(text);
  if (seconds !== null) return formatInstant(nowMs + seconds * 1_000);
  const message = "Must be a duration such as 30m, 2h or 7d";
  throw new Refused({ code: "invalid_field", message, field: "lasts" });
}

/** Fields of each form that pauses. */
export const REASON = { required: true, maxlength: REASON_CHARS_MAX } as const;

export const LASTS_HINT = "Such as 30m, 2h or 7d. Empty: until you resume it.";

const PAUSE_PAGES = objectPages(PAUSES, {
  frame: () => (view) => withSpendTabs("Pauses", view),
  removed: RESUMED,
  bodyOf: (form, nowMs) => {
    checkScope(form);
    const until = endAfter(form.get("lasts") ?? "", nowMs);
    return { ...bodyIn(PAUSES.schema, form), ...until !== undefined && { until } };
  },
  open: async (visit) => {
    const known = await readKnownValues(visit);
    return {
      renamed: { until: "lasts" },
      fields: (field) => (
        <>
          {scopeFields(field, known, false)}
          {field("reason", "Reason", "Agents that ask are told it.", REASON)}
          {field("lasts", "Lasts", LASTS_HINT)}
        </>
      ),
    };
  },
});

const showPauses = showList(PAUSE_PAGES, async (pauses, visit) => {
  const { nowMs } = visit.c.get("frame");
  const names = await actorNames(visit, pauses.flatMap(({ updatedBy }) => updatedBy ?? []));
  return {
    subtitle: "Agents that ask before they start are told to wait",
    rows: pauses,
    columns: columnsFor(visit.isAdmin, names),
    parts: [
      ["Paused now", (pause: Pause) => isPaused(pause, nowMs)],
      ["Ended", (pause: Pause) => !isPaused(pause, nowMs)],
    ],
    empty: [
      "Nothing is paused",
      "A pause stops an agent, a customer, a feature or the team until it ends or you resume it. " +
      "Runs that are reported meanwhile are stored as usual.",
    ],
  };
});

/** Pauses, a part of the area of spend. */
export const pausesPage = objectsPage(PAUSE_PAGES, showPauses);
