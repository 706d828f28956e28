/** The selected step: its content, then its cost, then the rest. */
import { formatInstant } from "../../../domain/core/time.ts";
import { prettyJson } from "../../../domain/core/pretty_json.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { chatOf, toolUseOf } from "../../../domain/runs/chat.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { durationText, formatCount } from "../components/format.ts";
import { KeyValues, LabelList } from "../components/elements.tsx";
import { runPath } from "../layout/paths.ts";
import { CallCost } from "./cost.tsx";
import { type EventPreview, fieldsOf, lineOf, offsetText } from "./texts.ts";
import {
  Bounded,
  CallBox,
  Copied,
  CopyButton,
  Fold,
  Members,
  Messages,
  outcomesIn,
  Output,
  Value,
} from "./values.tsx";
import { positionBefore, rawPath } from "./paths.ts";
import type { Step, Trace, ViewProps } from "./run_view.ts";
import { StepIcon } from "./waterfall_row.tsx";

/** Maximum characters of JSON shown. */
const JSON_CHARS = 8_000;

/** Members of a call that its heading and its cost show. */
const CALL_FACTS: ReadonlySet<string> = new Set([
  ...["provider", "model", "latency_ms", "duration_ms", "status", "error"],
  ...["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens"],
]);

export function StepPanel({ data, trace }: ViewProps) {
  const { selected: step, axis, rows } = trace;
  const { run, branches, isAdmin } = data;
  if (step === null) {
    return (
      <aside id="step" class="item" aria-label="Selected step" tabindex={-1}>
        <p class="quiet">The selected step is not on this page.</p>
      </aside>
    );
  }
  const { preview, span, name, durationMs, atMs } = step;
  const source = preview ?? span;
  const isHere = step.run === run.id;
  const child = branches.find(({ row }) => row.id === step.run);
  const record = isHere ? run : child?.loaded?.record ?? null;
  const at = formatInstant(atMs);
  return (
    <aside id="step" class="item" aria-label="Selected step" tabindex={-1}>
      <div class="d">
        <header>
          <h2>
            <StepIcon step={step} />
            <span>{name === "" ? preview?.label : name}</span>
          </h2>
          <LabelList
            pairs={[
              ["At", <time datetime={at} title={at}>{offsetText(atMs, axis.startMs)}</time>],
              ["Took", durationMs !== null && durationText(durationMs)],
              [
                "Agent",
                !isHere && <a href={runPath(step.run)}>{child?.row.agent ?? "child run"}</a>,
              ],
              ["Tokens", preview?.tokens && tokensText(preview.tokens)],
              ["Turn", preview?.event.turn],
              ["Sent by", source?.isSpan && scopeOf(source)],
            ]}
          />
        </header>
        <div class="chat">
          <Bounded>
            {preview !== null
              ? <Content step={step} preview={preview} steps={rows.map((row) => row.step)} />
              : record !== null
              ? span === null
                ? <RunContent {...record} isHere={isHere} />
                : <SpanContent step={step} preview={span} />
              : <p class="quiet">The steps of this run are folded: open its page.</p>}
          </Bounded>
          {source?.event.twin && (
            <NotCounted
              inRun={isHere ? null : step.run}
              twin={source.event.twin}
              pathWith={trace.pathWith}
            />
          )}
          {source !== null && <EventFacts step={step} preview={source} isAdmin={isAdmin} />}
        </div>
      </div>
    </aside>
  );
}

function tokensText(tokens: NonNullable<EventPreview["tokens"]>): string {
  return `${formatCount(tokens.inputTokens)} in, ${formatCount(tokens.outputTokens)} out`;
}

/** Returns the name of the instrumentation that sent a span. */
function scopeOf({ members }: EventPreview): string {
  const { scope } = fieldsOf(members.get("span") ?? rawOf({}));
  return typeof scope === "string" ? lineOf(scope) : "";
}

type RunContentProps = Pick<RunRecord, "id" | "opening" | "output"> & {
  /** True for the run of the page. */
  readonly isHere: boolean;
};

/** The goal and the output of a run. */
function RunContent({ id, opening, output, isHere }: RunContentProps) {
  const goal = opening?.goal;
  return (
    <>
      {goal !== undefined && (
        <Copied id="goal-text" class="msg user" name="Goal">
          <Value raw={rawOf(goal)} />
        </Copied>
      )}
      {output !== null && isHere && <a href="#output">Go to the output</a>}
      {output !== null && !isHere && (
        <Copied id="output-text" class="msg" name="Output">
          <Output run={id} output={output} />
        </Copied>
      )}
      {goal === undefined && output === null && (
        <p class="quiet">This run has no goal and no output.</p>
      )}
    </>
  );
}

interface EventProps {
  readonly step: Step;
  readonly preview: EventPreview;
}

