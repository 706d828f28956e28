/** The composition root: builds the application and its background jobs over an open store. */
import { Deadlines, endsWithin } from "../runtime/deadlines.ts";
import { isOfStore } from "../domain/core/errors.ts";
import type { RunId, TeamId } from "../domain/core/ids.ts";
import type { Team } from "../domain/teams/team.ts";
import { BODY_DEADLINE_MS } from "../domain/core/limits.ts";
import { ABSENCE_MS } from "../domain/work/work.ts";
import { parsePingMonitor } from "../domain/ingest/ping.ts";
import { memo } from "../runtime/memory.ts";
import { WorkLoop } from "../jobs/work_loop.ts";
import { Lease } from "../jobs/lease.ts";
import { LiveJob } from "../jobs/live_feed.ts";
import { ALWAYS_LEADER } from "../runtime/loop.ts";
import { Worker } from "../jobs/worker.ts";
import { createConfigStore, createObjectStores } from "../kv/config/object_store.ts";
import { createStamps } from "../domain/alerts/incident.ts";
import { BUDGETS, PAUSES } from "../domain/budgets/budget.ts";
import { compilingChecks } from "../domain/checks/compile.ts";
import { createBudgetGroups } from "../kv/budgets/groups.ts";
import { RunGuard } from "../kv/budgets/guard.ts";
import { createGuardedStore } from "../kv/budgets/objects.ts";
import type { Judge } from "../domain/judges/judge.ts";
import { pricedJudges } from "../domain/judges/judge_body.ts";
import { createCallMetrics, createCallSlots, type ModelCalls } from "../kv/judges/calls.ts";
import { createJudgeWork } from "../kv/judges/judge_work.ts";
import { readJudgeStates } from "../kv/judges/judge_states.ts";
import { createJudgeTrials } from "../kv/judges/trials.ts";
import { createCheckStatsStore } from "../kv/checks/stats.ts";
import { createJudgeLater } from "../kv/checks/check_runs.ts";
import { createCheckTrialStore } from "../kv/checks/check_trial.ts";
import { createDeliveryHandler, createDeliveryStore } from "../kv/channels/deliveries.ts";
import { createChannelWork } from "../kv/channels/channel_work.ts";
import { createReportWork } from "../kv/channels/owner_report.ts";
import { createSealer, givenKey, opening } from "../kv/channels/seal.ts";
import { createChannelStore } from "../kv/channels/store.ts";
import { createChannelTester } from "../kv/channels/tester.ts";
import { createWorkStore } from "../kv/work/store.ts";
import { createLeaseStore } from "../kv/lease.ts";
import { createArchiveCommit, createMonitorStore } from "../kv/monitors/store.ts";
import { createIncidentWork, createSilenceWork } from "../kv/alerts/incident_work.ts";
import { createIncidentStore } from "../kv/alerts/incidents.ts";
import { createRuleWork } from "../kv/alerts/rule_work.ts";
import { createRulePreviews } from "../kv/alerts/preview.ts";
import { createMonitorWork } from "../kv/monitors/monitor_work.ts";
import { createRunListStore } from "../kv/run_list/run_list.ts";
import { createChangeStore } from "../kv/feed/changes.ts";
import { createDeadStageStore, createRunWork } from "../kv/runs/run_work.ts";
import { createProcessingStore } from "../kv/summaries/processing_store.ts";
import { createSpendStore } from "../kv/spend/rollups.ts";
import { TeamCommit } from "../kv/summaries/team_commit.ts";
import { LastUses, PRODUCT_USES } from "../kv/teams/last_uses.ts";
import { createRefusalStore } from "../kv/refusals/refusal_store.ts";
import { createRepriceWork } from "../kv/repricing/reprice_work.ts";
import { createDeletionWork } from "../kv/retention/deletion_work.ts";
import { createPurgeWork } from "../kv/retention/removal.ts";
import { SweepWork } from "../kv/retention/sweep_work.ts";
import { createSweepStore } from "../kv/retention/sweep_store.ts";
import { createIdleHandler } from "../kv/runs/idle_closes.ts";
import { createLineageStore } from "../kv/runs/lineage.ts";
import { createRunStore } from "../kv/runs/run_store.ts";
import { createScoreStore } from "../kv/runs/scores.ts";
import { readScopes } from "../kv/base/reads.ts";
import type { StoreRefused } from "../kv/refused.ts";
import { createReadiness } from "../kv/store.ts";
import { createAgentStore } from "../kv/agents/agents.ts";
import { createAuditLogStore } from "../kv/teams/audit_log.ts";
import { createCredentialStore } from "../kv/teams/credentials.ts";
import { KnownAgents } from "../kv/agents/known_agents.ts";
import { createQuotaWork } from "../kv/teams/quota_work.ts";
import { createUsageStore } from "../kv/teams/usage.ts";
import { createRateCardStore } from "../kv/rate_cards/rate_cards.ts";
import { createSessionStore } from "../kv/teams/sessions.ts";
import { createTeamStore } from "../kv/teams/teams.ts";
import { NO_EGRESS, resolveHost } from "../outbound/http.ts";
import { createSender } from "../outbound/sender.ts";
import { createApp } from "../routes/app.ts";
import { createDeliveryCounter, createMetrics } from "./metrics.ts";
import type { ServiceOptions } from "./service_options.ts";

