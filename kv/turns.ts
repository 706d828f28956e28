/**
 * Work that takes turns: of calls with the same name one runs at a time, in order.
 *
 * It spares writers of one key inside this process from losing their checks to each other. The
 * checks stay: another process may write the same key.
 *
 * @module
 */

/** Runs work of one name after the other; different names do not wait for each other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` once everything of this name that came before has settled. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const turn = before === undefined ? work() : before.then(work, work);
    this.#last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }

  /** Runs `work` in the turns of all these names. */
  takeAll<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    // Everybody takes them in one order, so that no two wait for each other.
    const inOrder = [...new Set(names)].sort();
    const take = (inner: () => Promise<T>, name: string) => () => this.take(name, inner);
    return inOrder.reduceRight(take, work)();
  }
}
