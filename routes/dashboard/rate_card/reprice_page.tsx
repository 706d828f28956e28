/** `/dashboard/rate-card/reprice`: pricing stored calls anew, and the jobs that did. */
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { parseReprice } from "../../../domain/repricing/body.ts";
import type { RepriceJob } from "../../../domain/repricing/job.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { beginReprice } from "../../api/repricing/reprice.ts";
import { RATE_CARD_PATH } from "../layout/paths.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { Ago, Empty, InlineNotice, Wide } from "../components/elements.tsx";
import { formatCount, pluralOf } from "../components/format.ts";
import { CostDifference, JOB_STATE_LABELS, periodText } from "./labels.tsx";
import { instantText } from "./rate_form_values.ts";
import { jobPath, REPRICE } from "./paths.ts";

/** What the form says, by its fields. */
type Sent = ReadonlyMap<string, string>;

/** The fields of the form, as the API names them. */
const FIELDS = ["model", "provider", "from", "to"] as const;

/** What was done to the card before one came here. */
const DONE: ReadonlyMap<string, string> = new Map([
  ["stored", "The price is stored, and calls that come in from now on cost what it says."],
  ["deleted", "The row is deleted, and calls that come in from now on are priced without it."],
]);

/** Shows the form and the jobs so far. */
export function showReprices(deps: AppDeps): Handle {
  return async (c) => {
    const parameters = parseQuery(queryOf(c));
    if (!parameters.ok) return fail(c, parameters.problem);
    return await showForm(deps, c, parameters.value, null);
  };
}

/** Begins a job: one that only looks, unless it was said that it should change prices. */
export function beginRepricePage(deps: AppDeps): Handle {
  return async (c) => {
    const form = c.get("form");
    const sent = new Map(FIELDS.map((name) => [name, (form.get(name) ?? "").trim()]));
    const fields = [...sent].filter(([, text]) => text !== "").map(([name, text]) =>
      [name, name === "from" || name === "to" ? instantText(text) : text] as const
    );
    const value = { ...Object.fromEntries(fields), dry_run: form.get("dry_run") !== "false" };
    const request = parseReprice({ text: JSON.stringify(value), value });
    if (!request.ok) return await showForm(deps, c, sent, request.problem);
    const begun = await beginReprice(deps, c.get("principal"), request.value);
    if (begun.kind === "refused") return await showForm(deps, c, sent, begun.problem);
    return seeOther(jobPath(begun.job.id));
  };
}

async function showForm(
  { reprices, environment }: AppDeps,
  c: RequestContext,
  sent: Sent,
  problem: Problem | null,
): Promise<Response> {
  const jobs = await reprices.list(c.get("principal").team);
  const done = DONE.get(sent.get("done") ?? "");
  if (problem !== null) c.set("problem", problem);
  return showPage(c, {
    title: "Price calls anew",
    status: problem === null ? 200 : ERRORS[problem.code].status,
    aside: <a href={RATE_CARD_PATH}>Rate card</a>,
    body: (
      <>
        {done === undefined ? null : (
          <InlineNotice kind="good">
            <p>{done} What is stored already stays as it is until it is priced anew.</p>
          </InlineNotice>
        )}
        <Form sent={sent} problem={problem} />
        <Jobs jobs={jobs} now={environment.now()} />
      </>
    ),
  });
}

const LABELS = {
  model: "Model, as the calls name it",
  provider: "Provider (empty: any)",
  from: "Runs from (UTC day)",
  to: "Runs before (UTC day)",
} as const;

function Form({ sent, problem }: { readonly sent: Sent; readonly problem: Problem | null }) {
  return (
    <form method="post" action={REPRICE} class="rate-form">
      <fieldset>
        <legend class="hidden">Which calls</legend>
        {FIELDS.map((name) => {
          const isWrong = problem?.field === name;
          return (
            <label>
              {LABELS[name]}
              <input
                type="text"
                name={name}
                value={sent.get(name) ?? ""}
                required={name === "model"}
                placeholder={name === "from" || name === "to" ? "all of them" : ""}
                autocomplete="off"
                {...(isWrong
                  ? { "aria-invalid": "true", "aria-describedby": `${name}-problem` }
                  : {})}
              />
              {isWrong ? <small id={`${name}-problem`}>{problem.message}.</small> : null}
            </label>
          );
        })}
      </fieldset>
      <div class="actions">
        <button type="submit" name="dry_run" value="true">See what would change</button>
        <span class="soft">This changes nothing yet.</span>
      </div>
    </form>
  );
}

function Jobs({ jobs, now }: { readonly jobs: readonly RepriceJob[]; readonly now: number }) {
  if (jobs.length === 0) {
    return (
      <Empty title="Nothing was priced anew yet">
        <p>
          After a price has changed, name a model above to see what its stored calls would cost now.
        </p>
      </Empty>
    );
  }
  return (
    <section>
      <h2>Earlier jobs</h2>
      <Wide label="Earlier jobs">
        <table class="named folding">
          <thead>
            <tr>
              <th scope="col">Model</th>
              <th scope="col">Runs</th>
              <th scope="col">Kind</th>
              <th scope="col">State</th>
              <th scope="col" class="number">Calls</th>
              <th scope="col" class="number">Difference</th>
              <th scope="col">Begun</th>
            </tr>
          </thead>
          <tbody>{jobs.map((job) => <JobRow job={job} now={now} />)}</tbody>
        </table>
      </Wide>
    </section>
  );
}

function JobRow({ job, now }: { readonly job: RepriceJob; readonly now: number }) {
  return (
    <tr>
      <th scope="row">
        <a href={jobPath(job.id)}>{modelKey(job.spec)}</a>
      </th>
      <td data-before="runs">{periodText(job)}</td>
      <td>{job.dryRun ? "only looked" : "priced anew"}</td>
      <td>{JOB_STATE_LABELS[job.state]}</td>
      <td class="number" data-unit={pluralOf(job.sum.calls, "call")}>
        {formatCount(job.sum.calls)}
      </td>
      <td class="number">
        <CostDifference of={job.sum} />
      </td>
      <td data-before="begun">
        <Ago at={job.createdAt} now={now} />
      </td>
    </tr>
  );
}
