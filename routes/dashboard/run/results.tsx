/** The results of a run: output, scores, metadata, cost by model, relatives, and the stages after its end. */
import {
  retryAt,
  STAGE_ATTEMPTS_MAX,
  type StageProgress,
  type StageState,
} from "../../../domain/runs/stages.ts";
import type { Child } from "hono/jsx";
import { costByModel, type ModelCost } from "../../../domain/runs/explain_cost.ts";
import type { AddedScore } from "../../../domain/runs/scores.ts";
import { LabelList, Money, Section, Status } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { durationText, formatCount } from "../components/format.ts";
import { type Column, countColumn, numberColumn, Table } from "../components/table.tsx";
import { FoldedSection } from "./details.tsx";
import { CallCost, UnpricedCall } from "./call_cost.tsx";
import { Output } from "./payload.tsx";
import type { RunData } from "./run_load.ts";
import { CHILDREN_LISTED, rawPath } from "./paths.ts";
import { runPath } from "../layout/paths.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";

/** Shows the output, if there is one. */
export function OutputSection({ run: { id, output } }: RunData) {
  if (output === null) return null;
  return (
    <Section id="output" title="Output">
      <Output run={id} output={output} />
    </Section>
  );
}

export function Scores({ run: { scores, addedScores }, nowMs }: RunData) {
  if (scores.length + addedScores.length === 0) return null;
  const rows = [
    ...scores.map(([name, value]) => ({ name, value, from: "the run itself" })),
    ...addedScores.map(({ name, value, source, receivedAt }) => {
      const from = (
        <>
          {source}, <Ago at={receivedAt} now={nowMs} />
        </>
      );
      return { name, value, from };
    }),
  ];
  return (
    <Section id="scores" title="Scores">
      <Table label="Scores" columns={SCORE_COLUMNS} rows={rows} />
    </Section>
  );
}

const SCORE_COLUMNS: readonly Column<Pick<AddedScore, "name" | "value"> & { from: Child }>[] = [
  { head: "Score", isName: true, cell: ({ name }) => name },
  {
    head: "Value",
    cell: ({ value }) => value === true ? "✓ true" : value === false ? "✕ false" : String(value),
  },
  { head: "From", cell: ({ from }) => from },
];

export function MetadataTable({ run: { metadata } }: RunData) {
  if (metadata === null || metadata.length === 0) return null;
  return (
    <Section id="metadata" title="Metadata">
      <LabelList
        pairs={metadata.map(([key, value]) => [
          key,
          value === null ? <i>removed by age</i> : String(value),
        ])}
      />
    </Section>
  );
}

/** Shows the cost, model by model. */
export function CostSection({ page, ownCall, family, isAdmin }: RunData) {
  const lines = costByModel(page);
  if (lines.length === 0 && ownCall === null) return null;
  return (
    <Section
      id="cost"
      title="Cost by model"
      aside={family.children.length > 0 ? <span class="quiet">without child runs</span> : undefined}
    >
      {lines.length > 0 && (
        <Table label="Cost by model" class="folding" columns={MODEL_COLUMNS} rows={lines} />
      )}
      {lines.filter(({ priced }) => priced === false).map((line) => (
        <UnpricedCall {...line} mayPrice={isAdmin} />
      ))}
      {ownCall?.unpriced === false && <CallCost call={ownCall} mayPrice={isAdmin} />}
    </Section>
  );
}

const MODEL_COLUMNS: readonly Column<ModelCost>[] = [
  {
    head: "Model",
    isName: true,
    cell: ({ model, provider }) => (
      <>
        {model ?? "(no model)"}
        {provider !== null && <span class="soft">{` ${provider}`}</span>}
      </>
    ),
  },
  countColumn("Calls", ({ calls }) => calls, "call"),
  numberColumn("Input", ({ inputTokens }) => formatCount(inputTokens), "in"),
  numberColumn(
    "of it cached",
    ({ cachedInputTokens }) => formatCount(cachedInputTokens),
    "of it cached",
  ),
  numberColumn("Output", ({ outputTokens }) => formatCount(outputTokens), "out"),
  numberColumn(
    "Cost",
    ({ priced, cost }) =>
      priced === true ? <Money of={cost} /> : priced === null ? "no tokens" : "no price",
  ),
];

