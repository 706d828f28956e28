/**
 * Caches agents that are certainly active, so that requests of their runs need no lookup.
 *
 * Each archive changes one row of its team. A process that sees a new version of that row drops all
 * cached agents of the team.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import {
  type ByteCache,
  BYTES_PER_CHAR,
  createByteCache,
  type Memory,
} from "../../runtime/memory.ts";

/** Fractions of the memory share of agents. */
const AGENTS_PART = 0.8, TEAMS_PART = 0.2;

/** Bytes of a team's entry without its strings. */
const TEAM_BYTES = 100;

/**
 * Age in milliseconds after which one request checks again for all others (`one`), and after which
 * every request checks (`all`): another process's archive is noticed within 10 seconds.
 */
const RECHECK_MS = { one: 4_000, all: 8_000 } as const;

/** State of a team at one version of its archive. */
export interface KnownTeam {
  /** Version of the row that every archive changes. */
  readonly version: string;
  /** Time of the last read of that row. */
  checkedAt: number;
  /** True while a request is checking the row again. */
  isRechecking: boolean;
  /** True once another version was seen. */
  isStale: boolean;
}

/** Active agents of all teams, shared by everything in the process that uses or archives agents. */
export class KnownAgents {
  /** Team state under which each agent is known. */
  readonly #agents: ByteCache<string, KnownTeam>;
  readonly #teams: ByteCache<TeamId, KnownTeam>;
  /** Returns monotonic milliseconds. */
  readonly now: () => number;

  constructor(memory: Memory, now: () => number) {
    this.now = now;
    this.#agents = createByteCache({
      memory,
      share: "agents",
      part: AGENTS_PART,
      bytesOf: (_, name) => BYTES_PER_CHAR * name.length,
    });
    this.#teams = createByteCache({
      memory,
      share: "agents",
      part: TEAMS_PART,
      bytesOf: ({ version }, team) => TEAM_BYTES + BYTES_PER_CHAR * (version.length + team.length),
      dispose: (known) => known.isStale = true,
    });
  }

  /** Returns whether an agent is known by a recent check. */
  has(team: TeamId, agent: string): boolean {
    const known = this.#agents.get(nameOf(team, agent));
    return known !== undefined && !known.isStale && this.now() - known.checkedAt < RECHECK_MS.one;
  }

  /** Like {@link has}, but sometimes returns false to one caller, which checks for the others. */
  hasOrRecheck(team: TeamId, agent: string): boolean {
    const known = this.#agents.get(nameOf(team, agent));
    if (known === undefined || known.isStale) return false;
    const age = this.now() - known.checkedAt;
    if (age < RECHECK_MS.one) return true;
    if (age >= RECHECK_MS.all || known.isRechecking) return age < RECHECK_MS.all;
    known.isRechecking = true;
    return false;
  }

  /**
   * Reports the version of a team's archive.
   *
   * @param atMs time at which its read started, by {@link KnownAgents.now}
   * @returns the state under which agents of the same read may be added; null if it is outdated
   */
  noteVersion(team: TeamId, version: string | null, atMs: number): KnownTeam | null {
    const seen = version ?? "";
    const known = this.#teams.get(team);
    if (known?.version === seen) {
      known.checkedAt = Math.max(atMs, known.checkedAt);
      known.isRechecking = false;
      return known;
    }
    // A read older than a newer version may be outdated.
    if (known !== undefined && seen < known.version) return null;
    const current: KnownTeam = {
      version: seen,
      checkedAt: atMs,
      isRechecking: false,
      isStale: false,
    };
    this.#teams.set(team, current);
    return current;
  }

  /** Adds an agent that was active at the read of a team's state, or became active since. */
  add(team: TeamId, agent: string, known: KnownTeam | null): void {
    if (known !== null) this.#agents.set(nameOf(team, agent), known);
  }
}

function nameOf(team: TeamId, agent: string): string {
  return `${team} ${agent}`;
}