/** Bytes of the settings that a ping asks for, or of the reason why they are invalid. */
const PING_MONITOR_BYTES = 1_000;

/** Milliseconds between the worker's polls for work where no bell rings for it. */
const WORKER_POLL_MS = 500;

/** Milliseconds within which the guard answers. */
const GUARD_DEADLINE_MS = 500;

/** Maximum milliseconds until another instance takes over the lease of a killed one. */
const LEASE_TAKEOVER_MS = 15_000;

/** A service without connections to models. */
const NO_MODELS: ModelCalls = {
  connections: [],
  call: () => Promise.resolve({ kind: "unsent" }),
};

/** Stores and counts that both calls and background work use. */
function createShared(options: ServiceOptions) {
  const { store, environment, region, timers, refusedSecret, mailer } = options;
  const { now } = environment;
  const { operatorKey = null, egress = NO_EGRESS, publicUrl = null, models = NO_MODELS } = options;
  const secrets = { region, refusedSecret, operatorKey };
  const commits = new TeamCommit(store, createStamps(region, environment));
  /** Dependencies of the stores of a team's objects. */
  const ofObjects = { store, changes: commits, region, environment };
  const rateCards = createRateCardStore(store, environment);
  const knownAgents = new KnownAgents(store.memory, timers.now);
  const sealer = createSealer(options.sealKeys ?? givenKey(null), environment);
  const deliveryCounts = createDeliveryCounter();
  const judgeMetrics = createCallMetrics();
  return {
    store,
    now,
    commits,
    ofObjects,
    rateCards,
    knownAgents,
    deliveryCounts,
    judgeMetrics,
    credentials: createCredentialStore(store, environment, secrets),
    spend: createSpendStore(store),
    guard: new RunGuard({ store, spends: commits.spends, now }),
    channels: createChannelStore({
      ...ofObjects,
      egress,
      sealer,
      hasMailServer: mailer !== null,
    }),
    openChannel: opening(sealer),
    sender: createSender({ egress, mailer, publicUrl, resolve: resolveHost }),
    refusals: createRefusalStore(store, now),
    productUses: new LastUses(store, PRODUCT_USES),
    runs: createRunStore(store, rateCards, knownAgents),
    scores: createScoreStore(store),
    /** Dependencies of calls of models. */
    ofCalls: {
      store,
      models,
      cards: rateCards,
      slots: createCallSlots(models),
      metrics: judgeMetrics,
      now,
    },
    /** Counts the calls that have changed the store. */
    calls: store.workerSignal,
  };
}

type Shared = ReturnType<typeof createShared>;

