/** The selected step: its content, then its cost, then the rest. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { isObject } from "../../../domain/core/raw_json.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { prettyJson } from "../../../domain/core/pretty_json.ts";
import { chatOf, toolUseOf } from "../../../domain/runs/chat.ts";
import { durationText, formatCount } from "../components/format.ts";
import { KeyValues } from "../components/elements.tsx";
import { runPath } from "../layout/paths.ts";
import { CallCost } from "./call_cost.tsx";
import { lineOf, membersOf, offsetText } from "./event_preview.ts";
import { Icon } from "../components/icons.tsx";
import { CallBox, Chat, CopyButton, TextBudget, Value } from "./messages.tsx";
import { Output, Payload } from "./payload.tsx";
import { positionBefore, rawPath } from "./paths.ts";
import type { Step } from "./steps.ts";
import type { TraceProps } from "./run_view.ts";
import { StepIcon } from "./waterfall_row.tsx";

/** Maximum characters of JSON shown. */
const JSON_CHARS = 8_000;

/** Maximum characters of the level of a log. */
const LEVEL_CHARS = 40;

/** Members of a call that its heading and its cost show. */
const CALL_FACTS: ReadonlySet<string> = new Set([
  ...["provider", "model", "latency_ms", "duration_ms", "status", "error"],
  ...["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens"],
]);

export function StepPanel(props: TraceProps) {
  const { trace: { selected } } = props;
  return (
    <aside id="step" class="item" aria-label="Selected step" tabindex={-1}>
      {selected === null
        ? <p class="quiet">The selected step is not on this page.</p>
        : <Selected {...props} step={selected} />}
    </aside>
  );
}

type SelectedProps = TraceProps & { readonly step: Step };

function Selected(props: SelectedProps) {
  const { step, trace: { axis } } = props;
  const { preview } = step;
  return (
    <div class="d">
      <header>
        <h2>
          <StepIcon step={step} />
          <span>{step.name === "" ? preview?.label : step.name}</span>
        </h2>
        <dl class="by">
          <Fact name="At">
            <time datetime={formatInstant(step.atMs)} title={formatInstant(step.atMs)}>
              {offsetText(step.atMs, axis.startMs)}
            </time>
          </Fact>
          {step.durationMs !== null && <Fact name="Took">{durationText(step.durationMs)}</Fact>}
          {step.run !== props.run.id && <Fact name="Agent">{agentOf(props)}</Fact>}
          {preview !== null && preview.tokens !== null && (
            <Fact name="Tokens">
              {formatCount(preview.tokens.inputTokens)} in,{" "}
              {formatCount(preview.tokens.outputTokens)} out
            </Fact>
          )}
          {preview?.event.turn !== undefined && <Fact name="Turn">{preview.event.turn}</Fact>}
        </dl>
      </header>
      <div class="chat">
        {preview === null ? <RunContent {...props} /> : <EventContent {...props} />}
      </div>
    </div>
  );
}

function Fact({ name, children }: PropsWithChildren<{ readonly name: string }>) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function agentOf({ branches, step }: SelectedProps): Child {
  const row = branches.find(({ row }) => row.id === step.run)?.row;
  return <a href={runPath(step.run)}>{row?.agent ?? "child run"}</a>;
}

/** The goal and the output of a run. */
function RunContent({ step, run, branches }: SelectedProps) {
  const record = step.run === run.id
    ? run
    : branches.find(({ row }) => row.id === step.run)?.loaded?.record ?? null;
  if (record === null) {
    return (
      <p>
        <a href={runPath(step.run)}>Open this run</a>
      </p>
    );
  }
  const budget = new TextBudget();
  const goal = record.opening?.goal;
  return (
    <>
      {goal !== undefined && (
        <section class="msg user">
          <header>
            <b>Goal</b>
            <CopyButton of="goal-text" label="Copy the goal" />
          </header>
          <div id="goal-text">
            <Value value={goal} budget={budget} />
          </div>
        </section>
      )}
      {record.output !== null &&
        (step.run === run.id ? <a href="#output">Go to the output</a> : (
          <section class="msg">
            <header>
              <b>Output</b>
              <CopyButton of="output-text" label="Copy the output" />
            </header>
            <div id="output-text">
              <Output run={record.id} output={record.output} />
            </div>
          </section>
        ))}
      {goal === undefined && record.output === null && (
        <p class="quiet">This run has no goal and no output. Select a step to see its content.</p>
      )}
      {step.run !== run.id && (
        <p>
          <a href={runPath(step.run)}>Open this run</a>
        </p>
      )}
    </>
  );
}

