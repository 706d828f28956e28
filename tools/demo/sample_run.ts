/** Builds the requests of a sample run while its agent works. */
import { type Region, uuid7Hex } from "../../domain/core/ids.ts";
import { EVENTS_PER_BATCH_MAX } from "../../domain/core/limits.ts";
import { formatInstant } from "../../domain/core/time.ts";
import type { Random } from "../random.ts";

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A request of the public API, with the time at which it is sent. */
export interface SampleCall {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly method: "POST" | "PUT";
  readonly path: string;
  readonly body: Json;
}

/** Parts that all sample runs share. */
export interface SampleContext {
  readonly random: Random;
  readonly region: Region;
  /** Adds a request. */
  readonly send: (call: SampleCall) => void;
}

/** Message of a chat, in the form of most providers. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly Json[];
}

/** A model call: its chat, and tokens that do not follow from the chat. */
interface ModelCall {
  /** `provider/model`. */
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly answer: ChatMessage;
  /** Tokens in addition to those of the messages, such as the definitions of tools. */
  readonly more?: number;
  /** Those of the tokens that the provider reads from its cache. */
  readonly cached?: number;
}

/** A tool call and its end. */
interface ToolCall {
  readonly name: string;
  readonly args: Json;
  readonly tookMs: number;
  readonly result?: Json;
  readonly error?: string;
}

/** A run in the making. Its clock moves with each step. */
export class SampleRun {
  readonly id: string;
  nowMs: number;
  readonly #context: SampleContext;
  #events: Json[] = [];

  /** Opens a run. */
  constructor(context: SampleContext, startMs: number, opening: Json) {
    this.#context = context;
    this.nowMs = startMs;
    this.id = this.#newId("run");
    const body = { id: this.id, started_at: formatInstant(startMs), ...opening };
    context.send({ atMs: startMs, method: "POST", path: "/v1/runs", body });
  }

  get random(): Random {
    return this.#context.random;
  }

  /** Opens a run that this one has started. */
  child(opening: Json): SampleRun {
    return new SampleRun(this.#context, this.nowMs, { parent_run_id: this.id, ...opening });
  }

  wait(ms: number): void {
    this.nowMs += ms;
  }

  log(message: string, level = "info"): void {
    this.#add("log", 20, { level, message });
  }

  /** Adds a model call; its tokens and duration follow from its texts. */
  llm({ model: name, messages, answer, more = 0, cached = 0 }: ModelCall): void {
    const [provider, model] = name.split("/");
    const input_tokens = more + tokensIn(messages);
    const output_tokens = tokensIn([answer]);
    const latency_ms = 300 + output_tokens * this.random.int(8, 16);
    const tokens = { input_tokens, cached_input_tokens: cached, output_tokens, latency_ms };
    this.#add("llm_call", latency_ms, { provider, model, ...tokens, messages, output: [answer] });
  }

  tool({ name, args, tookMs, result, error }: ToolCall, id = this.newCallId()): void {
    const end = error === undefined ? { status: "ok", result } : { status: "error", error };
    const data = { name, tool_call_id: id, arguments: args, latency_ms: tookMs, ...end };
    this.#add("tool_call", tookMs, data);
  }

  /** Returns an id that a model call and the tool call that it asks for share. */
  newCallId(): string {
    return `call_${this.random.bytes(6).toHex()}`;
  }

  /** Sends the events so far. */
  flush(): void {
    const events = this.#events;
    this.#events = [];
    for (let at = 0; at < events.length; at += EVENTS_PER_BATCH_MAX) {
      this.#send("events", { events: events.slice(at, at + EVENTS_PER_BATCH_MAX) });
    }
  }

  finish(closing: Json): void {
    this.flush();
    this.#send("finish", { finished_at: formatInstant(this.nowMs), ...closing });
  }

  #add(type: string, tookMs: number, data: Json): void {
    const id = this.#newId("evt");
    this.#events.push({ id, type, ts: formatInstant(this.nowMs), data });
    this.nowMs += tookMs;
  }

  #send(name: "events" | "finish", body: Json): void {
    const path = `/v1/runs/${this.id}/${name}`;
    this.#context.send({ atMs: this.nowMs, method: "POST", path, body });
  }

  #newId(prefix: "run" | "evt"): string {
    const { region, random } = this.#context;
    return `${prefix}_${region}_${uuid7Hex(this.nowMs, random.bytes(10))}`;
  }
}

/** Characters of a token, about. */
const TOKEN_CHARS = 4;

function tokensIn(messages: readonly ChatMessage[]): number {
  return Math.ceil(JSON.stringify(messages).length / TOKEN_CHARS);
}
