/** The facts of a run: six at most, each with its split. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { Money } from "../components/elements.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import { timesUsual, UNUSUAL } from "../../../domain/runs/list.ts";
import type { LoadedRun } from "./load.ts";
import { markLink } from "./mark_link.ts";
import type { TraceProps } from "./trace.ts";

/** Shows the facts; those of a run with child runs include them. */
export function Facts(props: TraceProps) {
  const { run, family, totals, usual, nowMs } = props;
  const hasChildren = family.children.length > 0;
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
        <Against
          times={timesUsual({ ...run, durationMs: shownMs }, usual, "slow")}
          isOpen={runningMs !== null}
        />
        {slowest !== null && (
          <ToStep {...markLink(props, slowest)}>
            slowest step <span class="num">{durationText(slowest.durationMs)}</span>
          </ToStep>
        )}
      </Fact>
      <Fact name="Cost" value={<Money of={totals.cost} />}>
        <Against
          times={timesUsual(run, usual, "expensive")}
          isOpen={run.cost.state !== "final"}
        />
        <CostNote {...props} />
      </Fact>
      <Fact name="Tokens" value={compactText(totals.inputTokens)}>
        in, {compactText(totals.outputTokens)} out
        {totals.cachedInputTokens > 0n && `, ${compactText(totals.cachedInputTokens)} cached`}
      </Fact>
      <Fact name="Model calls" value={formatCount(totals.calls)}>
        {hasChildren && `${formatCount(run.cost.calls)} own, `}
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
      <Fact name="Tool calls" value={formatCount(totals.toolCalls)}>
        {hasChildren && `${formatCount(usage.toolCalls)} own`}
        {hasChildren && totals.errors > 0 && ", "}
        {totals.errors > 0 && (
          <span class="err-count">{countedText(totals.errors, "step")} failed</span>
        )}
      </Fact>
      {hasChildren
        ? (
          <Fact name="Child runs" value={`${family.children.length}${family.hasMore ? "+" : ""}`}>
            <Money of={family.totals.cost} />
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

/** Multiples of the usual amount that still count as usual. */
const AS_USUAL = { min: 0.8, max: 1.25 } as const;

/** Compares a figure with the usual one; that of an open run only where it exceeds it already. */
function Against({ times, isOpen }: { readonly times: number; readonly isOpen: boolean }) {
  if (times === 0 || isOpen && times <= AS_USUAL.max) return null;
  const isUsual = times >= AS_USUAL.min && times <= AS_USUAL.max;
  const text = isUsual ? "as usual" : `${times.toFixed(times < 10 ? 1 : 0)}× usual`;
  return <span class={`against ${times >= UNUSUAL.factor ? "more" : ""}`}>{text}</span>;
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
  if (family.children.length > 0) {
    return (
      <>
        <Money of={cost.amount} /> own
        {family.isCut && ", without runs beyond the nearest 200"}
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
