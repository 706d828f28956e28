/** Judges: what they cost today, which share of the runs passed, and why one is blocked. */
import { type Blocked, capShareOf, heldAmount, worstCase } from "../../../domain/judges/account.ts";
import { type Judge, judgeAgent } from "../../../domain/judges/judge.ts";
import { isBlockedJudge } from "../../../domain/judges/judge_job.ts";
import { picodollars } from "../../../domain/pricing/money.ts";
import { readRecords } from "../agents/named_runs.tsx";
import { appliesWords } from "../checks/outcome.tsx";
import { LoadBar } from "../components/column_chart.tsx";
import { Ago, InlineNotice, type Label, LabelSign, Money } from "../components/elements.tsx";
import { percentText } from "../components/format.ts";
import { type Column, column, numberColumn } from "../components/table.tsx";
import type { Visit } from "../layout/page.tsx";
import { queryText, RUNS_PATH } from "../layout/paths.ts";
import { showList, slugColumn } from "../objects/list.tsx";
import { objectsPage, showObject } from "../objects/pages.tsx";
import { JUDGE_PAGES } from "./judge_form.tsx";
import { reasonText } from "./results.tsx";

/** Latest runs that the share that passed is counted from. */
const RUNS_READ = 50;

/** Reads the accounts of judges, and what they said about the latest runs. */
async function readRows(
  { c, deps, team }: Pick<Visit, "c" | "deps" | "team">,
  judges: readonly Judge[],
) {
  const { nowMs } = c.get("frame");
  const { rows } = judges.length === 0
    ? { rows: [] }
    : await deps.runList.page(team, { from: null, to: null, isRoot: true }, null, RUNS_READ);
  const [accounts, card, runs] = await Promise.all([
    deps.judgeAccounts(team, judges.map(({ slug }) => slug)),
    deps.rateCards.card(team),
    readRecords(deps, team, rows.map(({ id }) => id)),
  ]);
  const results = runs.flatMap((run) => run.judges).filter(({ state }) => state === "done");
  return judges.flatMap((judge, i) => {
    const account = accounts[i];
    const own = results.filter((result) => result.judge === judge.slug);
    const passed = own.filter((result) => result.passed).length;
    const { connection, model } = judge.settings;
    const rate = card.find(connection, model, nowMs)?.row;
    const hasConnection = deps.judgeConnections.includes(connection);
    const row = { judge, rate, hasConnection, judged: own.length, passed };
    return account === undefined ? [] : [{ ...row, account }];
  });
}

type JudgeRow = Awaited<ReturnType<typeof readRows>>[number];

const showJudges = showList(JUDGE_PAGES, async (judges, visit) => ({
  subtitle: "Models that score sampled runs, within a cap",
  rows: await readRows(visit, judges),
  columns: COLUMNS,
  empty: [
    "No judge yet",
    "A judge is a model with a rubric. It scores a share of the runs after their end, and never " +
    "spends more than its cap of a day. The operator sets its connection as RUNLEDGER_LLM.",
  ],
}));

const COLUMNS: readonly Column<JudgeRow>[] = [
  slugColumn(
    JUDGE_PAGES,
    ({ judge }) => judge.slug,
    ({ judge: { settings: { description } } }) =>
      description && <small class="under">{description}</small>,
  ),
  column("Judges", { class: "whole" }, ({ judge }) => appliesWords(judge.settings)),
  { head: "Model", cell: ({ judge: { settings } }) => `${settings.connection}/${settings.model}` },
  column("Today", { class: "whole" }, today),
  numberColumn("Passed", passedText, "passed"),
  { head: "State", class: "whole", cell: stateCell },
];

