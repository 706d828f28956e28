/** Parts of the commands of all sequences. */
import fc from "fast-check";
import { anyFaults } from "./faults.ts";
import { count, type Play } from "./running.ts";
import type { Fields } from "./shape.ts";
import type { World } from "./world.ts";

/** One action on both the service and the model. */
export type Command<Played extends Play = Play> = fc.AsyncCommand<Played, World>;

/** Creates a command that is noted in the log of its play. */
export function command<Played extends Play>(
  name: string,
  run: (play: Played, world: World) => Promise<void>,
  check: (play: Readonly<Played>) => boolean = () => true,
): Command<Played> {
  return {
    check,
    async run(play, world) {
      play.log.push(name);
      await run(play, world);
    },
    toString: () => name,
  };
}

/** Ends an instance; the next process aggregates the runs that it left. */
export async function restart(play: Play, world: World): Promise<void> {
  await world.restart();
  count(play);
}

/** Only what runs in it meets faults: what it leaves is done without any. */
export async function withFaults(play: Play, work: () => Promise<void>): Promise<void> {
  play.meetsFaults = true;
  await work().finally(() => play.meetsFaults = false);
}

export function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Commands of the longest sequence of a side, half of which an average one has; and faulty commits. */
const COMMANDS_MAX = 80, FAULTS_MAX = 60;

/** Returns the sequences of a side, with commands by their weight. */
export function sideSequences<Played extends Play>(
  ...weights: readonly { weight: number; arbitrary: fc.Arbitrary<Command<Played>> }[]
) {
  const any = fc.oneof(...weights);
  const commands = fc.commands([any], { maxCommands: COMMANDS_MAX, size: "max" });
  const faults = anyFaults(FAULTS_MAX);
  return {
    sequences: fc.tuple(faults, commands).map(([faults, commands]) =>
      ["team", faults, commands] as const
    ),
    observed: commands.map((commands) => ["team", [], commands] as const),
  };
}
