/** Pauses: what may not run, who said so and why, and how it runs again. */
import { isPaused, type Pause, PAUSES, REASON_CHARS_MAX } from "../../../domain/budgets/budget.ts";
import { At, RESUMED } from "../components/elements.tsx";
import { type Column, column, nameColumn } from "../components/table.tsx";
import { Actor, type ActorNames, actorNames, ACTORS } from "../keys/labels.tsx";
import { bodyIn, endAfter } from "../objects/form.tsx";
import { readKnownValues } from "../objects/known_values.tsx";
import { buttonColumn, showList } from "../objects/list.tsx";
import { objectPages, objectsPage } from "../objects/pages.tsx";
import { checkScope, scopeFields, scopeText, withSpendTabs } from "./scope.tsx";

function columnsFor(isAdmin: boolean, names: ActorNames): readonly Column<Pause>[] {
  return [
    nameColumn("Pause", ({ slug, settings: { reason } }) => [
      slug,
      <small class="under">{reason}</small>,
    ]),
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

/** Returns the field with the end of a pause of a typed length; none for no text. */
export function untilAfter(text: string, nowMs: number) {
  return text !== "" && { until: endAfter(text, nowMs) };
}

/** Fields of each form that pauses. */
export const REASON = { required: true, maxlength: REASON_CHARS_MAX } as const;

export const LASTS_HINT = "Such as 30m, 2h or 7d. Empty: until you resume it.";

const PAUSE_PAGES = objectPages(PAUSES, {
  frame: () => (view) => withSpendTabs("Pauses", view),
  removed: RESUMED,
  bodyOf: (form, nowMs) => {
    checkScope(form);
    return { ...bodyIn(PAUSES.schema, form), ...untilAfter(form.get("lasts") ?? "", nowMs) };
  },
  open: async (visit) => {
    const known = await readKnownValues(visit);
    return {
      renamed: { until: "lasts" },
      fields: (field) => [
        scopeFields(field, known, false),
        field("reason", "Reason", "Agents that ask are told it.", REASON),
        field("lasts", "Lasts", LASTS_HINT),
      ],
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