/** Shows what a judge has spent today, and may have to, against its cap. */
function today({ judge, account }: JudgeRow) {
  const cap = picodollars(judge.settings.dailyUsd);
  const onHold = heldAmount(account);
  const used = account.spent + onHold;
  const share = cap === 0n ? 0 : Math.min(100, 100 * Number(used) / Number(cap));
  const level = used >= cap && cap > 0n ? "far" : "now";
  return (
    <>
      <Money of={account.spent} /> of <Money of={cap} />
      <LoadBar share={share} mark={100} level={level} />
      {onHold > 0n && (
        <small class="under">
          <Money of={onHold} /> held for calls without an answer
        </small>
      )}
    </>
  );
}

function passedText({ judged, passed }: JudgeRow) {
  const title = `${passed} of ${judged} that it judged among the latest ${RUNS_READ} runs`;
  return judged === 0 ? "–" : <span title={title}>{percentText(passed, judged)}</span>;
}

/** State of a judge, with what to do unless it works. */
interface JudgeState {
  readonly label: Label;
  readonly words?: string;
  /** Absent unless it is blocked. */
  readonly blocked?: Blocked;
}

function stateOf({ judge, account, rate, hasConnection }: JudgeRow): JudgeState {
  const { connection, dailyUsd, maxOutputTokens, enabled } = judge.settings;
  const warning = (word: string, words: string): JudgeState => ({
    label: [word, "warn", "word st-warn"],
    words,
  });
  if (!enabled) return { label: ["Disabled", "off", "word st-off"] };
  if (!hasConnection) return warning("No connection", noConnection(connection));
  if (rate === undefined) return warning("No price", `${reasonText("unpriced")} ${SKIPPED}`);
  const { blocked } = account;
  if (blocked !== null && isBlockedJudge(judge, blocked)) {
    return { label: ["Blocked", "bad", "word st-bad"], words: reasonText(blocked.reason), blocked };
  }
  // No request has fewer bytes.
  if (worstCase(rate, 0, maxOutputTokens) > picodollars(dailyUsd)) {
    return warning("Too dear", `${reasonText("too_dear")} ${SKIPPED}`);
  }
  return capShareOf(account, dailyUsd) === "used_up"
    ? warning("Cap used up", `${reasonText("budget")} It judges again after midnight UTC.`)
    : { label: ["Works", "ok", "word st-ok"] };
}

const SKIPPED = "Until then its runs are skipped.";

function noConnection(name: string): string {
  return `RUNLEDGER_LLM of this service lacks “${name}”. The operator adds it and starts the ` +
    "service again, or an admin chooses another connection. Until then its runs wait.";
}

function stateCell(row: JudgeRow) {
  const { label, words, blocked } = stateOf(row);
  return (
    <>
      <LabelSign of={label} />
      {blocked !== undefined && (
        <>
          {" "}
          <span class="soft">
            <Ago at={blocked.since} />
          </span>
        </>
      )}
      {words !== undefined && <small class="under">{words}</small>}
    </>
  );
}

const showJudge = showObject(
  JUDGE_PAGES,
  "It judges no further runs. Its results stay on their runs.",
  async (judge, visit) => {
    const [row] = await readRows(visit, [judge]);
    const { slug, settings } = judge;
    const runs = RUNS_PATH + queryText([["min_score", `${judgeAgent(slug)}=0`]]);
    return {
      subtitle: settings.description ?? `${settings.connection}/${settings.model}`,
      facts: [
        ["State", row && stateCell(row)],
        ["Cost today", row && today(row)],
        ["Passed", row && passedText(row)],
        ["Judges", appliesWords(settings)],
        ["Model", `${settings.connection}/${settings.model}`],
        ["Runs", <a href={runs}>Runs that it scored</a>],
      ],
      below: row && stateOf(row).blocked
        ? (
          <InlineNotice kind="bad">
            It tries one call in 10 minutes. Saving it unblocks it.
          </InlineNotice>
        )
        : null,
    };
  },
);

export const judgesPage = objectsPage(JUDGE_PAGES, showJudges, showJudge, {
  menu: { name: "Judges", area: "main" },
});
