/** `/dashboard/rate-card/reprice`: the form that reprices stored calls, and past jobs. */
import type { Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { parseReprice, type RepriceJob } from "../../../domain/repricing/job.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { beginReprice } from "../../api/repricing/reprice.ts";
import { RATE_CARD_PATH } from "../layout/paths.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { Crumbs, Empty, InlineNotice, Section } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import {
  bodyOf,
  type InputField,
  LabeledInputs,
  readTexts,
  type Texts,
  valuesIn,
} from "../components/form_fields.tsx";
import { type Column, countColumn, numberColumn, Table } from "../components/table.tsx";
import { CostDifference, JOB_STATE_LABELS, periodText, RATE_STORED } from "./job_page.tsx";
import { instantOfDay } from "./rate_values.ts";
import { jobPath, REPRICE } from "./paths.ts";

/** Changes of the card that redirect to this page. */
const DONE: ReadonlyMap<string, string> = new Map([
  ["stored", RATE_STORED],
  ["deleted", "The row is deleted, and calls that come in from now on are priced without it."],
]);

/** Shows the form and past jobs. */
export const showReprices: Handler = async (c, deps) => {
  const parameters = parseQuery(queryOf(c));
  if (!parameters.ok) return fail(c, parameters.problem);
  const { done, ...texts } = Object.fromEntries(parameters.value);
  return await showForm(deps, c, texts, null, DONE.get(done ?? ""));
};

/** Starts a job: a dry run, unless the form requests repricing. */
export const submitReprice: Handler = async (c, deps) => {
  const form = c.get("form");
  const texts = readTexts(form, FIELDS.map(([name]) => name));
  const fields = valuesIn(
    texts,
    (text, name) => name === "from" || name === "to" ? instantOfDay(text) : text,
  );
  const request = parseReprice(bodyOf({ ...fields, dry_run: form.get("dry_run") !== "false" }));
  if (!request.ok) return await showForm(deps, c, texts, request.problem);
  const started = await beginReprice(deps, c.get("principal"), request.value);
  if (started.kind === "refused") return await showForm(deps, c, texts, started.problem);
  return seeOther(jobPath(started.job.id));
};

async function showForm(
  { reprices, environment }: AppDeps,
  c: RequestContext,
  texts: Texts,
  problem: Problem | null,
  done?: string,
): Promise<Response> {
  const jobs = await reprices.list(c.get("principal").team);
  if (problem !== null) c.set("problem", problem);
  return showPage(c, {
    title: "Reprice calls",
    problem,
    crumbs: <Crumbs links={[["Prices", RATE_CARD_PATH]]} />,
    body: (
      <>
        {done === undefined ? null : (
          <InlineNotice kind="good">
            <p>{done} Stored costs do not change until you reprice them.</p>
          </InlineNotice>
        )}
        <Form texts={texts} problem={problem} />
        <Jobs jobs={jobs} now={environment.now()} />
      </>
    ),
  });
}

const LABEL_FIELD = { placeholder: "", autocomplete: "off" };
const RUNS_FIELD = { placeholder: "all of them", autocomplete: "off" };

const FIELDS: readonly InputField[] = [
  ["model", "Model, as the calls name it", { required: true, ...LABEL_FIELD }],
  ["provider", "Provider (empty: any)", LABEL_FIELD],
  ["from", "Runs from (UTC day)", RUNS_FIELD],
  ["to", "Runs before (UTC day)", RUNS_FIELD],
];

function Form({ texts, problem }: { readonly texts: Texts; readonly problem: Problem | null }) {
  return (
    <form method="post" action={REPRICE} class="rate-form">
      <fieldset>
        <legend class="sr">Which calls</legend>
        <LabeledInputs fields={FIELDS} texts={texts} problem={problem} />
      </fieldset>
      <div class="actions">
        <button type="submit" class="btn main" name="dry_run" value="true">
          See what would change
        </button>
        <span class="soft">This changes nothing yet.</span>
      </div>
    </form>
  );
}

function Jobs({ jobs, now }: { readonly jobs: readonly RepriceJob[]; readonly now: number }) {
  if (jobs.length === 0) {
    return (
      <Empty title="No calls were repriced yet">
        <p>
          After a price has changed, name a model above to see what its stored calls would cost now.
        </p>
      </Empty>
    );
  }
  return (
    <Section title="Earlier jobs">
      <Table label="Earlier jobs" class="fold named" columns={columnsAt(now)} rows={jobs} />
    </Section>
  );
}

function columnsAt(now: number): readonly Column<RepriceJob>[] {
  return [
    {
      head: "Model",
      isName: true,
      cell: ({ id, spec }) => <a href={jobPath(id)}>{modelKey(spec)}</a>,
    },
    { head: "Runs", before: "runs", cell: periodText },
    { head: "Kind", cell: ({ dryRun }) => dryRun ? "dry run" : "repriced" },
    { head: "State", cell: ({ state }) => JOB_STATE_LABELS[state] },
    countColumn("Calls", ({ sum }) => sum.calls, "call"),
    numberColumn("Difference", ({ sum }) => <CostDifference of={sum} />),
    { head: "Begun", before: "begun", cell: ({ createdAt }) => <Ago at={createdAt} now={now} /> },
  ];
}
