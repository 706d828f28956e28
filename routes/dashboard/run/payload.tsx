/** A payload as received, member by member: long texts as text, other values as indented JSON. */
import type { RawJson } from "../../../domain/core/raw_json.ts";
import {
  excerpt,
  excerptOfString,
  type PrettyJson,
  prettyJson,
} from "../../../domain/core/pretty_json.ts";
import { formatCount } from "../components/format.ts";

/** Minimum characters of a JSON string to show it as text, without quotes and escapes. */
const LONG_TEXT_CHARS = 80;

/** Characters that a member costs in addition to its text. */
const MEMBER_CHARS = 60;

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
            <dt>{key}</dt>
            <dd>
              <pre class={isText ? "text" : ""} tabindex={mayScroll(text) ? 0 : undefined}>
                {text}{isCut && "…"}
              </pre>
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
    const isText = isLongText(raw);
    const value = isText ? excerptOfString(raw, room) : prettyJson(raw, room);
    visible.push({ key: name.text, value, isText });
    room -= name.text.length + value.text.length + MEMBER_CHARS;
    isCut ||= value.isCut || name.isCut;
  }
  return { visible, isCut };
}

/** Returns whether a value is a long or multi-line text. */
function isLongText(value: RawJson): boolean {
  return value.startsWith('"') && (value.length > LONG_TEXT_CHARS || value.includes("\\n"));
}
