/** `/dashboard/alerts/silences`: times in which messages are held back. */
import type { Silence } from "../../../domain/alerts/silence.ts";
import { parseSilence } from "../../../domain/alerts/silence_body.ts";
import type { Rule } from "../../../domain/alerts/rule.ts";
import { CONFIG_SLUG } from "../../../domain/config/objects.ts";
import type { Body } from "../../../domain/core/body.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { formatInstant, parseInstant } from "../../../domain/core/time.ts";
import { parseDuration } from "../../../domain/monitors/schedule.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { noSuch } from "../../api/config/objects.ts";
import { seeOther, showFormOnProblem, showPage } from "../layout/reply.tsx";
import { Crumbs, Done, Empty, SAVED, Section } from "../components/elements.tsx";
import {
  atFormField,
  bodyOf,
  CheckBoxes,
  Field,
  FormProblem,
  listIn,
  readTexts,
  type Texts,
  WRONG_SLUG,
} from "../components/form_fields.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Ago, At } from "../components/time.tsx";
import { readSetup, showAlerts } from "./frame.tsx";
import { madeBy } from "../../http/context.ts";
import { KnownLists, type KnownValues, readKnownValues } from "./known_values.tsx";
import { endSilencePath, NEW_SILENCE_PATH, SILENCES_PATH } from "./paths.ts";
import { listed } from "../components/format.ts";

export const showSilences: Handler = async (c, deps) => {
  const setup = await readSetup(c, deps);
  const { silences, isAdmin, now } = setup;
  const parts = [
    ["Current", silences.filter(({ settings }) => isCurrent(settings, now))],
    ["Coming", silences.filter(({ settings }) => settings.fromMs > now)],
    ["Past", silences.filter(({ settings }) => settings.untilMs <= now)],
  ] as const;
  return showAlerts(c, setup, "silences", {
    title: "Silences",
    lead: "Messages are held back; incidents go on",
    aside: isAdmin ? <a class="btn main" href={NEW_SILENCE_PATH}>New silence</a> : null,
    body: (
      <>
        <Done c={c} />
        {silences.length === 0 && (
          <Empty title="No silence">
            <p>
              A silence holds back the messages of rules, agents or customers, such as during an
              upgrade. What is still open at its end is sent once.
            </p>
          </Empty>
        )}
        {parts.map(([title, rows]) =>
          rows.length > 0 && (
            <Section title={title}>
              <Table label={title} class="fold" columns={columnsFor(isAdmin, now)} rows={rows} />
            </Section>
          )
        )}
      </>
    ),
  });
};

/** Returns whether a silence holds messages back. */
function isCurrent({ fromMs, untilMs }: Silence["settings"], now: number): boolean {
  return fromMs <= now && now < untilMs;
}

function columnsFor(isAdmin: boolean, now: number): readonly Column<Silence>[] {
  return [
    {
      head: "Silence",
      isName: true,
      cell: ({ slug, settings: { comment } }) => (
        <>
          {slug}
          {comment !== null && <small class="under">{comment}</small>}
        </>
      ),
    },
    { head: "Holds back", class: "whole", cell: ({ settings }) => matchWords(settings) },
    { head: "From", before: "from", cell: ({ settings }) => <At at={settings.fromMs} /> },
    {
      head: "Until",
      before: "until",
      cell: ({ settings: { untilMs } }) => (
        <>
          <At at={untilMs} />, <Ago at={untilMs} now={now} />
        </>
      ),
    },
    ...isAdmin ? [END(now)] : [],
  ];
}

const END = (now: number): Column<Silence> => ({
  head: <span class="sr">Action</span>,
  class: "end-cell",
  cell: ({ slug, settings }) => {
    const verb = isCurrent(settings, now) ? "End" : "Delete";
    return (
      <form class="one" method="post" action={endSilencePath(slug)}>
        <button type="submit" class="btn small" aria-label={`${verb} ${slug}`}>{verb}</button>
      </form>
    );
  },
});

/** Returns what a silence holds back, in words. */
function matchWords({ match: { rules, agents, customers } }: Silence["settings"]): string {
  const parts = [
    ...rules.length === 0 ? [] : [`rule ${listed(rules, 3)}`],
    ...agents.length === 0 ? [] : [`agent ${listed(agents, 3)}`],
    ...customers.length === 0 ? [] : [`customer ${listed(customers, 3)}`],
  ];
  return parts.length === 0 ? "all messages" : parts.join(", ");
}

const NAMES = ["slug", "agents", "customers", "from", "lasts", "comment"] as const;

interface SilenceTexts {
  readonly texts: Texts;
  readonly rules: readonly string[];
}

export const showNewSilence: Handler = async (c, deps) => {
  const { rules } = await readSetup(c, deps);
  const known = await readKnownValues(deps, c.get("principal").team);
  const texts = { texts: { lasts: "2h" }, rules: [] };
  return showPage(c, newSilenceView({ texts, rules, known, problem: null }));
};

function newSilenceView(props: SilenceFormProps) {
  return {
    title: "New silence",
    crumbs: <Crumbs links={[["Silences", SILENCES_PATH]]} />,
    body: <SilenceForm {...props} problem={atFormField(props.problem, { until: "lasts" })} />,
  };
}

