/**
 * Which agents are surely in use, so that a call of one need not look.
 *
 * An agent that is archived is not in use any more. Each archive changes one row of its team; whoever
 * has seen another version of that row knows none of the team's agents any more.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Memory } from "../../domain/core/memory.ts";
import { ByteCache, BYTES_PER_CHAR } from "../base/byte_cache.ts";

/** Parts of the share of agents; the rest is for what their runs add up to. */
const AGENTS_PART = 0.4, TEAMS_PART = 0.1;

/** Bytes of what is known of a team, without its characters. */
const TEAM_BYTES = 100;

/**
 * Milliseconds after which one call looks for all others, and after which every call does: what another
 * process archives is noticed within 10 seconds.
 */
const LOOK_MS = { one: 4_000, all: 8_000 } as const;

/** What is known of a team as of one version of its archive. */
export interface KnownTeam {
  /** Version of the row that every archive changes. */
  readonly version: string;
  /** When that row was last looked at. */
  lookedAt: number;
  /** Whether a call is on its way that looks again. */
  isAsked: boolean;
  /** Whether another version was seen since. */
  isOver: boolean;
}

/** Agents in use, of all teams. All who use or archive agents in one process share it. */
export class KnownAgents {
  /** Each as of what it is known. */
  readonly #agents: ByteCache<string, KnownTeam>;
  readonly #teams: ByteCache<TeamId, KnownTeam>;
  /** Milliseconds of process time. */
  readonly now: () => number;

  /** Knows no agent yet. */
  constructor(memory: Memory, now: () => number) {
    this.now = now;
    this.#agents = new ByteCache({
      memory,
      share: "agents",
      part: AGENTS_PART,
      bytesOf: (_, name) => BYTES_PER_CHAR * name.length,
    });
    this.#teams = new ByteCache({
      memory,
      share: "agents",
      part: TEAMS_PART,
      bytesOf: ({ version }, team) => TEAM_BYTES + BYTES_PER_CHAR * (version.length + team.length),
    }, { dispose: (known) => known.isOver = true });
  }

  /** Whether an agent is known as of a look that is not too old. */
  has(team: TeamId, agent: string): boolean {
    const known = this.#agents.get(nameOf(team, agent));
    return known !== undefined && !known.isOver && this.now() - known.lookedAt < LOOK_MS.one;
  }

  /** The same, where one call in a while is told no so that it looks for all others. */
  hasOrAsk(team: TeamId, agent: string): boolean {
    const known = this.#agents.get(nameOf(team, agent));
    if (known === undefined || known.isOver) return false;
    const age = this.now() - known.lookedAt;
    if (age < LOOK_MS.one) return true;
    if (age >= LOOK_MS.all || known.isAsked) return age < LOOK_MS.all;
    known.isAsked = true;
    return false;
  }

  /**
   * Tells which version a team's archive has.
   *
   * @param atMs when it was asked for, by {@link KnownAgents.now}
   * @returns as of what agents that were read with it may be added; null when it is over by now
   */
  saw(team: TeamId, version: string | null, atMs: number): KnownTeam | null {
    const seen = version ?? "";
    const known = this.#teams.get(team);
    if (known?.version === seen) {
      known.lookedAt = Math.max(atMs, known.lookedAt);
      known.isAsked = false;
      return known;
    }
    // What was read before something else was seen may be over.
    if (known !== undefined && seen < known.version) return null;
    const now: KnownTeam = { version: seen, lookedAt: atMs, isAsked: false, isOver: false };
    this.#teams.set(team, now);
    return now;
  }

  /** Adds an agent that was in use as of a look, or is since. */
  add(team: TeamId, agent: string, known: KnownTeam | null): void {
    if (known !== null) this.#agents.set(nameOf(team, agent), known);
  }
}

function nameOf(team: TeamId, agent: string): string {
  return `${team} ${agent}`;
}
