/**
 * Wakes the worker through the runtime's queue. Rows are the truth: a lost message costs time only.
 *
 * @module
 */

/** Wakes a listener some milliseconds after it is rung. */
export interface Bell {
  /** Rings it, unless an earlier ring has not arrived yet. */
  ring(): void;
  /** Sets the callback of its rings. */
  listen(wake: () => void): void;
  /** Ends it; nothing rings after that. */
  close(): void;
}

/**
 * Opens a bell over a queue in memory. A queue in the ledger's file would end the process when the
 * disk is full.
 */
export async function openBell(): Promise<Bell> {
  const queue = await Deno.openKv(":memory:");
  let wake = () => {};
  let isRung = false;
  void queue.listenQueue(() => {
    isRung = false;
    wake();
  });
  return {
    ring() {
      if (isRung) return;
      isRung = true;
      queue.enqueue(null).catch(() => isRung = false);
    },
    listen: (callback) => void (wake = callback),
    close: () => queue.close(),
  };
}
