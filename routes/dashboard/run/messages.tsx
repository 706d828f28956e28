/** Messages of a model call, with its tool calls. */
import {
  type Chat,
  type ChatMessage,
  type ChatPart,
  toolUseOf,
} from "../../../domain/runs/chat.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { countedText, durationText } from "../components/format.ts";
import { fieldsOf, lineOf, proseLine } from "./event_preview.ts";
import type { Step } from "./steps.ts";
import { Bounded, Copied, Fold, IfFits, Value } from "./values.tsx";

/** Characters that a message and a tool call cost in addition to their texts. */
const MESSAGE_CHARS = 120, CALL_CHARS = 240;

/** Messages before the answer that are not folded. */
const MESSAGES_SHOWN = 2;

/** Returns the outcomes of a run's tool calls by the id that the model gave them. */
export function outcomesIn(steps: readonly Step[], run: string) {
  return new Map(steps.flatMap(({ kind, preview, failure, run: of }) => {
    if (kind !== "tool" || preview === null || of !== run) return [];
    const { id, result } = toolUseOf(fieldsOf(preview.event.data));
    return id === null ? [] : [[id, { result, failure }] as const];
  }));
}

interface Context {
  readonly model: string;
  readonly outcomes: ReturnType<typeof outcomesIn>;
}

type MessagesProps = Context & { readonly chat: Chat };

/** Shows the answer of a call and what it answers; system texts and earlier messages are folded. */
export function Messages({ chat: { input, output }, ...context }: MessagesProps) {
  const others = input.filter(({ role }) => role !== "system");
  const earlier = others.slice(0, -MESSAGES_SHOWN);
  const listed = (messages: readonly ChatMessage[], name: string) =>
    messages.map((message, i) => <Message {...context} message={message} id={`${name}-${i}`} />);
  // Long earlier messages leave room for what readers came for.
  return (
    <>
      <Bounded chars={8_000} markdown={0}>
        {input.filter(({ role }) => role === "system").map((message, i) => (
          <Fold class="earlier" summary={`System: ${beginningOf(message)}`}>
            {listed([message], `system-${i}`)}
          </Fold>
        ))}
        {earlier.length > 0 && (
          <Fold class="earlier" summary={countedText(earlier.length, "earlier message")}>
            {listed(earlier, "earlier")}
          </Fold>
        )}
      </Bounded>
      <Bounded chars={10_000} markdown={4_000}>
        {listed(others.slice(-MESSAGES_SHOWN), "in")}
      </Bounded>
      {listed(output, "out")}
    </>
  );
}

function beginningOf({ parts }: ChatMessage): string {
  const first = parts.find((part) => part.kind === "text");
  return first === undefined ? "" : proseLine(first.text, 44);
}

const ROLES: ReadonlyMap<string, string> = new Map(Object.entries(
  { system: "System", user: "User", assistant: "Assistant", tool: "Tool result" },
));

function Message({ message: { role, parts }, id, model, outcomes }: Context & {
  readonly message: ChatMessage;
  readonly id: string;
}) {
  const name = ROLES.get(role);
  return (
    <IfFits chars={MESSAGE_CHARS}>
      <Copied
        id={id}
        class={name === undefined ? "msg" : `msg ${role}`}
        name={name ?? lineOf(role)}
        note={role === "assistant" && <span>{model}</span>}
      >
        {parts.map((part, i) => (
          <IfFits chars={part.kind === "call" ? CALL_CHARS : 0}>
            <Part part={part} id={`${id}-${i}`} outcomes={outcomes} />
          </IfFits>
        ))}
      </Copied>
    </IfFits>
  );
}

function Part({ part, id, outcomes }: Pick<Context, "outcomes"> & {
  readonly part: ChatPart;
  readonly id: string;
}) {
  if (part.kind === "call") {
    const outcome = outcomes.get(part.id ?? "");
    const call = { ...part, result: part.result ?? outcome?.result };
    return <CallBox id={id} call={call} failure={outcome?.failure ?? null} />;
  }
  const value = <Value raw={rawOf(("text" in part ? part.text : part.value) ?? null)} />;
  return part.kind === "note" ? <div class="quiet">{value}</div> : value;
}

interface CallBoxProps {
  readonly id: string;
  /** Reason of its failure; null if it did not fail. */
  readonly failure: string | null;
  readonly call: ReturnType<typeof toolUseOf> & { readonly name: string };
  readonly tookMs?: number | null;
}

/** A tool call: its arguments and, below a line, its result. */
export function CallBox({ id, call, failure, tookMs = null }: CallBoxProps) {
  const isFailed = failure !== null;
  return (
    <div class="call">
      <Copied
        id={`${id}-input`}
        name={lineOf(call.name)}
        icon={["tool", "k-tool"]}
        note={call.id !== null && <code class="end">{lineOf(call.id)}</code>}
      >
        {call.input === undefined
          ? <p class="quiet">no arguments</p>
          : <Value raw={rawOf(call.input)} />}
      </Copied>
      {(call.result !== undefined || isFailed) && (
        <Copied
          id={`${id}-result`}
          class={isFailed ? "result is-bad" : "result"}
          name={isFailed ? "Failed" : "Result"}
          icon={isFailed ? ["bad", "st-bad"] : undefined}
          note={tookMs !== null && <span class="end">{durationText(tookMs)}</span>}
        >
          {call.result === undefined
            ? <pre class="text">{failure}</pre>
            : <Value raw={rawOf(call.result)} />}
        </Copied>
      )}
    </div>
  );
}
