/** The facts of a run: how it stands at a glance, then what it is labelled with. */
import { agentPath, runPath } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import { formatInstant } from "../../../domain/core/time.ts";
import { Ago, Money, Status } from "../components/elements.tsx";
import { compactText, countedText, durationText } from "../components/format.ts";
import type { LoadedRun } from "./load.ts";
import { Flags } from "./flags.tsx";
import { runsPath } from "./paths.ts";

/** The figures that say how a run went. */
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

function Tile({ title, children }: { readonly title: string; readonly children?: Child }) {
  return (
    <div class="tile">
      <span class="soft">{title}</span>
      {children}
    </div>
  );
}

function StatusTile({ shown: { run, isLive } }: { readonly shown: LoadedRun }) {
  return (
    <Tile title={run.kind === "heartbeat" ? "Heartbeat" : "Run"}>
      <b>
        <Status of={run.status} />
      </b>
      {isLive ? <small class="soft">This page follows it every few seconds.</small> : null}
    </Tile>
  );
}

function TimeTile({ shown: { run, nowMs } }: { readonly shown: LoadedRun }) {
  const { startedAt, finishedAt, durationMs } = run;
  const so = startedAt === null || finishedAt !== null ? null : Math.max(0, nowMs - startedAt);
  return (
    <Tile title={so === null ? "Took" : "Running for"}>
      <b>{durationMs !== null ? durationText(durationMs) : so !== null ? durationText(so) : "–"}</b>
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
    </Tile>
  );
}

function CostTile({ shown: { run, family, isStated } }: { readonly shown: LoadedRun }) {
  const { cost } = run;
  const unpriced = cost.models.reduce((sum, { priced, calls }) => priced ? sum : sum + calls, 0);
  const hasFamily = family.children.length > 0;
  return (
    <Tile title="Cost">
      <b>
        <Money of={cost.amount} />
      </b>
      <small>
        {isStated ? "stated by the agent, " : ""}
        {cost.state === "final" ? "final" : run.status === "running" ? "so far" : "being summed up"}
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
    </Tile>
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
    <Tile title="Tokens">
      <b>
        {compactText(usage.inputTokens)} → {compactText(usage.outputTokens)}
      </b>
      <small>
        {cached > 0n ? `${compactText(cached)} of the input read from caches; ` : ""}
        {counts.length === 0 ? "no events" : counts.join(", ")}
      </small>
      {errors === 0 ? null : <small class="bad">✕ {countedText(errors, "event")} failed</small>}
    </Tile>
  );
}

/** What a run is, by its labels, instants and oddities. */
export function RunLabelList({ shown }: { readonly shown: LoadedRun }) {
  const { run } = shown;
  const { agent, customerId, feature, parentRunId } = run;
  return (
    <>
      <dl class="labels">
        <Fact name="Agent">{agent === null ? null : <a href={agentPath(agent)}>{agent}</a>}</Fact>
        <Fact name="Customer">
          {customerId === null
            ? null
            : <a href={runsPath("customer_id", customerId)}>{customerId}</a>}
        </Fact>
        <Fact name="Feature">
          {feature === null ? null : <a href={runsPath("feature", feature)}>{feature}</a>}
        </Fact>
        <Fact name="Started by run">
          {parentRunId === null ? null : <a href={runPath(parentRunId)}>{parentRunId}</a>}
        </Fact>
        <Fact name="Note">{run.status === "failed" ? null : run.note}</Fact>
        <Fact name="Id">
          <code>{run.id}</code>
        </Fact>
      </dl>
      <Flags shown={shown} />
      <More shown={shown} />
    </>
  );
}

/** What few look for. */
function More({ shown }: { readonly shown: LoadedRun }) {
  const { run, page: { parts: { opening } } } = shown;
  const { idleTimeoutSeconds, idleTimeoutStatus } = opening ?? {};
  return (
    <details id="more-facts" class="more-facts">
      <summary>Exact instants{run.trace === null ? "" : " and trace"}</summary>
      <dl class="labels">
        <Instant name="Started" at={run.startedAt} />
        <Instant name="Ended" at={run.finishedAt} />
        <Instant name="First arrived" at={run.receivedAt} />
        <Instant name="Last arrived" at={run.updatedAt} />
        <Fact name="Closes when idle">
          {idleTimeoutSeconds === undefined
            ? null
            : `after ${durationText(idleTimeoutSeconds * 1_000)}${
              idleTimeoutStatus === undefined ? "" : `, as ${idleTimeoutStatus}`
            }`}
        </Fact>
        <Fact name="Trace">{run.trace === null ? null : <code>{run.trace.traceId}</code>}</Fact>
        <Fact name="Parent span">
          {run.trace === null ? null : <code>{run.trace.spanId}</code>}
        </Fact>
      </dl>
    </details>
  );
}

function Instant({ name, at }: { readonly name: string; readonly at: number | null }) {
  const exact = at === null ? null : formatInstant(at);
  return <Fact name={name}>{exact === null ? null : <time datetime={exact}>{exact}</time>}</Fact>;
}

/** A fact that is there. */
function Fact({ name, children }: { readonly name: string; readonly children?: Child }) {
  return children === null || children === undefined ? null : (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