/** Background work of an instance; with a lease it works while it holds it. */
function createJobs(options: ServiceOptions, shared: Shared, lease: Lease | null) {
  const { environment, region, timers, mailer, log } = options;
  const { store, now, commits, rateCards, knownAgents, spend, runs, scores, calls } = shared;
  /** Dependencies of every job. */
  const ofJob = { calls, leadership: lease ?? options.leadership ?? ALWAYS_LEADER, now, log };
  const processing = createProcessingStore({ store, updater: commits, now });
  const worker = new Worker({
    store: processing,
    lookMs: options.pollsForWork ?? lease !== null ? WORKER_POLL_MS : null,
    failurePauseMs: options.failurePauseMs,
    ...ofJob,
  });
  const sweep = new SweepWork({
    store: createSweepStore(store, commits),
    processMs: timers.now,
    quiet: options.dev ?? false,
    now,
    log,
  });
  /** Dependencies of the jobs of teams. */
  const ofTeams = { store, now, untilProjected: () => worker.idle() };
  const repricing = createRepriceWork({ ...ofTeams, cards: rateCards });
  const deleting = createDeletionWork({ ...ofTeams, updater: commits });
  const onChanged = (team: TeamId, ids: readonly RunId[]) => commits.notifier.notify(team, ids);
  const handlers = [
    createIdleHandler(store, knownAgents),
    createMonitorWork({ store, changes: commits }),
    createRuleWork({ store, changes: commits, spend, rateCards }),
    createSilenceWork({ store, changes: commits }),
    createIncidentWork({ store, changes: commits }),
    createDeliveryHandler(store),
    ...createChannelWork({
      store,
      sender: shared.sender,
      open: shared.openChannel,
      environment,
      counts: shared.deliveryCounts,
    }),
    createReportWork(store, mailer),
    ...createQuotaWork({ store, mailer, now, log }),
    sweep,
    createRunWork({
      store,
      project: processing.project,
      judge: createJudgeLater({ changes: commits, now }),
      onChanged,
      now,
      log,
    }),
    createJudgeWork({ ...shared.ofCalls, runs, scores, region, onChanged, log }),
    repricing.handler,
    deleting.handler,
    createPurgeWork(store, now),
  ];
  const queue = createWorkStore(store, options.clockGapMaxMs ?? ABSENCE_MS);
  const work = new WorkLoop({ store: queue, handlers, ...ofJob });
  const { reprices } = repricing;
  return { worker, work, sweep, reprices, deletions: deleting.deletions };
}

/** Stores that only calls use. */
function createCallStores(options: ServiceOptions, shared: Shared, stopping: AbortSignal) {
  const { environment, region, operatorKey = null } = options;
  const { store, now, commits, ofObjects, ofCalls, rateCards, guard, spend, channels } = shared;
  const { credentials, knownAgents, sender, openChannel, deliveryCounts } = shared;
  const pricesOf = (id: TeamId) => rateCards.current({ id });
  return {
    lineage: createLineageStore(store),
    runList: createRunListStore(store),
    sessions: createSessionStore(store, environment, operatorKey),
    teams: createTeamStore(store, environment, region, () => credentials.forget()),
    auditLog: createAuditLogStore(store),
    usage: createUsageStore(store),
    agents: createAgentStore(store, knownAgents, createArchiveCommit(store, commits)),
    parsePingMonitor: memo(parsePingMonitor, {
      memory: store.memory,
      part: 0.1,
      nameOf: (sent) => sent,
      bytesOf: () => PING_MONITOR_BYTES,
    }),
    monitors: createMonitorStore(ofObjects),
    judgeStates: ({ id }: Pick<Team, "id">, judges: readonly Judge[]) =>
      readJudgeStates(ofCalls, id, judges),
    checkStats: createCheckStatsStore(store, now),
    judgeTrials: createJudgeTrials({ ...ofCalls, stopping }),
    judgeConnections: ofCalls.models.connections.map(({ name }) => name),
    checkTrial: createCheckTrialStore({ store, now }),
    patterns: store.patterns,
    objects: createObjectStores(ofObjects, {
      check: createConfigStore(ofObjects, compilingChecks(store.patterns)),
      judge: createConfigStore(ofObjects, pricedJudges(ofCalls.models.connections, pricesOf)),
      channel: channels,
      budget: createGuardedStore(ofObjects, guard, BUDGETS),
      pause: createGuardedStore(ofObjects, guard, PAUSES),
    }),
    rulePreviews: createRulePreviews({ store, spend, now }),
    incidents: createIncidentStore(ofObjects),
    budgetGroups: createBudgetGroups(spend, now),
    deliveries: createDeliveryStore(store),
    channelTester: createChannelTester({
      store,
      sender,
      open: openChannel,
      region,
      environment,
      counts: deliveryCounts,
    }),
    changes: createChangeStore(store, commits.notifier),
    deadStages: createDeadStageStore(store),
    reading: readScopes,
    memory: store.memory,
  };
}

