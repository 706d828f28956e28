/** What a run came to: its output, its scores, its labels, its cost by model. */
import { costByModel, type ModelCost } from "../../../domain/runs/explain_cost.ts";
import { Ago, Money, Wide } from "../components/elements.tsx";
import { formatCount, pluralOf } from "../components/format.ts";
import { CallCost, UnpricedCall } from "./call_cost.tsx";
import { Data } from "./payload.tsx";
import { membersOf } from "./event_preview.ts";
import type { LoadedRun } from "./load.ts";
import { rawPath } from "./paths.ts";

/** Characters of an output that are shown. */
const OUTPUT_CHARS = 20_000;

/** The result, where there is one. */
export function Output({ shown: { run } }: { readonly shown: LoadedRun }) {
  if (run.output === null) return null;
  return (
    <section id="output">
      <h2>Output</h2>
      <Data
        members={membersOf(run.output, "value")}
        chars={run.output.length}
        charsMax={OUTPUT_CHARS}
        all={rawPath(run.id, null, 1)}
      />
    </section>
  );
}

/** What was said of how good it is. */
export function Scores({ shown: { run, nowMs } }: { readonly shown: LoadedRun }) {
  const { scores, addedScores } = run;
  if (scores.length + addedScores.length === 0) return null;
  return (
    <section id="scores">
      <h2>Scores</h2>
      <Wide label="Scores">
        <table>
          <thead>
            <tr>
              <th scope="col">Score</th>
              <th scope="col">Value</th>
              <th scope="col">From</th>
            </tr>
          </thead>
          <tbody>
            {scores.map(([name, value]) => (
              <tr>
                <th scope="row">{name}</th>
                <td>{valueText(value)}</td>
                <td>the run itself</td>
              </tr>
            ))}
            {addedScores.map(({ name, value, source, receivedAt }) => (
              <tr>
                <th scope="row">{name}</th>
                <td>{valueText(value)}</td>
                <td>
                  {source}, <Ago at={receivedAt} now={nowMs} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  );
}

function valueText(value: number | boolean): string {
  return value === true ? "✓ true" : value === false ? "✕ false" : String(value);
}

/** The labels that it was sent with. */
export function MetadataTable({ shown: { run } }: { readonly shown: LoadedRun }) {
  if (run.metadata === null || run.metadata.length === 0) return null;
  return (
    <section id="metadata">
      <h2>Metadata</h2>
      <dl class="labels">
        {run.metadata.map(([key, value]) => (
          <div>
            <dt>{key}</dt>
            <dd>{value === null ? <i>removed by age</i> : String(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** What it cost, model by model. */
export function CostSection({ shown }: { readonly shown: LoadedRun }) {
  const { page, ownCall, isAdmin } = shown;
  const lines = costByModel(page);
  if (lines.length === 0 && ownCall === null) return null;
  return (
    <section id="cost">
      <h2>Cost by model</h2>
      {lines.length === 0 ? null : <ByModel lines={lines} />}
      {lines.filter(({ priced }) => priced === false).map(({ model, provider }) => (
        <UnpricedCall model={model ?? ""} provider={provider} mayPrice={isAdmin} />
      ))}
      {ownCall === null || ownCall.unpriced ? null : <CallCost call={ownCall} mayPrice={isAdmin} />}
    </section>
  );
}

function ByModel({ lines }: { readonly lines: readonly ModelCost[] }) {
  return (
    <Wide label="Cost by model">
      <table class="folding">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" class="number">Calls</th>
            <th scope="col" class="number">Input</th>
            <th scope="col" class="number">of it cached</th>
            <th scope="col" class="number">Output</th>
            <th scope="col" class="number">Cost</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr>
              <th scope="row">
                {line.model ?? "(no model, or no tokens counted)"}
                {line.provider === null ? null : <span class="soft">{` ${line.provider}`}</span>}
              </th>
              <td class="number" data-unit={pluralOf(line.calls, "call")}>
                {formatCount(line.calls)}
              </td>
              <td class="number" data-unit="in">{formatCount(line.inputTokens)}</td>
              <td class="number" data-unit="of it cached">{formatCount(line.cachedInputTokens)}</td>
              <td class="number" data-unit="out">{formatCount(line.outputTokens)}</td>
              <td class="number">
                {line.priced === false ? "no price" : <Money of={line.cost} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
