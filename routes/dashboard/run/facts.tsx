/** The facts of a run: six at most, each with its split. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { Money } from "../components/elements.tsx";
import { compactText, countedText, durationText, formatCount } from "../components/format.ts";
import type { LoadedRun } from "./load.ts";
import { markLink } from "./mark_link.ts";
import type { TraceProps } from "./trace.ts";

/** Shows the facts; those of a run with child runs include them. */
export function Facts(props: TraceProps) {
  const { run, family, totals, nowMs } = props;
  const hasChildren = family.children.length > 0;
  const { slowest, costliest } = props.trace.marks;
  const { usage, durationMs, startedAt, finishedAt } = run;
  const runningMs = startedAt === null || finishedAt !== null
    ? null
    : Math.max(0, nowMs - startedAt);
  const shownMs = durationMs ?? runningMs;
  const { usual } = props;
  const others = usage.events - usage.llmCalls - usage.toolCalls - usage.logs;
  return (
    <dl class="facts panel">
      <Fact
        name={runningMs === null ? "Duration" : "Running for"}
        value={shownMs === null ? "–" : durationText(shownMs)}
      >
        {shownMs !== null && usual !== null && (
          <Against value={shownMs} usual={usual.durationMs} isOpen={runningMs !== null} />
        )}
        {slowest !== null && (
          <ToStep {...markLink(props, slowest)}>
            slowest step <span class="num">{durationText(slowest.durationMs)}</span>
          </ToStep>
        )}
      </Fact>
      <Fact name="Cost" value={<Money of={totals.cost} />}>
        {usual !== null && (
          <Against
            value={Number(run.cost.amount)}
            usual={Number(usual.cost)}
            isOpen={run.cost.state !== "final"}
          />
        )}
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

/** Ratios that are as usual, and the least one that stands out. */
const AS_USUAL = { min: 0.8, max: 1.25 } as const, FAR = 1.5;

/** Compares a value with the usual one; an open run only where it exceeds that already. */
function Against({ value, usual, isOpen }: {
  readonly value: number;
  readonly usual: number;
  readonly isOpen: boolean;
}) {
  const ratio = value / usual;
  if (usual === 0 || isOpen && ratio <= AS_USUAL.max) return null;
  const isUsual = ratio >= AS_USUAL.min && ratio <= AS_USUAL.max;
  const text = isUsual ? "as usual" : `${ratio.toFixed(ratio < 10 ? 1 : 0)}× usual`;
  return <span class={`against ${ratio >= FAR ? "more" : ""}`}>{text}</span>;
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
