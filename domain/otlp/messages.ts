/**
 * Messages that are sent as one attribute a field, such as `gen_ai.prompt.0.role`.
 *
 * @module
 */
import { parsed } from "./attributes.ts";
import type { MessageListName } from "./keys.ts";
import type { AttributeValue } from "./span.ts";

/** Maximum fields of a list of messages that are kept, and their characters: those sent last. */
export const MESSAGE_FIELDS_MAX = 1_024, MESSAGE_CHARS_MAX = 64_000;

/** Collects the messages of a span, of one span after the other. They leave its other attributes. */
export class SpanMessages {
  readonly #lists = new Map<MessageListName, FieldList>();

  /** Adds the value of an attribute; one that is no text is ignored. */
  add(name: MessageListName, key: string, value: AttributeValue | null): void {
    if (typeof value !== "string") return;
    const list = this.#lists.get(name) ?? new FieldList();
    this.#lists.set(name, list);
    list.add(key.slice(name.length), value);
  }

  /** Adds the messages to the other attributes of their span, each list as one, and forgets them. */
  moveTo(attributes: Map<string, AttributeValue>): void {
    if (this.#lists.size === 0) return;
    for (const [name, list] of this.#lists) attributes.set(name, messagesOf(list.fields()));
    this.#lists.clear();
  }
}

/** A field of a message: its key in the list, and its value. */
type Field = readonly [key: string, value: string];

/** Keeps the last fields of a list of messages. */
class FieldList {
  readonly #fields: Field[] = [];
  /** Index of the first field that is kept. */
  #first = 0;
  #chars = 0;

  add(key: string, value: string): void {
    const fields = this.#fields;
    fields.push([key, value]);
    this.#chars += value.length;
    while (this.#chars > MESSAGE_CHARS_MAX || fields.length - this.#first > MESSAGE_FIELDS_MAX) {
      this.#chars -= fields[this.#first++]?.[1].length ?? 0;
    }
    if (this.#first < MESSAGE_FIELDS_MAX) return;
    fields.splice(0, this.#first);
    this.#first = 0;
  }

  fields(): readonly Field[] {
    return this.#fields.slice(this.#first);
  }
}

/** Keys such as `0.role`, `0.message.role`, or `1.message.tool_calls.0.tool_call.function.name`. */
const FIELD_KEY = /^(\d{1,9})\.(?:message\.)?(?:(\w+)\.(\d{1,9})\.(?:\w+\.){0,2})?(\w+)$/;

/** Fields that are read of a message, of its tool calls, and of the parts of its content. */
const NAMES = {
  own: new Set(["role", "content", "name", "tool_call_id"]),
  tool_calls: new Set(["id", "name", "arguments"]),
  contents: new Set(["type", "text"]),
} as const satisfies Readonly<Record<string, ReadonlySet<string>>>;

type Fields = Record<string, AttributeValue>;

/** A message: its own fields, and those of its tool calls and parts by position. */
type DraftMessage = Readonly<Record<keyof typeof NAMES, Map<number, Fields>>>;

/** Returns messages by position, which may have gaps. Of a field that is sent twice the last counts. */
function messagesOf(fields: readonly Field[]): readonly AttributeValue[] {
  const messages = new Map<number, DraftMessage>();
  for (const [key, value] of fields) {
    const [, at, list = "own", itemAt = 0, name = ""] = FIELD_KEY.exec(key) ?? [];
    if (at === undefined || !isList(list) || !NAMES[list].has(name)) continue;
    const message = placed(messages, Number(at), newMessage);
    placed(message[list], Number(itemAt), newFields)[name] = value;
  }
  return byPosition(messages).map(messageOf);
}

function isList(name: string): name is keyof typeof NAMES {
  return Object.hasOwn(NAMES, name);
}

const newFields = (): Fields => ({});

const newMessage = (): DraftMessage => ({
  own: new Map(),
  tool_calls: new Map(),
  contents: new Map(),
});

function messageOf({ own, tool_calls: calls, contents }: DraftMessage): Fields {
  const [fields = {}] = byPosition(own);
  const { content } = fields;
  return {
    ...fields,
    ...content === undefined && contents.size > 0 ? { content: byPosition(contents) } : {},
    // Several parts in one attribute.
    ...isPartList(content) ? { content: parsed(content) as AttributeValue } : {},
    ...calls.size > 0 ? { tool_calls: byPosition(calls) } : {},
  };
}

function isPartList(content: AttributeValue | undefined): content is string {
  return typeof content === "string" && /^\[\{"type":/.test(content);
}

/** Returns the item at a position, which is created if it is absent. */
function placed<Item>(items: Map<number, Item>, at: number, create: () => Item): Item {
  const known = items.get(at);
  if (known !== undefined) return known;
  const created = create();
  items.set(at, created);
  return created;
}

function byPosition<Item>(items: ReadonlyMap<number, Item>): Item[] {
  return [...items].sort(([a], [b]) => a - b).map(([, item]) => item);
}
