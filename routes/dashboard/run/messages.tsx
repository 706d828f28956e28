/** Messages of a model call and the values in them. */
import {
  type Chat as ChatData,
  type ChatMessage,
  type ChatPart,
  decoded,
  type ToolUse,
} from "../../../domain/runs/chat.ts";
import { excerpt, prettyJson } from "../../../domain/core/pretty_json.ts";
import { isObject, rawOf } from "../../../domain/core/raw_json.ts";
import { countedText, durationText } from "../components/format.ts";
import { Markdown, plainText } from "../components/markdown.tsx";
import { Icon } from "../components/icons.tsx";
import { lineOf } from "./event_preview.ts";

/** Maximum characters of what a panel is about, of them as Markdown, and of one text. */
const MAIN = { chars: 20_000, markdown: 8_000 } as const, TEXT_CHARS = 12_000;

/** The same of the messages before an answer, and of the folded ones. */
const RECENT = { chars: 10_000, markdown: 4_000 } as const;
const FOLDED = { chars: 8_000, markdown: 0 } as const;

/** Characters that a value, a message and a tool call cost in addition to their texts. */
const VALUE_CHARS = 60, MESSAGE_CHARS = 120, CALL_CHARS = 240;

/** Maximum parts of a message. */
const PARTS_MAX = 200;

/** Maximum characters of a role or an id, and of the name of a tool. */
const WORD_CHARS = 40, NAME_CHARS = 140;

/** Maximum characters of a text that is rendered as Markdown: its time grows with its length. */
const MARKDOWN_TEXT_CHARS = 6_000;

/** Messages before the last ones that are folded. */
const MESSAGES_SHOWN = 2;

/** Bounds what a panel renders, whatever was sent. Elements take from it in the order of the page. */
export class TextBudget {
  #chars: number;
  #markdown: number;

  constructor({ chars, markdown }: { readonly chars: number; readonly markdown: number } = MAIN) {
    this.#chars = chars;
    this.#markdown = markdown;
  }

  /** True if nothing more fits. */
  get isSpent(): boolean {
    return this.#chars <= 0;
  }

  /** Takes the characters of markup around texts. */
  takeMarkup(chars: number): void {
    this.#chars -= chars;
  }

