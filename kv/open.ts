/**
 * Opens the store for one process: locks, checks and opens it.
 *
 * @module
 */
import { Deadlines, TIMERS } from "../runtime/deadlines.ts";
import { STORAGE_DEADLINE_MS } from "../domain/core/limits.ts";
import { Memory } from "../runtime/memory.ts";
import { fileBytesOf } from "./base/files.ts";
import { keys } from "./base/keys.ts";
import { openBell, WorkerSignal } from "./writer/writer.ts";
import { BACK_ENDS, type BackEnd } from "./base/limits.ts";
import { createStore, type Store, type StoreDeps } from "./store.ts";
import { watchFiles } from "./writer/group.ts";
import { adviceFor, isShared, type KvLocation, locationOf } from "./location.ts";
import { otherFormat, refusal, StoreRefused } from "./refused.ts";
import { inspect, lockLedger, shrinkExpiryIndex } from "./ledger_file.ts";

/** A store that can be closed. */
export interface OpenStore extends Store {
  /** True if there was no ledger when it was opened. */
  readonly isNew: boolean;
  /** Waits for commits in flight, then closes all handles and releases the lock. */
  close(): Promise<void>;
}

/** Maximum milliseconds until a store is open, and until it answers its first read. */
const ANSWER_MS_MAX = 10_000;

/** Options of opening a store. */
interface OpenOptions {
  /** Replaces {@link ANSWER_MS_MAX}, for tests. */
  readonly answerMsMax?: number;
  /** Replaces {@link STORAGE_DEADLINE_MS}, for tests. */
  readonly deadlineMs?: number;
  /** True to wake the worker by the runtime's queue too: the runtime can open a KV in memory. */
  readonly hasBell?: boolean;
}

/**
 * Opens a store.
 *
 * @param location where it is, or the text of `RUNLEDGER_KV`
 * @param memory budget of its caches and queues
 * @throws {StoreRefused} when another process has it open, or it is damaged or not writable
 */
export function openStore(
  location: KvLocation | string,
  memory: Memory,
  options: OpenOptions = {},
): Promise<OpenStore> {
  const at = locationOf(location);
  // A second handle on ":memory:" would be a second database; on a URL, a second connection.
  const open = at.kind === "file" ? openFile : openSingleHandle;
  return refusing(at, () => open(at, memory, options));
}

/** Converts errors of the runtime or the disk to those that say what to do. */
export async function refusing<T>(at: KvLocation, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw refusal(at.name, error, adviceFor(at));
  }
}

async function openFile(at: KvLocation, memory: Memory, options: OpenOptions): Promise<OpenStore> {
  const { answerMsMax } = options;
  using opened = new DisposableStack();
  const { path, lock } = await lockLedger(at.name);
  opened.use(lock);
  await inspect(at.name, path);
  const kv = opened.use(await openKv(at, path, answerMsMax));
  const reader = opened.use(await openKv(at, path, answerMsMax));
  const isNew = await requireFormat(at, reader, opened, answerMsMax);
  shrinkExpiryIndex(path);
  const files = { inPlace: watchFiles(at.name, path), fileBytes: () => fileBytesOf(path) };
  const workerSignal = await openSignal(options, opened);
  const handles = { kv, reader, limits: backEndOf(at), memory, workerSignal, ...files };
  return openHandles(handles, isNew, opened.move(), options);
}

/**
 * Opens an existing store without the lock, for reads and small writes while a service may have it
 * open. Writes wait while the service holds the file.
 *
 * @throws {StoreRefused} when it does not exist or cannot be opened
 */
export async function openUnlocked(location: KvLocation | string): Promise<OpenStore> {
  const at = locationOf(location);
  await requireLedger(at);
  return await refusing(at, () => openSingleHandle(at, new Memory(), {}));
}

/** Opens a single handle, without the lock. */
async function openSingleHandle(
  at: KvLocation,
  memory: Memory,
  options: OpenOptions,
): Promise<OpenStore> {
  using opened = new DisposableStack();
  const kv = opened.use(await openKv(at, at.name, options.answerMsMax));
  const isNew = await requireFormat(at, kv, opened, options.answerMsMax);
  const workerSignal = await openSignal(options, opened);
  const rest = { memory, workerSignal, inPlace: () => true, fileBytes: () => null };
  const handles = { kv, reader: kv, limits: backEndOf(at), ...rest };
  return openHandles(handles, isNew, opened.move(), options);
}