function EventContent(props: SelectedProps) {
  const { step, isAdmin } = props;
  const { preview, call } = step;
  if (preview === null) return null;
  const { event, members } = preview;
  const all = rawPath(step.run, positionBefore(event.position), 1);
  const json = prettyJson(event.data, JSON_CHARS);
  return (
    <>
      <Content {...props} all={all} />
      {event.unreadable !== undefined && (
        <p class="quiet">Unreadable numbers: {event.unreadable.join(", ")}</p>
      )}
      {event.ignored !== undefined && (
        <p class="quiet">Ignored fields: {event.ignored.join(", ")}</p>
      )}
      {call !== null && (
        <section class="cost-box" aria-label="Cost of this call">
          <CallCost call={call} mayPrice={isAdmin} />
        </section>
      )}
      <details class="raw">
        <summary>
          <Icon name="chevron" /> JSON as sent
        </summary>
        <div class="raw-head">
          <CopyButton of="raw-json" label="Copy the JSON" />
        </div>
        <pre id="raw-json" class="code" tabindex={0}>{json.text}{json.isCut && "…"}</pre>
        <p class="quiet">
          {json.isCut && `The first ${formatCount(JSON_CHARS)} characters. `}
          <a href={all}>Open the complete event</a>
        </p>
      </details>
      <KeyValues
        pairs={[
          ["Event", <code>{event.id}</code>],
          ["Type", event.type],
          ["Sent for", <time datetime={formatInstant(event.ts)}>{formatInstant(event.ts)}</time>],
          ["Arrived", formatInstant(event.receivedAt)],
          ...members.size === 0 ? [["Data", "none: an empty object"] as const] : [],
        ]}
      />
    </>
  );
}

function Content(props: SelectedProps & { readonly all: string }) {
  const { step, trace } = props;
  const preview = step.preview as NonNullable<Step["preview"]>;
  const { event, members } = preview;
  const parsed: unknown = JSON.parse(event.data);
  const data = isObject(parsed) ? parsed : {};
  const budget = new TextBudget();
  if (step.kind === "model") {
    const chat = chatOf(data);
    if (chat.input.length + chat.output.length > 0) {
      const results = new Map(trace.rows.flatMap(({ step: other }) => {
        if (other.kind !== "tool" || other.preview === null || other.run !== step.run) return [];
        const tool = JSON.parse(other.preview.event.data);
        const use = toolUseOf(isObject(tool) ? tool : {});
        const found = { result: use.result, failure: other.failure };
        return use.id === null ? [] : [[use.id, found] as const];
      }));
      return (
        <>
          {step.failure !== null && <Reason text={step.failure} />}
          <Chat chat={chat} model={step.name} results={results} budget={budget} />
        </>
      );
    }
  }
  if (step.kind === "tool") {
    const use = toolUseOf(data);
    if (use.input !== undefined || use.result !== undefined || step.failure !== null) {
      return (
        <CallBox
          id="tool"
          use={use}
          name={step.name}
          failure={step.failure}
          took={step.durationMs}
          budget={budget}
        />
      );
    }
  }
  if (step.kind === "log" && typeof data.message === "string") {
    return (
      <section class={`msg ${step.failure === null ? "" : "is-bad"}`}>
        <header>
          <b>Log</b>{" "}
          {typeof data.level === "string" && <span>{lineOf(data.level, LEVEL_CHARS)}</span>}
          <CopyButton of="log-text" label="Copy the message" />
        </header>
        <div id="log-text">
          <Value value={data.message} budget={budget} />
        </div>
      </section>
    );
  }
  const shown = [...membersOf(event.data, "value")]
    .filter(([name]) => step.kind !== "model" || !CALL_FACTS.has(name));
  return (
    <>
      {step.failure !== null && <Reason text={step.failure} />}
      {step.kind === "model" && <p class="quiet">This call was sent without its messages.</p>}
      {shown.length > 0 && (
        <Payload
          members={new Map(shown)}
          chars={event.data.length}
          charsMax={4_000}
          all={props.all}
        />
      )}
      {members.size === 0 && <p class="quiet">This event has no data.</p>}
    </>
  );
}

function Reason({ text }: { readonly text: string }) {
  return (
    <p class="reason-box">
      <span class="st st-bad">
        <Icon name="bad" />
      </span>
      <span>{text}</span>
    </p>
  );
}
