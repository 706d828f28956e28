/** The facts of a run: six at most, each with its split. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { Money } from "../components/elements.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import type { LoadedRun } from "./load.ts";
import { markLink } from "./mark_link.ts";
import type { TraceProps } from "./trace.ts";

export function Facts(props: TraceProps) {
  const { run, family, nowMs } = props;
  const { slowest, costliest } = props.trace.marks;
  const { usage, durationMs, startedAt, finishedAt } = run;
  const runningMs = startedAt === null || finishedAt !== null
    ? null
    : Math.max(0, nowMs - startedAt);
  const shownMs = durationMs ?? runningMs;
  const others = usage.events - usage.llmCalls - usage.toolCalls - usage.logs;
  return (
    <dl class="facts panel">
      <Fact
        name={runningMs === null ? "Duration" : "Running for"}
        value={shownMs === null ? "–" : durationText(shownMs)}
      >
        {slowest !== null && (
          <ToStep {...markLink(props, slowest)}>
            slowest step <span class="num">{durationText(slowest.durationMs)}</span>
          </ToStep>
        )}
      </Fact>
      <Fact name="Cost" value={<Money of={run.cost.amount} />}>
        <CostNote {...props} />
      </Fact>
      <Fact name="Tokens" value={compactText(usage.inputTokens)}>
        in, {compactText(usage.outputTokens)} out
        {usage.cachedInputTokens > 0n && `, ${compactText(usage.cachedInputTokens)} cached`}
      </Fact>
      <Fact name="Model calls" value={formatCount(run.cost.calls)}>
        {costliest === null
          ? countedText(new Set(run.cost.models.map(({ model }) => model)).size, "model")
          : (
            <ToStep {...markLink(props, costliest)}>
              most expensive{" "}
              <span class="num">
                <Money of={costliest.cost} />
              </span>
            </ToStep>
          )}
      </Fact>
      <Fact name="Tool calls" value={formatCount(usage.toolCalls)}>
        {usage.errors > 0 && (
          <span class="err-count">{countedText(usage.errors, "step")} failed</span>
        )}
      </Fact>
      {family.children.length > 0
        ? (
          <Fact name="Child runs" value={`${family.children.length}${family.hasMore ? "+" : ""}`}>
            <Money of={family.cost} />
          </Fact>
        )
        : (
          <Fact name="Logs" value={formatCount(usage.logs)}>
            {others > 0 && countedText(others, "other event")}
          </Fact>
        )}
    </dl>
  );
}

/** A link to the step that stands out; the script selects it in place if it is on the page. */
function ToStep({ href, isHere, children }: PropsWithChildren<ReturnType<typeof markLink>>) {
  return <a href={href} data-select={isHere ? "" : undefined}>{children}</a>;
}

function CostNote({ run: { cost, status }, family, isStated }: LoadedRun) {
  const unpriced = cost.models.reduce((sum, { priced, calls }) => priced ? sum : sum + calls, 0);
  if (unpriced > 0) {
    return <a class="more" href="#cost">{countedText(unpriced, "call")} without a price</a>;
  }
  if (family.cost > 0n) {
    return (
      <>
        <Money of={cost.amount + family.cost} /> with child runs
      </>
    );
  }
  if (isStated) return <>stated by the agent</>;
  if (cost.state === "final") return null;
  return <>{status === "running" ? "so far" : "being aggregated"}</>;
}

function Fact({ name, value, children }: PropsWithChildren<
  { readonly name: string; readonly value: Child }
>) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} {children && <small>{children}</small>}
      </dd>
    </div>
  );
}