  /** Returns the part of a text that fits, and whether it may be Markdown. */
  take(
    text: string,
  ): { readonly text: string; readonly isCut: boolean; readonly isMarkdown: boolean } {
    const cut = excerpt(text, Math.min(TEXT_CHARS, Math.max(0, this.#chars)));
    this.#chars -= cut.text.length + VALUE_CHARS;
    const isMarkdown = !cut.isCut && text.length <= Math.min(MARKDOWN_TEXT_CHARS, this.#markdown);
    if (isMarkdown) this.#markdown -= text.length;
    return { ...cut, isMarkdown };
  }
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

interface ValueProps {
  readonly value: unknown;
  readonly budget: TextBudget;
}

/** A text as Markdown, members with such a text one by one, or another value as indented JSON. */
export function Value({ value: sent, budget }: ValueProps) {
  if (sent === undefined || sent === null) {
    budget.takeMarkup(VALUE_CHARS);
    return <p class="quiet">nothing</p>;
  }
  const value = typeof sent === "string" && sent.length > TEXT_CHARS ? sent : decoded(sent);
  if (isObject(value) && Object.values(value).some(isProse)) {
    return (
      <dl class="data">
        {Object.entries(value).map(([key, member]) =>
          !budget.isSpent && (
            <>
              <dt>{key.slice(0, NAME_CHARS)}</dt>
              <dd>
                <Value value={member} budget={budget} />
              </dd>
            </>
          )
        )}
      </dl>
    );
  }
  const { text, isCut, isMarkdown } = budget.take(
    // One character more than fits shows that the value is cut.
    typeof value === "string" ? value : prettyJson(rawOf(value), TEXT_CHARS + 1).text,
  );
  if (typeof value === "string" && isMarkdown) return <Markdown text={text} />;
  return (
    <pre class={typeof value === "string" ? "text" : "json"} tabindex={0}>
      {text}{isCut && "…"}
    </pre>
  );
}

/** Returns whether a value is a text of several lines, which JSON would escape. */
function isProse(value: unknown): boolean {
  return typeof value === "string" && value.includes("\n");
}

/** Outcome of a tool call. */
interface Outcome {
  readonly result: unknown;
  /** Reason of its failure; null if it did not fail. */
  readonly failure: string | null;
}

interface ChatProps {
  readonly chat: ChatData;
  readonly model: string;
  /** Outcomes of tool calls by id, from the events of the run. */
  readonly results: ReadonlyMap<string, Outcome>;
  readonly budget: TextBudget;
}

/** Shows the answer of a call and what it answers; system texts and earlier messages are folded. */
export function Chat({ chat: { input, output }, model, results, budget }: ChatProps) {
  const system = input.filter(({ role }) => role === "system");
  const others = input.filter(({ role }) => role !== "system");
  const earlier = others.slice(0, -MESSAGES_SHOWN);
  const last = others.slice(-MESSAGES_SHOWN);
  const shared = { model, results };
  // Long earlier messages leave room for what readers came for.
  const [recent, folded] = [new TextBudget(RECENT), new TextBudget(FOLDED)];
  return (
    <>
      {system.map((message, i) => (
        <details class="msg system">
          <summary>
            <Icon name="chevron" /> <b>System</b> <span>{previewOf(message)}</span>
          </summary>
          <Message {...shared} message={message} id={`system-${i}`} budget={folded} />
        </details>
      ))}
      {earlier.length > 0 && (
        <details class="earlier">
          <summary>
            <Icon name="chevron" /> {countedText(earlier.length, "earlier message")}
          </summary>
          {earlier.map((message, i) => (
            <Message {...shared} message={message} id={`earlier-${i}`} budget={folded} />
          ))}
        </details>
      )}
      {last.map((message, i) => (
        <Message {...shared} message={message} id={`in-${i}`} budget={recent} />
      ))}
      {output.map((message, i) => (
        <Message {...shared} message={message} id={`out-${i}`} budget={budget} />
      ))}
    </>
  );
}

function previewOf({ parts }: ChatMessage): string {
  const first = parts.find(({ kind }) => kind === "text");
  return first?.kind === "text" ? plainText(first.text.slice(0, 80)) : "";
}

const ROLES = new Map([
  ["system", "System"],
  ["user", "User"],
  ["assistant", "Assistant"],
  ["tool", "Tool result"],
]);

interface MessageProps extends Omit<ChatProps, "chat"> {
  readonly message: ChatMessage;
  readonly id: string;
}

function Message({ message: { role, parts }, id, model, results, budget }: MessageProps) {
  if (budget.isSpent) return null;
  budget.takeMarkup(MESSAGE_CHARS);
  const name = ROLES.get(role) ?? lineOf(role, WORD_CHARS);
  const isKnown = ROLES.has(role);
  return (
    <section class={`msg ${isKnown ? role : ""}`}>
      <header>
        <b>{name}</b> {role === "assistant" && <span>{model}</span>}
        <CopyButton of={id} label={`Copy: ${name}`} />
      </header>
      <div id={id}>
        {parts.slice(0, PARTS_MAX).map((part, i) => (
          <Part part={part} id={`${id}-${i}`} results={results} budget={budget} />
        ))}
        <Rest of={budget} isCut={parts.length > PARTS_MAX} />
      </div>
    </section>
  );
}

/** Points to the JSON if parts are left out. */
function Rest({ of, isCut }: { readonly of: TextBudget; readonly isCut: boolean }) {
  return (of.isSpent || isCut) && <p class="quiet">The JSON has all of it.</p>;
}

interface PartProps extends Pick<ChatProps, "results" | "budget"> {
  readonly part: ChatPart;
  readonly id: string;
}

function Part({ part, id, results, budget }: PartProps) {
  if (budget.isSpent) return null;
  switch (part.kind) {
    case "text":
      return <Value value={part.text} budget={budget} />;
    case "note":
      return <p class="quiet note">{budget.take(part.text).text}</p>;
    case "value":
    case "result":
      return <Value value={part.value} budget={budget} />;
    case "call": {
      const found = part.id === null ? undefined : results.get(part.id);
      const use = { id: part.id, input: part.input, result: part.result ?? found?.result };
      return (
        <CallBox
          id={id}
          use={use}
          name={part.name}
          failure={found?.failure ?? null}
          took={null}
          budget={budget}
        />
      );
    }
  }
}

interface CallBoxProps {
  readonly id: string;
  readonly use: ToolUse;
  readonly name: string;
  readonly failure: string | null;
  readonly took: number | null;
  readonly budget: TextBudget;
}

/** A tool call: its arguments and, below a line, its result. */
export function CallBox({ id, use, failure, took, budget, ...props }: CallBoxProps) {
  budget.takeMarkup(CALL_CHARS);
  const name = lineOf(props.name, NAME_CHARS);
  const hasResult = use.result !== undefined || failure !== null;
  return (
    <div class="call">
      <div>
        <header>
          <span class="st k-tool">
            <Icon name="tool" />
          </span>
          <b>{name}</b>
          {use.id !== null && <code class="end">{use.id.slice(0, WORD_CHARS)}</code>}
          <CopyButton of={`${id}-input`} label={`Copy the arguments of ${name}`} />
        </header>
        <div id={`${id}-input`}>
          {use.input === undefined
            ? <p class="quiet">no arguments</p>
            : <Value value={use.input} budget={budget} />}
        </div>
      </div>
      {hasResult && (
        <div class={failure === null ? "result" : "result is-bad"}>
          <header>
            {failure === null ? <b>Result</b> : (
              <>
                <span class="st st-bad">
                  <Icon name="bad" />
                </span>
                <b>Failed</b>
              </>
            )}
            {took !== null && <span class="end">{durationText(took)}</span>}
            <CopyButton of={`${id}-result`} label={`Copy the result of ${name}`} />
          </header>
          <div id={`${id}-result`}>
            {use.result === undefined
              ? failure !== null && <pre class="text">{failure}</pre>
              : <Value value={use.result} budget={budget} />}
          </div>
        </div>
      )}
    </div>
  );
}
