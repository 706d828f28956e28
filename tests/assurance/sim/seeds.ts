/**
 * The seeds of sequences that failed once. They are played for ever, on each push.
 *
 * A seed makes the same sequence only while the commands are made as they are: a defect also gets a
 * test of its own.
 */

const FILE = new URL("./seeds.json", import.meta.url);

/** Seeds are 31 bits: the generator takes no more. */
const SEED_MAX = 0x7fff_ffff;

/** A seed that failed. */
interface SavedSeed {
  readonly seed: number;
  /** What it found. */
  readonly found: string;
}

/** The saved seeds. */
export function savedSeeds(): SavedSeed[] {
  return JSON.parse(Deno.readTextFileSync(FILE));
}

/** Saves a seed that failed, unless it is known; of the failure the line that names it. */
export function saveSeed(seed: number, failure: string): void {
  const known = savedSeeds();
  if (known.some((one) => one.seed === seed)) return;
  const found = /^\w*Error.*$/m.exec(failure)?.[0] ?? failure;
  Deno.writeTextFileSync(FILE, `${JSON.stringify([...known, { seed, found }], null, 2)}\n`);
}

/** A seed to begin with that nobody chose, with room for so many behind it. */
export function someSeed(room: number): number {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return random % (SEED_MAX - room);
}