/** The content of an event: messages, a tool call, a text, or its members. */
function Content({ step, preview, steps }: EventProps & { readonly steps: readonly Step[] }) {
  const { kind, name, failure } = step;
  const data = fieldsOf(preview.event.data);
  const use = kind === "tool" ? toolUseOf(data) : null;
  if (use !== null && (use.input !== undefined || use.result !== undefined || failure !== null)) {
    return <CallBox id="tool" call={{ ...use, name }} failure={failure} tookMs={step.durationMs} />;
  }
  if (kind === "log" && typeof data.message === "string") {
    const level = typeof data.level === "string" && <span>{lineOf(data.level)}</span>;
    return (
      <Copied id="log-text" class={failure === null ? "msg" : "msg is-bad"} name="Log" note={level}>
        <Value raw={rawOf(data.message)} />
      </Copied>
    );
  }
  if (preview.isSpan && kind !== "model") return <SpanContent step={step} preview={preview} />;
  const chat = kind === "model" ? chatOf(data) : { input: [], output: [] };
  const hasChat = chat.input.length + chat.output.length > 0;
  const members = [...preview.members].filter(([member]) =>
    !(preview.isSpan && member === "span") && (kind !== "model" || !CALL_FACTS.has(member))
  );
  return (
    <>
      {failure !== null && <p class="notice bad">{failure}</p>}
      {hasChat && <Messages chat={chat} model={name} outcomes={outcomesIn(steps, step.run)} />}
      {kind === "model" && !hasChat && <p class="quiet">This call was sent without messages.</p>}
      {!hasChat && members.length > 0 && <Members members={new Map(members)} />}
      {preview.members.size === 0 && <p class="quiet">This event has no data.</p>}
    </>
  );
}

/** Members of a span that its row, its heading and its content show. */
const SPAN_FACTS: ReadonlySet<string> = new Set([
  ...["name", "kind", "tool", "tool_invocation_id", "latency_ms", "status", "error", "span"],
  ...["system", "input", "output", "message"],
]);

/** Input and output of a step: of an agent as messages, if they are texts. */
function SpanContent(
  { step: { name, failure, kind }, preview: { members, ...preview } }: EventProps,
) {
  const chat = chatOf(fieldsOf(preview.event.data));
  const isChat = (kind === "agent" || kind === "run") &&
    [...chat.input, ...chat.output].some(({ parts }) => parts.some((part) => part.kind === "text"));
  const others = [...members].filter(([member]) => !SPAN_FACTS.has(member));
  const [input, output] = [members.get("input"), members.get("output")];
  return (
    <>
      {failure !== null && kind !== "run" && <p class="notice bad">{failure}</p>}
      {isChat && <Messages chat={chat} model={name} outcomes={new Map()} />}
      {!isChat && input !== undefined && (
        <Copied id="span-input" class="msg" name="Input">
          <Value raw={input} />
        </Copied>
      )}
      {!isChat && output !== undefined && (
        <Copied id="span-output" class="msg" name="Output">
          <Value raw={output} />
        </Copied>
      )}
      {others.length > 0 && <Members members={new Map(others)} />}
      {!isChat && (input ?? output) === undefined && (
        <p class="quiet">This span was sent without content.</p>
      )}
    </>
  );
}

interface NotCountedProps extends Pick<Trace, "pathWith"> {
  /** Child run of the call; null for the run of the page. */
  readonly inRun: RunId | null;
  readonly twin: NonNullable<PositionedEvent["twin"]>;
}

/** Says that a call is not counted, with a link to the one that is. */
function NotCounted({ inRun, twin: { countedBy }, pathWith }: NotCountedProps) {
  const id = inRun === null ? countedBy : `${inRun}.${countedBy}`;
  return (
    <p class="notice">
      Not counted: another instrumentation sent{" "}
      <a href={`${pathWith({ event: countedBy, inRun })}#${id}`} data-select>
        the same call
      </a>, and that one is counted.
    </p>
  );
}

/** The cost of an event, its JSON and its metadata. */
function EventFacts({ step, preview, isAdmin }: EventProps & { readonly isAdmin: boolean }) {
  const { event } = preview;
  const json = prettyJson(event.data, JSON_CHARS);
  return (
    <>
      {step.call !== null && (
        <section class="cost-box" aria-label="Cost of this call">
          <CallCost call={step.call} mayPrice={isAdmin} />
        </section>
      )}
      <Fold class="raw" summary="JSON as sent">
        <div class="raw-head">
          <CopyButton of="raw-json" label="Copy the JSON" />
        </div>
        <pre id="raw-json" class="code" tabindex={0}>{json.text}{json.isCut && "…"}</pre>
        <p class="quiet">
          {json.isCut && `The first ${formatCount(JSON_CHARS)} characters. `}
          <a href={rawPath(step.run, positionBefore(event.position), 1)}>Open the complete event</a>
        </p>
      </Fold>
      <KeyValues
        pairs={[
          ["Unreadable numbers", event.unreadable?.join(", ")],
          ["Ignored fields", event.ignored?.join(", ")],
          ["Event", <code>{event.id}</code>],
          ["Type", event.type],
          ["Happened", formatInstant(event.ts)],
          ["Arrived", formatInstant(event.receivedAt)],
        ]}
      />
    </>
  );
}
