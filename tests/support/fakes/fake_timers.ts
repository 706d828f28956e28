/** A clock that the test moves, with its timers. */
import type { Timers } from "../../../runtime/deadlines.ts";

export class FakeTimers implements Timers {
  nowMs = 0;
  set: readonly { readonly dueMs: number; readonly callback: () => void }[] = [];
  readonly now = (): number => this.nowMs;

  readonly after = (ms: number, callback: () => void) => {
    const timer = { dueMs: this.nowMs + ms, callback };
    this.set = [...this.set, timer];
    return () => void (this.set = this.set.filter((each) => each !== timer));
  };

  /** Moves the clock and fires the timers that are due. */
  advance(ms: number): void {
    this.nowMs += ms;
    for (const timer of this.set) {
      if (timer.dueMs > this.nowMs || !this.set.includes(timer)) continue;
      this.set = this.set.filter((each) => each !== timer);
      timer.callback();
    }
  }
}
