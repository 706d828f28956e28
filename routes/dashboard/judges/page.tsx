/** Judges: what they cost today, which share of the runs passed, and why one is blocked. */
import { heldAmount } from "../../../domain/judges/account.ts";
import { type Judge, judgeAgent } from "../../../domain/judges/judge.ts";
import type { Obstacle } from "../../../domain/judges/obstacle.ts";
import { picodollars } from "../../../domain/pricing/money.ts";
import { readRecords } from "../agents/named_runs.tsx";
import { appliesWords } from "../checks/outcome.tsx";
import { LoadBar } from "../components/column_chart.tsx";
import { Ago, type Label, LabelSign, Money } from "../components/elements.tsx";
import { percentText } from "../components/format.ts";
import { type Column, column, numberColumn } from "../components/table.tsx";
import type { Reader } from "../layout/page.tsx";
import { queryText, RUNS_PATH } from "../layout/paths.ts";
import { showList, slugColumn } from "../objects/list.tsx";
import { objectsPage, showObject } from "../objects/pages.tsx";
import { JUDGE_PAGES } from "./judge_form.tsx";
import { obstacleText } from "./results.tsx";

/** Latest runs that the share that passed is counted from. */
const RUNS_READ = 50;

/** Reads the accounts of judges, and what they said about the latest runs. */
async function readRows({ deps, team }: Reader, judges: readonly Judge[]) {
  const { rows } = judges.length === 0
    ? { rows: [] }
    : await deps.runList.page(team, { from: null, to: null, isRoot: true }, null, RUNS_READ);
  const [states, runs] = await Promise.all([
    deps.judgeStates(team, judges),
    readRecords({ deps, team }, rows.map(({ id }) => id)),
  ]);
  const results = runs.flatMap((run) => run.judges).filter(({ state }) => state === "done");
  return judges.flatMap((judge, i) => {
    const state = states[i];
    const own = results.filter((result) => result.judge === judge.slug);
    const passed = own.filter((result) => result.passed).length;
    return state === undefined ? [] : [{ judge, ...state, judged: own.length, passed }];
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

/** Labels by what keeps a judge from calling its model. */
const OBSTACLES: Readonly<Record<Obstacle["kind"], Label>> = {
  disabled: ["Disabled", "off"],
  no_connection: ["No connection", "warn"],
  unpriced: ["No price", "warn"],
  blocked: ["Blocked", "bad"],
  too_dear: ["Too dear", "warn"],
  budget: ["Cap used up", "warn"],
};

const WORKS: Label = ["Works", "ok"];

/** Shows the state of a judge, with what to do unless it works. */
function stateCell({ judge, obstacle }: JudgeRow) {
  if (obstacle === null) return <LabelSign of={WORKS} isWord />;
  const { kind, since } = obstacle;
  return [
    <LabelSign of={OBSTACLES[kind]} isWord />,
    kind === "blocked" && since !== null && (
      <>
        {" "}
        <span class="soft">
          <Ago at={since} />
        </span>
      </>
    ),
    kind !== "disabled" && <small class="under">{obstacleText(judge, obstacle)}</small>,
  ];
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
      below: null,
    };
  },
);

export const judgesPage = objectsPage(JUDGE_PAGES, showJudges, showJudge, {
  menu: { name: "Judges", area: "main" },
});
