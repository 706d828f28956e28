/** Details of a run: tiles with its status, then its labels. */
import { formatInstant } from "../../../domain/core/time.ts";
import { agentPath, runPath } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import { Ago, Money, Status } from "../components/elements.tsx";
import { compactText, countedText, durationText } from "../components/format.ts";
import { LabelList } from "../components/key_values.tsx";
import { Tile } from "../components/tile.tsx";
import type { LoadedRun } from "./load.ts";
import { Flags } from "./flags.tsx";
import { runsPath } from "./paths.ts";

/** Shows status, time, cost and tokens. */
export function Glance({ shown }: { readonly shown: LoadedRun }) {
  return (
    <div class="tiles glance">
      <StatusTile shown={shown} />
      <TimeTile shown={shown} />
      <CostTile shown={shown} />
      <UseTile shown={shown} />
    </div>
  );
}

interface GlanceTileProps {
  readonly title: string;
  readonly value: Child;
  readonly children?: Child;
}

function GlanceTile({ title, value, children }: GlanceTileProps) {
  return <Tile name={<span class="soft">{title}</span>} value={value}>{children}</Tile>;
}

function StatusTile({ shown: { run, isLive } }: { readonly shown: LoadedRun }) {
  return (
    <GlanceTile
      title={run.kind === "heartbeat" ? "Heartbeat" : "Run"}
      value={<Status of={run.status} />}
    >
      {isLive ? <small class="soft">This page follows it every few seconds.</small> : null}
    </GlanceTile>
  );
}

function TimeTile({ shown: { run, nowMs } }: { readonly shown: LoadedRun }) {
  const { startedAt, finishedAt, durationMs } = run;
  const runningMs = startedAt === null || finishedAt !== null
    ? null
    : Math.max(0, nowMs - startedAt);
  const shownMs = durationMs ?? runningMs;
  return (
    <GlanceTile
      title={runningMs === null ? "Took" : "Running for"}
      value={shownMs === null ? "–" : durationText(shownMs)}
    >
      <small>
        {startedAt === null ? "start not known" : (
          <>
            started <Ago at={startedAt} now={nowMs} />
          </>
        )}
        {finishedAt === null ? null : (
          <>
            , ended <Ago at={finishedAt} now={nowMs} />
          </>
        )}
      </small>
    </GlanceTile>
  );
}

function CostTile({ shown: { run, family, isStated } }: { readonly shown: LoadedRun }) {
  const { cost } = run;
  const unpriced = cost.models.reduce((sum, { priced, calls }) => priced ? sum : sum + calls, 0);
  const hasFamily = family.children.length > 0;
  return (
    <GlanceTile title="Cost" value={<Money of={cost.amount} />}>
      <small>
        {isStated ? "stated by the agent, " : ""}
        {cost.state === "final"
          ? "final"
          : run.status === "running"
          ? "so far"
          : "being aggregated"}
        {hasFamily
          ? (
            <>
              ; with the runs it started <Money of={cost.amount + family.cost} />
            </>
          )
          : null}
      </small>
      {unpriced === 0 ? null : (
        <small class="warned">
          ⚠{" "}
          <a href="#cost">
            {countedText(unpriced, "call")} without a price
          </a>
        </small>
      )}
    </GlanceTile>
  );
}

function UseTile({ shown: { run: { usage } } }: { readonly shown: LoadedRun }) {
  const { llmCalls, toolCalls, logs, events, errors } = usage;
  const other = events - llmCalls - toolCalls - logs;
  const counts = ([
    [llmCalls, "model call"],
    [toolCalls, "tool call"],
    [logs, "log"],
    [other, "other event"],
  ] as const).flatMap(([count, what]) => count === 0 ? [] : [countedText(count, what)]);
  const cached = usage.cachedInputTokens;
  return (
    <GlanceTile
      title="Tokens"
      value={`${compactText(usage.inputTokens)} → ${compactText(usage.outputTokens)}`}
    >
      <small>
        {cached > 0n ? `${compactText(cached)} of the input read from caches; ` : ""}
        {counts.length === 0 ? "no events" : counts.join(", ")}
      </small>
      {errors === 0 ? null : <small class="bad">✕ {countedText(errors, "event")} failed</small>}
    </GlanceTile>
  );
}

/** Shows the labels, the flags and the exact instants of a run. */
export function RunLabelList({ shown }: { readonly shown: LoadedRun }) {
  const { run } = shown;
  const { agent, customerId, feature } = run;
  const parentRunId = run.opening?.parentRunId ?? null;
  return (
    <>
      <LabelList
        pairs={[
          ["Agent", linkOf(agent, agentPath)],
          ["Customer", linkOf(customerId, (value) => runsPath("customer_id", value))],
          ["Feature", linkOf(feature, (value) => runsPath("feature", value))],
          ["Started by run", linkOf(parentRunId, runPath)],
          ["Note", run.status === "failed" ? null : run.note],
          ["Id", <code>{run.id}</code>],
        ]}
      />
      <Flags shown={shown} />
      <Instants shown={shown} />
    </>
  );
}

function linkOf(value: string | null, pathOf: (value: string) => string): Child {
  return value === null ? null : <a href={pathOf(value)}>{value}</a>;
}

function Instants({ shown }: { readonly shown: LoadedRun }) {
  const { run: { opening, startedAt, finishedAt, receivedAt, updatedAt } } = shown;
  const trace = opening?.trace ?? null;
  return (
    <details id="more-facts" class="more-facts">
      <summary>Exact instants{trace === null ? "" : " and trace"}</summary>
      <LabelList
        pairs={[
          ["Started", timeOf(startedAt)],
          ["Ended", timeOf(finishedAt)],
          ["First arrived", timeOf(receivedAt)],
          ["Last arrived", timeOf(updatedAt)],
          ["Closes when idle", idleText(opening)],
          ["Trace", trace === null ? null : <code>{trace.traceId}</code>],
          ["Parent span", trace === null ? null : <code>{trace.spanId}</code>],
        ]}
      />
    </details>
  );
}

function timeOf(at: number | null): Child {
  const exact = at === null ? null : formatInstant(at);
  return exact === null ? null : <time datetime={exact}>{exact}</time>;
}

function idleText(opening: LoadedRun["page"]["parts"]["opening"]): string | null {
  const { idleTimeoutSeconds, idleTimeoutStatus } = opening ?? {};
  if (idleTimeoutSeconds === undefined) return null;
  const status = idleTimeoutStatus === undefined ? "" : `, as ${idleTimeoutStatus}`;
  return `after ${durationText(idleTimeoutSeconds * 1_000)}${status}`;
}
