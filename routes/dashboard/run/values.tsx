/** Values of events and runs, and messages: texts as Markdown, other JSON as sent, all within a bound. */
import { type Child, createContext, type PropsWithChildren, useContext } from "hono/jsx";
import { type RawJson, rawMembers, rawOf } from "../../../domain/core/raw_json.ts";
import { excerptOfString, prettyJson } from "../../../domain/core/pretty_json.ts";
import {
  type Chat,
  type ChatMessage,
  type ChatPart,
  decoded,
  toolUseOf,
} from "../../../domain/runs/chat.ts";
import { Sign } from "../components/elements.tsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { Icon, type IconName } from "../components/icons.tsx";
import { Markdown } from "../components/markdown.tsx";
import { fieldsOf, lineOf, membersOf, proseLine } from "./texts.ts";
import { rawPath } from "./paths.ts";
import type { Step } from "./run_view.ts";

/** Characters that a value and a member cost in addition to their texts. */
const VALUE_CHARS = 60;

/** Maximum characters of a text that is rendered as Markdown: its time grows with its length. */
const MARKDOWN_TEXT_CHARS = 6_000;

/** Characters that still fit, and how many of them may be Markdown. */
const Budget = createContext({ chars: 0, markdown: 0 });

type BoundedProps = PropsWithChildren<{
  readonly chars?: number;
  readonly markdown?: number;
  /** Shown if not everything fits. */
  readonly rest?: Child;
}>;

/** Bounds the values in it, whatever was sent. They take from it in the order of the page. */
export function Bounded({ chars = 20_000, markdown = 8_000, rest, children }: BoundedProps) {
  return (
    <Budget.Provider value={{ chars, markdown }}>
      {children}
      <Rest>{rest ?? "The JSON has all of it."}</Rest>
    </Budget.Provider>
  );
}

function Rest({ children }: PropsWithChildren) {
  return useContext(Budget).chars <= 0 && <p class="quiet">{children}</p>;
}

/** Shows its content if anything still fits, and takes the characters of its markup. */
function IfFits({ chars, children }: PropsWithChildren<{ readonly chars: number }>) {
  const budget = useContext(Budget);
  if (budget.chars <= 0) return null;
  budget.chars -= chars;
  return <>{children}</>;
}

/** A text as Markdown, an object with long texts member by member, other values as indented JSON. */
export function Value({ raw }: { readonly raw: RawJson }) {
  const budget = useContext(Budget);
  const charsMax = Math.max(0, budget.chars);
  const sent = raw.startsWith('"') && raw !== '""' ? excerptOfString(raw, charsMax) : null;
  // JSON that was sent as a text is shown as JSON.
  const isText = sent !== null && (sent.isCut || decoded(sent.text) === sent.text);
  const json = (sent?.text ?? raw).trimStart() as RawJson;
  const members = isText || !json.startsWith("{") ? null : rawMembers(json);
  if (members?.values().some(isProse)) return <Members members={members} />;
  const { text, isCut } = isText ? sent : prettyJson(json, charsMax);
  budget.chars -= text.length + VALUE_CHARS;
  if (isText && !isCut && text.length <= Math.min(MARKDOWN_TEXT_CHARS, budget.markdown)) {
    budget.markdown -= text.length;
    return <Markdown text={text} />;
  }
  // A text that may exceed its box scrolls by keyboard too.
  const mayScroll = text.length > 300 || text.includes("\n");
  return (
    <pre class={isText ? "text" : "json"} tabindex={mayScroll ? 0 : undefined}>
      {text}{isCut && "…"}
    </pre>
  );
}

/** Returns whether a value is a text of several lines, which JSON would escape. */
function isProse(raw: RawJson): boolean {
  return raw.startsWith('"') && raw.includes("\\n");
}

/** The members of an object, one by one, as far as they fit. */
export function Members({ members }: { readonly members: ReadonlyMap<string, RawJson> }) {
  return (
    <dl class="data">
      {[...members].map(([name, raw]) => (
        <IfFits chars={name.length}>
          <dt hidden={name === ""}>{lineOf(name)}</dt>
          <dd>
            <Value raw={raw} />
          </dd>
        </IfFits>
      ))}
    </dl>
  );
}

/** The output of a run; a value that is not an object has no name. */
export function Output({ run, output }: { readonly run: string; readonly output: RawJson }) {
  const size = formatCount(output.length);
  const rest = <a href={rawPath(run, null, 1)}>Show all {size} characters as JSON</a>;
  return output === "{}" ? <p class="soft">No data: an empty object.</p> : (
    <Bounded rest={rest}>
      <Members members={membersOf(output, "")} />
    </Bounded>
  );
}

type CopiedProps = PropsWithChildren<{
  readonly id: string;
  readonly name: string;
  /** Shown after the name. */
  readonly note?: Child;
  readonly icon?: readonly [name: IconName, kind?: string | undefined] | undefined;
  readonly class?: string;
}>;

/** A box with its name and a button that copies its content. */
export function Copied({ id, name, note, icon, class: kind, children }: CopiedProps) {
  return (
    <section class={kind}>
      <header>
        {icon && <Sign icon={icon[0]} name={icon[1]} />}
        <b>{name}</b> {note}
        <CopyButton of={id} label={`Copy: ${name}`} />
      </header>
      <div id={id}>{children}</div>
    </section>
  );
}

/** A button that copies the text of an element; scripts show it. */
export function CopyButton({ of, label }: { readonly of: string; readonly label: string }) {
  return (
    <button
      type="button"
      class="btn plain icon small copy"
      data-copy={of}
      aria-label={label}
      hidden
    >
      <Icon name="copy" />
    </button>
  );
}

type FoldProps = PropsWithChildren<{
  readonly summary: Child;
  readonly class: string;
  readonly id?: string;
  readonly open?: boolean;
}>;

/** A part that opens by its summary. */
export function Fold({ summary, children, ...attributes }: FoldProps) {
  return (
    <details {...attributes}>
      <summary>
        <Icon name="chevron" /> {summary}
      </summary>
      {children}
    </details>
  );
}

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
          icon={isFailed ? ["bad"] : undefined}
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
