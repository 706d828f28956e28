/**
 * Numbers of a team's instances, as a commit changes them.
 *
 * @module
 */
import { type AlertInstance, hasPlace } from "../../domain/alerts/instance.ts";
import { OTHER_GROUP } from "../../domain/alerts/rule.ts";
import type { AlertState, RuleState } from "./rows.ts";

const NO_INSTANCES: RuleState = { instances: 0, firing: 0, overflow: null };

/** Counts instances by rule. */
export class AlertCounts {
  #state: AlertState;

  constructor(state: AlertState) {
    this.#state = state;
  }

  /** Numbers after the changes; the same object if there are none. */
  get state(): AlertState {
    return this.#state;
  }

  /** Number of all instances. */
  get total(): number {
    return Object.values(this.#state).reduce((sum, { instances }) => sum + instances, 0);
  }

  /** Returns the number of a rule's groups that fire. */
  firing(rule: string): number {
    return this.#state[rule]?.firing ?? 0;
  }

  /** Notes bad outcomes of groups that share one. */
  noteOverflow(rule: string, outcomes: number, nowMs: number): void {
    const known = this.#state[rule] ?? NO_INSTANCES;
    const { since = nowMs, groups = 0 } = known.overflow ?? {};
    this.#set(rule, { ...known, overflow: { since, groups: groups + outcomes } });
  }

  /** Changes the numbers of a rule by one instance; null for none. */
  change(rule: string, before: AlertInstance | null, after: AlertInstance | null): void {
    const { instances, firing, overflow } = this.#state[rule] ?? NO_INSTANCES;
    const isFiring = (one: AlertInstance | null) => Number(one !== null && hasPlace(one));
    const isOver = before?.text === OTHER_GROUP && after === null;
    this.#set(rule, {
      instances: instances + Number(after !== null) - Number(before !== null),
      firing: firing + isFiring(after) - isFiring(before),
      overflow: isOver ? null : overflow,
    });
  }

  #set(rule: string, state: RuleState): void {
    const { [rule]: known, ...others } = this.#state;
    if (JSON.stringify(known) === JSON.stringify(state)) return;
    const isNothing = state.instances === 0 && state.overflow === null;
    this.#state = isNothing ? others : { ...others, [rule]: state };
  }
}
