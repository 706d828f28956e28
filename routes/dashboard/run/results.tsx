/** The results of a run: output, scores, metadata, cost by model. */
import { costByModel, type ModelCost } from "../../../domain/runs/explain_cost.ts";
import { Ago, Money } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { LabelList } from "../components/key_values.tsx";
import { type Column, countColumn, numberColumn, Table } from "../components/table.tsx";
import { CallCost, UnpricedCall } from "./call_cost.tsx";
import { Payload } from "./payload.tsx";
import { membersOf } from "./event_preview.ts";
import type { LoadedRun } from "./load.ts";
import { rawPath } from "./paths.ts";

/** Maximum characters shown of an output. */
const OUTPUT_CHARS = 20_000;

/** Shows the output, if there is one. */
export function Output({ loaded: { run } }: { readonly loaded: LoadedRun }) {
  if (run.output === null) return null;
  return (
    <section id="output">
      <h2>Output</h2>
      <Payload
        members={membersOf(run.output, "value")}
        chars={run.output.length}
        charsMax={OUTPUT_CHARS}
        all={rawPath(run.id, null, 1)}
      />
    </section>
  );
}

export function Scores({ loaded: { run, nowMs } }: { readonly loaded: LoadedRun }) {
  const { scores, addedScores } = run;
  if (scores.length + addedScores.length === 0) return null;
  return (
    <section id="scores">
      <h2>Scores</h2>
      <Table
        label="Scores"
        columns={columnsAt(nowMs)}
        rows={[...scores.map(([name, value]) => ({ name, value })), ...addedScores]}
      />
    </section>
  );
}

/** A score; without a source, the run itself reported it. */
interface ShownScore {
  readonly name: string;
  readonly value: number | boolean;
  readonly source?: string;
  readonly receivedAt?: number;
}

function columnsAt(nowMs: number): readonly Column<ShownScore>[] {
  return [
    { head: "Score", isName: true, cell: ({ name }) => name },
    { head: "Value", cell: ({ value }) => valueText(value) },
    {
      head: "From",
      cell: ({ source, receivedAt }) =>
        receivedAt === undefined ? "the run itself" : (
          <>
            {source}, <Ago at={receivedAt} now={nowMs} />
          </>
        ),
    },
  ];
}

function valueText(value: number | boolean): string {
  return value === true ? "✓ true" : value === false ? "✕ false" : String(value);
}

export function MetadataTable({ loaded: { run } }: { readonly loaded: LoadedRun }) {
  if (run.metadata === null || run.metadata.length === 0) return null;
  return (
    <section id="metadata">
      <h2>Metadata</h2>
      <LabelList
        pairs={run.metadata.map(([key, value]) => [
          key,
          value === null ? <i>removed by age</i> : String(value),
        ])}
      />
    </section>
  );
}

/** Shows the cost, model by model. */
export function CostSection({ loaded }: { readonly loaded: LoadedRun }) {
  const { page, ownCall, isAdmin } = loaded;
  const lines = costByModel(page);
  if (lines.length === 0 && ownCall === null) return null;
  return (
    <section id="cost">
      <h2>Cost by model</h2>
      {lines.length === 0
        ? null
        : <Table label="Cost by model" class="folding" columns={MODEL_COLUMNS} rows={lines} />}
      {lines.filter(({ priced }) => priced === false).map(({ model, provider }) => (
        <UnpricedCall model={model ?? ""} provider={provider} mayPrice={isAdmin} />
      ))}
      {ownCall === null || ownCall.unpriced ? null : <CallCost call={ownCall} mayPrice={isAdmin} />}
    </section>
  );
}

const MODEL_COLUMNS: readonly Column<ModelCost>[] = [
  { head: "Model", isName: true, cell: (line) => <ModelName of={line} /> },
  countColumn("Calls", ({ calls }) => calls, "call"),
  numberColumn("Input", ({ inputTokens }) => formatCount(inputTokens), "in"),
  numberColumn(
    "of it cached",
    ({ cachedInputTokens }) => formatCount(cachedInputTokens),
    "of it cached",
  ),
  numberColumn("Output", ({ outputTokens }) => formatCount(outputTokens), "out"),
  numberColumn("Cost", ({ priced, cost }) => priced === false ? "no price" : <Money of={cost} />),
];

function ModelName({ of: { model, provider } }: { readonly of: ModelCost }) {
  return (
    <>
      {model ?? "(no model, or no tokens counted)"}
      {provider === null ? null : <span class="soft">{` ${provider}`}</span>}
    </>
  );
}