const STATE_LABELS: Readonly<Record<StageState, readonly [sign: string, meaning: string]>> = {
  pending: ["…", "waiting"],
  done: ["✓", "done"],
  skipped: ["–", "skipped"],
  retrying: ["↻", "failed, is tried again"],
  dead: ["✕", "given up"],
};

/** Shows the stages; an open run has none. */
export function Stages({ run: { id, processing }, nowMs }: RunData) {
  // Stages that are done, or have nothing to do, are no news. Before the cost is done, it is not known
  // which of the others have.
  const [cost] = processing;
  const known = cost?.state === "done" ? processing : processing.slice(0, 1);
  const open = known.filter(({ state }) => state !== "skipped");
  if (open.every(({ state }) => state === "done")) return null;
  const columns: readonly Column<StageProgress>[] = [
    { head: "Stage", isName: true, cell: ({ stage }) => stage },
    { head: "State", cell: (stage) => stateOf(stage, nowMs) },
    numberColumn("Tries", ({ attempts }) => attempts),
    { head: "Since", cell: ({ at }) => <Ago at={at} now={nowMs} /> },
    { head: "Last error", cell: ({ error }) => error ?? "" },
  ];
  const hasState = (wanted: StageState) => open.some(({ state }) => state === wanted);
  return (
    <Section id="processing" title="Processing">
      <Table label="Stages after the end of the run" columns={columns} rows={open} />
      {hasState("dead") && (
        <p>
          A stage is given up after {STAGE_ATTEMPTS_MAX}{" "}
          tries. Once its cause is fixed, the operator of the service retries it:{" "}
          <code>deno task jobs --redrive={id}</code>
        </p>
      )}
    </Section>
  );
}

function stateOf(stage: StageProgress, nowMs: number): Child {
  const [sign, meaning] = STATE_LABELS[stage.state];
  return (
    <>
      <span aria-hidden="true">{sign}</span> {meaning}
      {stage.state === "retrying" && (
        <Ago at={retryAt({ tries: stage.attempts, at: stage.at })} now={nowMs} />
      )}
    </>
  );
}

/** Shows the tree, if the run has a parent or children. */
export function Relatives(loaded: RunData) {
  const { run, family, relatives } = loaded;
  const parentRunId = run.opening?.parentRunId;
  if (parentRunId === undefined && family.children.length === 0) return null;
  const self = (
    <>
      <b>{run.agent ?? "this run"}</b> (this run) <Status of={run.status} />{" "}
      <Money of={run.cost.amount} />
      <Children {...loaded} />
    </>
  );
  return (
    <FoldedSection id="family" title="Parent and children">
      <ul class="tree">
        <li>
          {parentRunId === undefined ? self : (
            <>
              <Relative id={parentRunId} row={relatives.get(parentRunId)} />
              <ul>
                <li>{self}</li>
              </ul>
            </>
          )}
        </li>
      </ul>
      {family.children.length > 0 && (
        <p>
          Together with all that it started: <Money of={run.cost.amount + family.totals.cost} />
          {family.isCut && ", and what those beyond the nearest 200 cost"}.
        </p>
      )}
    </FoldedSection>
  );
}

function Children({ run, family: { children, hasMore }, relatives }: RunData) {
  if (children.length === 0) return null;
  const unlisted = children.length - CHILDREN_LISTED;
  return (
    <ul>
      {children.slice(0, CHILDREN_LISTED).map((id) => (
        <li>
          <Relative id={id} row={relatives.get(id)} />
        </li>
      ))}
      {unlisted > 0 && (
        <li>
          and {hasMore ? `more than ${unlisted}` : unlisted} started earlier: see{" "}
          <code>links.children</code> <a href={rawPath(run.id, null, 1)}>in the JSON</a>
        </li>
      )}
    </ul>
  );
}

/** A run on one line. */
function Relative({ id, row }: { readonly id: RunId; readonly row: RunListRow | undefined }) {
  if (row === undefined) {
    return (
      <>
        <code>{id}</code>{" "}
        <span class="soft">is not here: it was not sent to this team yet, or was deleted</span>
      </>
    );
  }
  return (
    <>
      <a href={runPath(id)}>{row.agent ?? id}</a> <Status of={row.status} />{" "}
      <span class="soft">{row.durationMs === null ? "" : durationText(row.durationMs)}</span>{" "}
      <Money of={row.cost.amount} />
    </>
  );
}
