/**
 * Seeds of sequences that failed before, which every push replays.
 *
 * A seed yields the same sequence only while the generators are unchanged, so a defect also gets a
 * separate test.
 */

const FILE = new URL("./seeds.json", import.meta.url);

interface SavedSeed {
  readonly seed: number;
  readonly instances?: number;
  /** Side of the service that its commands are about; all of it when absent. */
  readonly side?: "alerts";
  readonly found: string;
}

function allSeeds(): SavedSeed[] {
  return JSON.parse(Deno.readTextFileSync(FILE));
}

/** Returns the seeds of a side, or of sequences about all of the service. */
export function savedSeeds(side?: SavedSeed["side"]): SavedSeed[] {
  return allSeeds().filter((saved) => saved.side === side);
}

/** Saves a failed seed with the line that names the failure, unless it is saved already. */
export function saveSeed(seed: number, failure: string, instances = 1): void {
  const saved = allSeeds();
  const isSame = (one: SavedSeed) =>
    one.seed === seed && (one.instances ?? 1) === instances && one.side === undefined;
  if (saved.some(isSame)) return;
  const text = /^\w*Error.*$/m.exec(failure)?.[0] ?? failure;
  const added = { seed, ...instances > 1 ? { instances } : {}, found: text };
  Deno.writeTextFileSync(FILE, `${JSON.stringify([...saved, added], null, 2)}\n`);
}
