/**
 * Loops over the items of a list, or over the keys of an object.
 *
 * @module
 */
import {
  charge,
  type Code,
  Failure,
  FAILURE_STEPS,
  type Machine,
  PART_STEPS,
  wrongKind,
} from "./machine.ts";
import { type Loop, partsOf, type Term } from "./term.ts";

/** Returns the code of a loop. */
export function loopCode(loop: Loop, codeOf: (term: Term) => Code): Code {
  const { over, slot, test } = loop;
  const items = itemsCode(codeOf(over), over.text);
  const steps = stepsOfItem(loop);
  const isWanted = test === null ? null : testCode(codeOf(test), test.text);
  const take = (machine: Machine, item: unknown) => {
    charge(machine, steps);
    machine.items[slot] = item;
  };
  switch (loop.name) {
    case "all":
    case "exists":
      return quantifierCode(items, take, isWanted ?? (() => true), loop.name === "exists");
    case "exists_one":
      return (machine) => {
        let count = 0;
        for (const item of items(machine)) {
          take(machine, item);
          if (isWanted?.(machine) === true) count++;
        }
        return count === 1;
      };
    default:
      return listCode(items, take, isWanted, loop.result === null ? null : codeOf(loop.result));
  }
}

/** Returns the steps of one item: those of its parts outside of inner loops. */
function stepsOfItem({ test, result }: Loop): number {
  return PART_STEPS * (1 + countParts(test) + countParts(result));
}

/** Returns the number of parts that are evaluated once. */
export function countParts(term: Term | null): number {
  if (term === null) return 0;
  const parts = term.kind === "loop" ? [term.over] : partsOf(term);
  return parts.reduce((sum, part) => sum + countParts(part), 1);
}

type Take = (machine: Machine, item: unknown) => void;
type Items = (machine: Machine) => readonly unknown[];

/** Returns the code of `exists` and `all`: an item that decides makes up for failures of others. */
function quantifierCode(
  items: Items,
  take: Take,
  isWanted: (machine: Machine) => boolean,
  decisive: boolean,
): Code {
  return (machine) => {
    let failure: Failure | null = null;
    for (const item of items(machine)) {
      take(machine, item);
      try {
        if (isWanted(machine) === decisive) return decisive;
      } catch (error) {
        if (!(error instanceof Failure) || error.isFinal) throw error;
        charge(machine, FAILURE_STEPS);
        failure ??= error;
      }
    }
    if (failure !== null) throw failure;
    return !decisive;
  };
}

function listCode(
  items: Items,
  take: Take,
  isWanted: ((machine: Machine) => boolean) | null,
  result: Code | null,
): Code {
  return (machine) => {
    const list: unknown[] = [];
    for (const item of items(machine)) {
      take(machine, item);
      if (isWanted !== null && !isWanted(machine)) continue;
      list.push(result === null ? item : result(machine));
    }
    return list;
  };
}

function itemsCode(over: Code, text: string): Items {
  return (machine) => {
    const value = over(machine);
    if (Array.isArray(value)) return value;
    if (typeof value === "object" && value !== null) {
      const keys = Object.keys(value);
      charge(machine, keys.length * PART_STEPS);
      return keys;
    }
    throw wrongKind(text, "a list or an object", value);
  };
}

function testCode(code: Code, text: string): (machine: Machine) => boolean {
  return (machine) => {
    const value = code(machine);
    if (typeof value !== "boolean") throw wrongKind(text, "true or false", value);
    return value;
  };
}
