/** Data as it was sent, member by member: long texts as texts, all else as JSON in lines. */
import { type RawJson, rawMembers } from "../../../domain/input/json.ts";
import { beginning, prettyJson, type Shown } from "../../../domain/input/pretty_json.ts";

/** Characters from which a text is shown as one, without quotes and escapes. */
const LONG_TEXT_CHARS = 80;

/** What a member takes on the page besides its text. */
const MEMBER_CHARS = 60;

interface Member {
  readonly key: string;
  readonly shown: Shown;
  readonly isText: boolean;
}

/**
 * Shows an object; where there is more of it than `charsMax`, the beginning and the way to all of it.
 *
 * @param all where the whole is
 */
export function Data(
  { json, charsMax, all }: {
    readonly json: RawJson;
    readonly charsMax: number;
    readonly all: string;
  },
) {
  const { members, isCut } = membersOf(json, charsMax);
  if (members.length === 0) return <p class="soft">No data: an empty object.</p>;
  return (
    <>
      <dl class="data">
        {members.map(({ key, shown, isText }) => (
          <>
            <dt>{key}</dt>
            <dd>
              <pre class={isText ? "text" : ""} {...(mayScroll(shown.text) ? { tabindex: 0 } : {})}>
                {shown.text}{shown.isCut ? "…" : ""}
              </pre>
            </dd>
          </>
        ))}
      </dl>
      {isCut
        ? (
          <p class="soft">
            There is more of it: <a href={all}>show all of it as JSON</a>{" "}
            ({json.length.toLocaleString("en")} characters).
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
function membersOf(json: RawJson, charsMax: number): { members: Member[]; isCut: boolean } {
  const members: Member[] = [];
  let room = charsMax;
  let isCut = false;
  for (const [key, value] of rawMembers(json)) {
    if (room <= 0) return { members, isCut: true };
    const name = beginning(key, room);
    const text = textOf(value);
    const shown = text === null ? prettyJson(value, room) : beginning(text, room);
    members.push({ key: name.text, shown, isText: text !== null });
    room -= name.text.length + shown.text.length + MEMBER_CHARS;
    isCut ||= shown.isCut || name.isCut;
  }
  return { members, isCut };
}

/** The text that a value is, where it is long or has lines. */
function textOf(value: RawJson): string | null {
  if (!value.startsWith('"')) return null;
  const isLong = value.length > LONG_TEXT_CHARS || value.includes("\\n");
  return isLong ? JSON.parse(value) as string : null;
}