/** Start, pauses and end of the background work, and counts that are written once a while. */
function createLifecycle(
  { timers, onOtherFormat }: ServiceOptions,
  { store, credentials, refusals, productUses }: Shared,
  { worker, work }: Pick<ReturnType<typeof createJobs>, "worker" | "work">,
  lease: Lease | null,
) {
  const stopping = Promise.withResolvers<void>();
  let stopped: Promise<void> | null = null;
  let isRefused = false;
  const stopJobs = (): Promise<void> => {
    stopping.resolve();
    const jobs = [worker, work];
    return stopped ??= Promise.all(jobs.map((job) => job.stop())).then(() => lease?.stop());
  };
  /** Resolves once the jobs have nothing left to do, if they are this instance's. */
  const finishJobs = async () => {
    if (lease !== null && !await lease.begins(LEASE_TAKEOVER_MS)) return;
    await worker.idle(true);
    // Runs that were closed are processed too, and messages about them are sent.
    await work.idle();
    await worker.idle(true);
    await work.idle();
  };
  /**
   * Stores the last uses of credentials and products, and the refused calls, unless the store fails:
   * then a later call stores them. A ledger of another format stays as it is.
   *
   * @param isLast true to store also uses that are not due yet
   */
  const writeCounts = async (isLast = false): Promise<void> => {
    if (isRefused) return;
    const writes = [credentials.writeUses(isLast), productUses.write(isLast), refusals.flush()];
    await Promise.all(writes.map(ignoreStoreFailure));
  };
  return {
    stopJobs,
    writeCounts,
    isRefused: () => isRefused,
    /** Refuses calls and stops the jobs: what they write could damage a ledger of another format. */
    refuseCalls(error: StoreRefused): void {
      if (isRefused) return;
      isRefused = true;
      // A failure of the stop is reported by `stop`.
      stopJobs().catch(() => {});
      onOtherFormat?.(error);
    },
    /** Starts the worker, which also resumes work left by an earlier process. */
    start() {
      store.workerSignal.listen({ worker, work });
      lease?.start();
      worker.start();
      work.start();
    },
    /**
     * Resolves when this instance has nothing left to do, or when another one holds the lease, but
     * after `ms` milliseconds at the latest. It keeps alive an instance that its platform stops
     * between calls.
     */
    async workFor(ms: number) {
      const finished = Promise.all([finishJobs(), writeCounts()]);
      await endsWithin(ms, Promise.race([finished, stopping.promise]), timers);
    },
  };
}

/** A service without a listener. */
export type Service = ReturnType<typeof createService>;

/** Builds a service over an open store; nothing runs before `start`. */
export function createService(options: ServiceOptions) {
  const { store, environment, region, timers, log } = options;
  const { now } = environment;
  const shared = createShared(options);
  const { credentials, refusals, guard, deliveryCounts, judgeMetrics, commits } = shared;
  const lease = options.isShared
    ? new Lease({
      store: createLeaseStore(store, (error) => lifecycle.refuseCalls(error)),
      timers,
      now,
      log,
    })
    : null;
  const { worker, work, sweep, ...ofTeams } = createJobs(options, shared, lease);
  const lifecycle = createLifecycle(options, shared, { worker, work }, lease);
  const { start, workFor, writeCounts } = lifecycle;
  const leaving = new AbortController();
  const stores = createCallStores(options, shared, leaving.signal);
  const live = new LiveJob({ changes: stores.changes, calls: shared.calls, now, log });
  const guardDeadlines = new Deadlines(GUARD_DEADLINE_MS, timers);
  const bodyDeadlines = new Deadlines(BODY_DEADLINE_MS, timers);
  const app = createApp({
    ...shared,
    ...ofTeams,
    ...stores,
    region,
    dev: options.dev ?? false,
    hasOperator: (options.operatorKey ?? null) !== null,
    signInLink: options.signInLink ?? null,
    loadSamples: options.loadSamples ?? null,
    guardDeadlines,
    live,
    publicUrl: options.publicUrl ?? null,
    environment,
    limits: options.limits,
    bodyDeadlines,
    metrics: createMetrics({
      ...options,
      deliveries: deliveryCounts,
      checks: commits.judged,
      judges: judgeMetrics,
    }),
    ready: createReadiness(store, timers.now),
    draining: () => lifecycle.isRefused() || options.draining(),
    shuttingDown: leaving.signal,
    silentMsMax: options.silentMsMax ?? Infinity,
    log,
    ...options.parts,
  });
  return {
    ...{ app, credentials, refusals, worker, work, sweep, guard, start, workFor, writeCounts },
    /** Answers long polls and ends live streams, so the server can drain. */
    leave() {
      leaving.abort();
    },
    /** Stops the background jobs. Call it before the store closes. */
    async stop() {
      await Promise.all([lifecycle.stopJobs(), live.stop(), guard.idle()]);
      guardDeadlines[Symbol.dispose]();
      bodyDeadlines[Symbol.dispose]();
    },
  };
}

/** Ignores a store failure: a later write includes the data. */
async function ignoreStoreFailure(written: Promise<void>): Promise<void> {
  try {
    await written;
  } catch (error) {
    if (!isOfStore(error)) throw error;
  }
}
