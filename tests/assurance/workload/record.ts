/** Record of a workload: its lines by section, and their digest. */
import { number } from "../../../tools/table.ts";
import { createHash, type Hash } from "node:crypto";

interface SectionDigest {
  readonly lines: number;
  readonly sha256: string;
}

export interface Digest {
  readonly seed: string;
  readonly count: number;
  /** Hashes of each thousand calls, to find the first that differs. */
  readonly thousands: readonly string[];
  /** By name: answers, messages, reads, verifications, and each family of rows. */
  readonly sections: Readonly<Record<string, SectionDigest>>;
}

const SHORT = 12;

/** Takes the lines of a record and keeps only their hashes. */
export class Recording {
  calls = 0;
  readonly #sections = new Map<string, { lines: number; readonly hash: Hash }>();
  readonly #thousands: string[] = [];
  #thousand = createHash("sha256");
  readonly #write: (line: string) => void;

  /** @param write takes each line */
  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  add(section: string, text: string): void {
    const line = `${text.replaceAll("\r", "\\r").replaceAll("\n", "\\n")}\n`;
    const known = this.#sections.get(section) ?? { lines: 0, hash: createHash("sha256") };
    known.lines++;
    known.hash.update(line);
    this.#sections.set(section, known);
    this.#write(`${section} | ${line}`);
  }

  addCall(section: string, text: string): void {
    this.add(section, text);
    this.#thousand.update(`${text}\n`);
    if (++this.calls % 1_000 === 0) this.#endThousand();
  }

  #endThousand(): void {
    this.#thousands.push(this.#thousand.digest("hex").slice(0, SHORT));
    this.#thousand = createHash("sha256");
  }

  /** Ends the record. */
  digest(seed: string, count: number): Digest {
    this.#endThousand();
    const sections = [...this.#sections].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, { lines, hash }]) => [name, { lines, sha256: hash.digest("hex") }]);
    return { seed, count, thousands: this.#thousands, sections: Object.fromEntries(sections) };
  }
}

export function differences(before: Digest, after: Digest): string[] {
  const lines: string[] = [];
  const first = after.thousands.findIndex((hash, n) => hash !== before.thousands[n]);
  if (first >= 0) {
    lines.push(`calls ${first * 1_000 + 1} to ${(first + 1) * 1_000}, maybe later ones`);
  }
  const names = new Set([...Object.keys(before.sections), ...Object.keys(after.sections)]);
  for (const name of [...names].sort()) {
    const [was, is] = [before.sections[name], after.sections[name]];
    if (was?.sha256 === is?.sha256) continue;
    lines.push(`${name}, lines before: ${number(was?.lines ?? 0)}, now: ${number(is?.lines ?? 0)}`);
  }
  return lines;
}
