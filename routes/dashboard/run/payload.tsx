/** Payload as it was sent, member by member: long texts as texts, all else as indented JSON. */
import type { RawJson } from "../../../domain/core/raw_json.ts";
import {
  excerpt,
  excerptOfString,
  type PrettyJson,
  prettyJson,
} from "../../../domain/core/pretty_json.ts";
import { formatCount } from "../components/format.ts";

/** Characters from which a text is shown as one, without quotes and escapes. */
const LONG_TEXT_CHARS = 80;

/** What a member takes on the page besides its text. */
const MEMBER_CHARS = 60;

interface Member {
  readonly key: string;
  readonly value: PrettyJson;
  readonly isText: boolean;
}

/**
 * Shows an object; where there is more of it than `charsMax`, the beginning and the way to all of it.
 *
 * @param chars how many characters all of it has, as it was sent
 * @param all where the whole is
 */
export function Payload(
  { members, chars, charsMax, all }: {
    readonly members: ReadonlyMap<string, RawJson>;
    readonly chars: number;
    readonly charsMax: number;
    readonly all: string;
  },
) {
  const { shown, isCut } = shownOf(members, charsMax);
  if (shown.length === 0) return <p class="soft">No data: an empty object.</p>;
  return (
    <>
      <dl class="data">
        {shown.map(({ key, value: { text, isCut }, isText }) => (
          <>
            <dt>{key}</dt>
            <dd>
              <pre class={isText ? "text" : ""} {...(mayScroll(text) ? { tabindex: 0 } : {})}>
                {text}{isCut ? "…" : ""}
              </pre>
            </dd>
          </>
        ))}
      </dl>
      {isCut
        ? (
          <p class="soft">
            There is more of it: <a href={all}>show all of it as JSON</a> ({formatCount(chars)}{" "}
            characters).
          </p>
        )
        : null}
    </>
  );
}

/** Whether a text may be higher than the room for it, on a phone. */
function mayScroll(text: string): boolean {
  return text.length > 500 || text.split("\n", 21).length > 20;
}

/** The members that have room. */
function shownOf(
  members: ReadonlyMap<string, RawJson>,
  charsMax: number,
): { readonly shown: readonly Member[]; readonly isCut: boolean } {
  const shown: Member[] = [];
  let room = charsMax;
  let isCut = false;
  for (const [key, sent] of members) {
    if (room <= 0) return { shown, isCut: true };
    const name = excerpt(key, room);
    const isText = isLongText(sent);
    const value = isText ? excerptOfString(sent, room) : prettyJson(sent, room);
    shown.push({ key: name.text, value, isText });
    room -= name.text.length + value.text.length + MEMBER_CHARS;
    isCut ||= value.isCut || name.isCut;
  }
  return { shown, isCut };
}

/** Whether a value is a text that is long or has lines. */
function isLongText(value: RawJson): boolean {
  return value.startsWith('"') && (value.length > LONG_TEXT_CHARS || value.includes("\\n"));
}
