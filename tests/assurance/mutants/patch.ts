/** A mutant, as its patch describes it. */
export interface Mutant {
  /** Name of its file, without the extension. */
  readonly name: string;
  /** Description of the bug. */
  readonly what: string;
  /** Test files that must fail. */
  readonly tests: readonly string[];
}

/** Parses the lines before the diff. */
export function parsePatch(file: string, text: string): Mutant {
  const what = /^What: (.+)$/m.exec(text)?.[1];
  const tests = /^Tests: (.+)$/m.exec(text)?.[1]?.split(" ");
  if (what === undefined || tests === undefined) {
    throw new Error(`${file} needs a line "What: …" and a line "Tests: …" before its diff`);
  }
  return { name: file.replace(/\.patch$/, ""), what, tests };
}
