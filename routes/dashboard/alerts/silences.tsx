/** `/dashboard/alerts/silences`: times in which messages are held back. */
import { RULES } from "../../../domain/alerts/rule_body.ts";
import { type Silence, SILENCES } from "../../../domain/alerts/silence.ts";
import { formatInstant, parseInstant } from "../../../domain/core/time.ts";
import { madeBy } from "../../http/context.ts";
import { Ago, At } from "../components/elements.tsx";
import { listed } from "../components/format.ts";
import { bodyIn, endAfter, wrongField } from "../objects/form.tsx";
import { matchFields, readAll, readKnownValues } from "../objects/known_values.tsx";
import { buttonColumn, showList } from "../objects/list.tsx";
import { objectPages, ofObject } from "../objects/pages.tsx";
import { type Column, column, nameColumn } from "../components/table.tsx";
import { seeOther } from "../layout/page.tsx";
import { alertFrame, isCurrent } from "./frame.tsx";
import { SILENCES_PATH } from "./paths.ts";

function columnsFor(isAdmin: boolean, now: number): readonly Column<Silence>[] {
  return [
    nameColumn("Silence", ({ slug, settings: { comment } }) => [
      slug,
      comment !== null && <small class="under">{comment}</small>,
    ]),
    { head: "Holds back", class: "whole", cell: ({ settings }) => matchWords(settings) },
    { head: "From", before: "from", cell: ({ settings }) => <At at={settings.fromMs} /> },
    column("Until", { before: "until" }, ({ settings: { untilMs } }) => (
      <>
        <At at={untilMs} />, <Ago at={untilMs} />
      </>
    )),
    ...isAdmin ? [endColumn(now)] : [],
  ];
}

/** Buttons that end current silences, and delete other ones. */
const endColumn = (now: number): Column<Silence> =>
  buttonColumn(
    SILENCE_PAGES,
    ({ settings }) => isCurrent(settings, now) ? ["End", "end"] : ["Delete", "delete"],
  );

/** Returns what a silence holds back, in words. */
function matchWords({ match: { rules, agents, customers } }: Silence["settings"]): string {
  const parts = Object.entries({ rule: rules, agent: agents, customer: customers })
    .filter(([, names]) => names.length > 0)
    .map(([noun, names]) => `${noun} ${listed(names, 3)}`);
  return parts.length === 0 ? "all messages" : parts.join(", ");
}

/** The pages of silences. Their form has a duration instead of an end. */
export const SILENCE_PAGES = objectPages(SILENCES, {
  frame: alertFrame("silences"),
  bodyOf: (form, now) => {
    const from = form.get("from") ?? "";
    const fromMs = from === "" ? now : instantIn(from);
    if (fromMs === null) throw wrongField("from", "a day and a time such as 2026-01-31 22:00");
    const until = endAfter(form.get("lasts") ?? "", fromMs);
    const begin = from !== "" && { from: formatInstant(fromMs) };
    return { ...bodyIn(SILENCES.schema, form), ...begin, until };
  },
  open: async (visit) => {
    const [rules, known] = await Promise.all([readAll(visit, RULES), readKnownValues(visit)]);
    return {
      empty: { lasts: "2h" },
      renamed: { until: "lasts" },
      fields: (field) => [
        <div class="fields">
          {field("from", "Begins (UTC)", "Empty: now.", { placeholder: "2026-01-31 22:00" })}
          {field("lasts", "Lasts", "Such as 30m, 2h or 7d; up to 30 days from now.", {
            required: true,
          })}
        </div>,
        field("rules", "Rules", "None: all rules.", { options: rules.map(({ slug }) => slug) }),
        <div class="fields">{matchFields(field, ["agents", "customers"], known)}</div>,
        field("comment", "Comment", "Why, for your team."),
      ],
    };
  },
});

/** Reads a day and a time of UTC as unix milliseconds; null for another text. */
function instantIn(text: string): number | null {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)Z?$/.exec(text) ?? [];
  return day === undefined ? null : parseInstant(`${day}T${time}:00Z`);
}

export const showSilences = showList(SILENCE_PAGES, (rows, { deps: { environment }, isAdmin }) => {
  const now = environment.now();
  return {
    subtitle: "Messages are held back; incidents still open",
    rows,
    columns: columnsFor(isAdmin, now),
    parts: [
      ["Current", ({ settings }: Silence) => isCurrent(settings, now)],
      ["Coming", ({ settings }: Silence) => settings.fromMs > now],
      ["Past", ({ settings }: Silence) => settings.untilMs <= now],
    ],
    empty: [
      "No silence",
      "A silence holds back the messages of rules, agents or customers, such as during an " +
      "upgrade. What is still open at its end is sent once.",
    ],
  };
});

/** Ends a silence now, if it is current. */
export const submitSilenceEnd = ofObject(SILENCE_PAGES, async ({ c, deps, team }, silence) => {
  const made = madeBy(c, deps);
  const { slug, settings, version } = silence;
  if (!isCurrent(settings, made.at)) return seeOther(SILENCES_PATH);
  const ended = { ...settings, untilMs: made.at };
  await deps.objects(SILENCES).put(team, slug, ended, version, made);
  return seeOther(SILENCES_PATH);
});