interface SilenceFormProps {
  readonly texts: SilenceTexts;
  readonly rules: readonly Rule[];
  readonly known: KnownValues;
  readonly problem: Problem | null;
}

function SilenceForm({ texts: { texts, rules: chosen }, rules, known, problem }: SilenceFormProps) {
  const field = (name: typeof NAMES[number], label: string, hint?: string, more = {}) => (
    <Field {...{ name, label, hint, problem }} value={texts[name] ?? ""} {...more} />
  );
  return (
    <form class="narrow" method="post" action={SILENCES_PATH}>
      <KnownLists known={known} />
      <FormProblem problem={problem} fields={[...NAMES, "rules"]} />
      {field("slug", "Name", "Lower-case letters, digits, dots, dashes and underscores.", {
        required: true,
        maxlength: 64,
        placeholder: "upgrade",
      })}
      <div class="fields">
        {field("from", "Begins (UTC)", "Empty: now.", { placeholder: "2026-01-31 22:00" })}
        {field("lasts", "Lasts", "Such as 30m, 2h or 7d; up to 30 days from now.", {
          required: true,
        })}
      </div>
      <CheckBoxes
        name="rules"
        label="Rules"
        options={rules.map(({ slug }) => [slug, slug] as const)}
        chosen={chosen}
        problem={problem}
        hint="None: all rules."
      />
      <div class="fields">
        {field(
          "agents",
          "Only these agents",
          "Slugs, by commas; a * at the end matches any rest.",
          { list: "known-agents" },
        )}
        {field("customers", "Only these customers", "Ids, by commas.", {
          list: "known-customers",
        })}
      </div>
      {field("comment", "Comment", "Why, for your team.")}
      <button type="submit" class="btn main">Create silence</button>
    </form>
  );
}

/** Creates a silence, or shows the form again. */
export const submitSilence: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const form = c.get("form");
  const texts = { texts: readTexts(form, NAMES), rules: form.getAll("rules") };
  const { rules } = await readSetup(c, deps);
  const known = await readKnownValues(deps, team);
  showFormOnProblem(c, (problem) => newSilenceView({ texts, rules, known, problem }));
  const { slug = "" } = texts.texts;
  if (!CONFIG_SLUG.test(slug)) return fail(c, WRONG_SLUG);
  const made = madeBy(c, deps);
  const body = bodyOfSilence(texts, made.at);
  if ("code" in body) return fail(c, body);
  const parsed = parseSilence(body, made.at);
  if (!parsed.ok) return fail(c, parsed.problem);
  // Version 0 replaces no other silence.
  const put = await deps.silences.put(team, slug, parsed.value.settings, 0, made);
  return put.ok ? seeOther(SILENCES_PATH + SAVED) : fail(c, put.problem);
};

/** Returns the body of the API call that the form makes, or why its times are none. */
function bodyOfSilence({ texts, rules }: SilenceTexts, now: number): Body | Problem {
  const { agents = "", customers = "", from = "", lasts = "", comment = "" } = texts;
  const wrong = (field: string, message: string) =>
    ({ code: "invalid_field", message, field }) as const;
  const fromMs = from === "" ? now : instantIn(from);
  if (fromMs === null) return wrong("from", "Must be a day and a time such as 2026-01-31 22:00");
  const seconds = parseDuration(lasts);
  if (seconds === null) return wrong("lasts", "Must be a duration such as 30m, 2h or 7d");
  const untilMs = fromMs + seconds * 1_000;
  return bodyOf({
    match: { rules, agents: listIn(agents), customers: listIn(customers) },
    ...(from === "" ? {} : { from: formatInstant(fromMs) }),
    // A far year has no instant to send; the parser refuses the latest one.
    until: formatInstant(Math.min(untilMs, INSTANT_MAX)),
    ...(comment === "" ? {} : { comment }),
  });
}

/** Latest instant that a form sends, unix milliseconds. */
const INSTANT_MAX = Date.UTC(9999, 0, 1);

/** Reads a day and a time of UTC as unix milliseconds; null for another text. */
function instantIn(text: string): number | null {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)Z?$/.exec(text) ?? [];
  return day === undefined ? null : parseInstant(`${day}T${time}:00Z`);
}

/** Ends a current silence now; deletes another one. */
export const submitSilenceEnd: Handler = async (c, deps) => {
  const { team } = c.get("principal");
  const slug = c.req.param("slug") ?? "";
  const silence = CONFIG_SLUG.test(slug) ? await deps.silences.read(team, slug) : null;
  if (silence === null) return fail(c, noSuch("silence"));
  const made = madeBy(c, deps);
  const { settings, version } = silence;
  if (!isCurrent(settings, made.at)) {
    await deps.silences.remove(team, slug, made);
    return seeOther(SILENCES_PATH);
  }
  const ended = { ...settings, untilMs: made.at };
  const put = await deps.silences.put(team, slug, ended, version, made);
  return put.ok ? seeOther(SILENCES_PATH) : fail(c, put.problem);
};
