/** A clock that the test moves, with its timers. */
import type { Timers } from "../../../runtime/deadlines.ts";

export class FakeTimers implements Timers {
  nowMs = 0;
  readonly set: { readonly dueMs: number; readonly callback: () => void }[] = [];
  now = () => this.nowMs;
  after = (ms: number, callback: () => void) => {
    const timer = { dueMs: this.nowMs + ms, callback };
    this.set.push(timer);
    return () => void this.set.splice(this.set.indexOf(timer), 1);
  };

  /** Moves the clock and fires the timers that are due. */
  advance(ms: number): void {
    this.nowMs += ms;
    for (const timer of this.set.filter(({ dueMs }) => dueMs <= this.nowMs)) {
      this.set.splice(this.set.indexOf(timer), 1);
      timer.callback();
    }
  }
}