/** Opens the worker's signal, and its bell if it has one. */
async function openSignal(
  { hasBell }: OpenOptions,
  opened: DisposableStack,
): Promise<WorkerSignal> {
  const bell = hasBell === true ? await openBell() : null;
  opened.defer(() => bell?.close());
  return new WorkerSignal(bell);
}

/**
 * Opens an existing store with the lock.
 *
 * @throws {StoreInUse} when another process has it open
 * @throws {StoreRefused} when it does not exist or cannot be opened
 */
export async function openLocked(location: KvLocation | string): Promise<OpenStore> {
  await requireLedger(location);
  return await openStore(location, new Memory());
}

/**
 * Requires an existing ledger.
 *
 * @throws {StoreRefused}
 */
export async function requireLedger(location: KvLocation | string): Promise<void> {
  const at = locationOf(location);
  if (at.kind === "memory") {
    throw new StoreRefused("A ledger in memory is lost with its process: name a file or a URL");
  }
  if (at.kind === "file" && await Deno.stat(at.name).catch(() => null) === null) {
    throw new StoreRefused(`There is no ledger at ${at.name}: name the file of RUNLEDGER_KV`);
  }
}

/** Returns the limits of a location; a shared KV gets the smallest because its type is unknown. */
function backEndOf(at: KvLocation): BackEnd {
  return isShared(at) ? BACK_ENDS.remote : BACK_ENDS.embedded;
}

/** Variable in which the runtime looks for the access token when it opens a URL. */
const TOKEN_VARIABLE = "DENO_KV_ACCESS_TOKEN";

/**
 * Opens a store with an access token. The token is in the environment only meanwhile; hosting
 * platforms reserve the runtime's variable, so users set one of the service's own.
 *
 * @param token null to leave the environment as it is
 */
export async function withAccessToken<T>(token: string | null, open: () => Promise<T>): Promise<T> {
  if (token === null) return await open();
  Deno.env.set(TOKEN_VARIABLE, token);
  try {
    return await open();
  } finally {
    Deno.env.delete(TOKEN_VARIABLE);
  }
}

/** Builds a store over handles; closing it closes `opened`. */
function openHandles(
  handles: Omit<StoreDeps, "deadlines">,
  isNew: boolean,
  opened: DisposableStack,
  { deadlineMs = STORAGE_DEADLINE_MS }: OpenOptions,
): OpenStore {
  const deadlines = new Deadlines(deadlineMs, TIMERS);
  const store = createStore({ ...handles, deadlines });
  return {
    ...store,
    isNew,
    async close() {
      await store.writer.idle();
      deadlines[Symbol.dispose]();
      opened.dispose();
    },
  };
}

/** Opens a handle. */
function openKv(at: KvLocation, path: string, answerMsMax?: number): Promise<Deno.Kv> {
  // Without a path the runtime opens the KV that the platform attaches.
  const opening = Deno.openKv(at.kind === "platform" ? undefined : path);
  const onLate = () => void opening.then((kv) => kv.close(), () => {});
  return answered(opening, onLate, answerMsMax);
}

/**
 * Refuses a ledger of another format; returns whether there is no ledger yet. This is the first read
 * of the store: it hangs without an error while another program holds the file's lock. Then `opened`
 * is left open, because closing a handle waits for its reads.
 */
async function requireFormat(
  at: KvLocation,
  kv: Deno.Kv,
  opened: DisposableStack,
  answerMsMax?: number,
): Promise<boolean> {
  const reading = kv.getMany<[unknown, string]>([keys.format(), keys.firstTeam()]);
  const reason = at.kind === "file" ? "; another program may hold its lock" : "";
  const onLate = () => void opened.move();
  const [format, team] = await answered(reading, onLate, answerMsMax, reason);
  // One commit writes both keys: if both are missing, the ledger is new.
  const isNew = format.value === null && team.value === null;
  const refused = isNew ? null : otherFormat(at.name, format.value);
  if (refused !== null) throw refused;
  return isNew;
}

/** Waits for a KV. One that accepts connections and does not answer must not delay this for ever. */
async function answered<T>(
  work: Promise<T>,
  onLate: () => void,
  msMax = ANSWER_MS_MAX,
  reason = "",
): Promise<T> {
  using deadlines = new Deadlines(msMax, TIMERS);
  return await deadlines.within(work, () => {
    onLate();
    throw new Error(`no answer in ${msMax / 1_000} s${reason}`);
  });
}
