/** Names that a service draws: ids, cursors, versions and hashes, replaced by numbers. */

/** A name, with a part before it that stays. */
const NAMES = [
  // Ids and secrets; those that clients send begin with zeros and stay.
  /(\b[a-z]+_(?:eu|us)_)(?!0{12})[0-9a-f]{32}\b/,
  // Names of rows, jobs and teams.
  /()(?<![0-9A-Za-z])[0-9A-HJKMNP-TV-Z]{26}\b/,
  // Versions of rows.
  /()\b0{6}[0-9a-f]{14}\b/,
  /(whsec_)[\w+/]{43}=/,
  // Processes, in the ids of requests.
  /("x-request-id":")[0-9a-f]{12}/,
  /("(?:next_)?cursor\\?":\\?"|\bcursor=|"etag":"(?:W\/)?\\")[\w+/=~.%-]+/,
];
const NAME = new RegExp(NAMES.map(({ source }) => source).join("|"), "g");

/** Values that follow from a drawn secret or name: 32 bytes are a SHA-256. */
const DERIVED = [
  [/\{"\$bytes":"[\w+/]{43}="\}/g, '"#hash"'],
  [/"sealed":\{"\$bytes":"[\w+/=]+"\}/g, '"sealed":"#sealed"'],
  [/v1,[\w+/]{43}=/g, "v1,#signature"],
  [/127\.0\.0\.1:\d{5}/g, "127.0.0.1:#port"],
  [/(\\?"hint\\?":)\\?"[^"]{4}\\?"/g, '$1"#hint"'],
] as const;

/**
 * Returns a function that numbers the names of texts in their order. So what another version of the
 * service draws, and how much, does not show; where it uses a name does. Each kind of name has its own
 * numbers, and so have names that first appear in a family of rows: one more of them moves no other.
 */
export function numbering(): (text: string, family?: string) => string {
  const numbers = new Map<string, string>();
  const counts = new Map<string, number>();
  return (text, family = "") => {
    const plain = DERIVED.reduce(
      (result, [derived, shown]) => result.replace(derived, shown),
      text,
    );
    return plain.replace(NAME, (name, ...groups: (string | undefined)[]) => {
      const kept = groups.slice(0, NAMES.length).find((group) => group !== undefined) ?? "";
      const drawn = name.slice(kept.length);
      let number = numbers.get(drawn);
      if (number === undefined) {
        const kind = kept === "" ? family : kept;
        const count = (counts.get(kind) ?? 0) + 1;
        counts.set(kind, count);
        number = kept === "" && family !== "" ? `#${family} ${count}` : `#${count}`;
        numbers.set(drawn, number);
      }
      return kept + number;
    });
  };
}
