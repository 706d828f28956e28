/** A mutant, as its patch describes it. */
export interface Mutant {
  /** Name of its file, without the ending. */
  readonly name: string;
  /** What it does wrong. */
  readonly what: string;
  /** Test files that must notice. */
  readonly asked: readonly string[];
}

/** Reads the lines before the diff. */
export function parsePatch(file: string, text: string): Mutant {
  const what = /^What: (.+)$/m.exec(text)?.[1];
  const asked = /^Asked: (.+)$/m.exec(text)?.[1]?.split(" ");
  if (what === undefined || asked === undefined) {
    throw new Error(`${file} needs a line "What: …" and a line "Asked: …" before its diff`);
  }
  return { name: file.replace(/\.patch$/, ""), what, asked };
}
