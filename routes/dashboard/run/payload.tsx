/** A payload, member by member: texts as Markdown, other values as indented JSON as received. */
import type { RawJson } from "../../../domain/core/raw_json.ts";
import { decoded } from "../../../domain/runs/chat.ts";
import {
  excerpt,
  excerptOfString,
  type PrettyJson,
  prettyJson,
} from "../../../domain/core/pretty_json.ts";
import { formatCount } from "../components/format.ts";
import { Markdown } from "../components/markdown.tsx";
import { membersOf } from "./event_preview.ts";
import { rawPath } from "./paths.ts";

/** Maximum characters of a text that is rendered as Markdown. */
const MARKDOWN_CHARS = 6_000;

/** Maximum characters shown of an output. */
const OUTPUT_CHARS = 20_000;

/** Characters that a member costs in addition to its text. */
const MEMBER_CHARS = 60;

/** Renders the output of a run; a value that is no object has no name. */
export function Output({ run, output }: { readonly run: string; readonly output: RawJson }) {
  return (
    <Payload
      members={membersOf(output, "")}
      chars={output.length}
      charsMax={OUTPUT_CHARS}
      all={rawPath(run, null, 1)}
    />
  );
}

/**
 * Renders an object; beyond `charsMax`, renders its beginning and a link to the complete object.
 *
 * @param chars characters of the complete payload, as received
 * @param all path of the complete payload
 */
export function Payload(
  { members, chars, charsMax, all }: {
    readonly members: ReadonlyMap<string, RawJson>;
    readonly chars: number;
    readonly charsMax: number;
    readonly all: string;
  },
) {
  const { visible, isCut } = visibleMembers(members, charsMax);
  if (visible.length === 0) return <p class="soft">No data: an empty object.</p>;
  return (
    <>
      <dl class="data">
        {visible.map(({ key, value: { text, isCut }, isText }) => (
          <>
            <dt hidden={key === ""}>{key}</dt>
            <dd>
              {isText && !isCut && text.length <= MARKDOWN_CHARS
                ? <Markdown text={text} />
                : (
                  <pre class={isText ? "text" : ""} tabindex={mayScroll(text) ? 0 : undefined}>
                  {text}{isCut && "…"}
                  </pre>
                )}
            </dd>
          </>
        ))}
      </dl>
      {isCut && (
        <p class="soft">
          There is more of it: <a href={all}>show all of it as JSON</a> ({formatCount(chars)}{" "}
          characters).
        </p>
      )}
    </>
  );
}

/** Returns whether a text may exceed the height of its box on a phone. */
function mayScroll(text: string): boolean {
  return text.length > 500 || text.split("\n", 21).length > 20;
}

/** Returns the members that fit. */
function visibleMembers(members: ReadonlyMap<string, RawJson>, charsMax: number) {
  const visible: { key: string; value: PrettyJson; isText: boolean }[] = [];
  let room = charsMax;
  let isCut = false;
  for (const [key, raw] of members) {
    if (room <= 0) return { visible, isCut: true };
    const name = excerpt(key, room);
    const { value, isText } = valueOf(raw, room);
    visible.push({ key: name.text, value, isText });
    room -= name.text.length + value.text.length + MEMBER_CHARS;
    isCut ||= value.isCut || name.isCut;
  }
  return { visible, isCut };
}

/** Formats a value: a text without quotes and escapes, unless it is itself JSON. */
function valueOf(raw: RawJson, room: number) {
  if (!raw.startsWith('"') || raw === '""') return { value: prettyJson(raw, room), isText: false };
  const value = excerptOfString(raw, room);
  return value.isCut || decoded(value.text) === value.text
    ? { value, isText: true }
    : { value: prettyJson(value.text as RawJson, room), isText: false };
}
