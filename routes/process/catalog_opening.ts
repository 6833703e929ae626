/**
 * Opens the catalogue of a store: takes `gateway.json` over where it counts, and follows the versions from then on.
 *
 * - Folder `routes/process/`: what a process opens and how it ends: the catalogue, master keys, log lines, cron,
 *   signals.
 * - In: the configuration, signals, schedules of the platform.
 * - Out: an open catalogue, keys, signals to stop and to abort.
 * - Never: serves a request itself, or decides when a job runs.
 */
import {
  hasRealProvider,
  readCatalogIn,
  type ServableCatalog,
  type StoredKeys,
} from "../../core/config/catalog_reading.ts";
import type { Config } from "../../core/config/config.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Timer } from "../../core/lib/time/deadlines.ts";
import { catalogDigest, catalogText } from "../../kv/services/catalog/contents.ts";
import { LiveCatalog } from "../../kv/services/catalog/live_catalog.ts";
import { LiveVault } from "../../kv/services/vault/live_vault.ts";
import { readHead, readVersionContents, seedCatalog } from "../../kv/services/catalog/versions.ts";
import { type CatalogHead, inForce } from "../../kv/engine/control/catalog_head.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { eventLine } from "../telemetry/call_log.ts";
import { dirname, join } from "node:path";
import { errorLine } from "../../core/lib/base/assert.ts";
import {
  type MasterKeys,
  masterKeysProblem,
  newMasterKey,
  readMasterKeys,
} from "../../core/people/api_keys/seal.ts";

// Loads the master keys of this instance from the environment or from a file beside a local store.

/** The loaded keys, or the reason why there are none. */
export type LoadedMasterKeys =
  | { readonly ok: true; readonly masterKeys: MasterKeys; readonly text: string }
  /** One line for the operator, without any key. */
  | { readonly ok: false; readonly problem: string };

/**
 * Loads the master keys. Beside a local store a missing key is generated once, readable by its
 * owner only. A remote store needs a configured key, since its instances must share it; the
 * configuration checks that.
 */
export async function loadMasterKeys(config: Config): Promise<LoadedMasterKeys> {
  const { masterKeys: configured, store } = config;
  if (configured !== undefined || store.kind !== "file") {
    const text = configured ?? newMasterKey();
    return { ok: true, masterKeys: await readMasterKeys(text), text };
  }
  const path = join(dirname(store.path), "master.key");
  try {
    const kept = await keptText(path);
    const problem = masterKeysProblem(kept);
    if (problem === undefined) {
      return { ok: true, masterKeys: await readMasterKeys(kept), text: kept };
    }
    // An unreadable key is not replaced: everything that it sealed would be lost for good.
    const advice = "put the earlier file back, or see docs/operations/one-machine.md, Keys at rest";
    return { ok: false, problem: `Cannot read the master key ${path}: ${problem}; ${advice}` };
  } catch (error) {
    return { ok: false, problem: `Cannot read the master key ${path}: ${errorLine(error)}` };
  }
}

/** Reads the file; creates it with a new key on first use. */
async function keptText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const text = newMasterKey();
  await keepText(path, `${text}\n`);
  return text;
}

/**
 * Writes the file atomically and durably: the store is on disk with every commit, and what it seals
 * must not outlive its key. The caller holds the lock of the store, so no other process writes.
 */
async function keepText(path: string, text: string): Promise<void> {
  const draftPath = `${path}.draft`;
  await Deno.writeTextFile(draftPath, text, { mode: 0o600 });
  await syncToDisk(draftPath, { write: true });
  await Deno.rename(draftPath, path);
  // The folder holds the new name. Some systems cannot open folders, and sync them on their own.
  await syncToDisk(dirname(path), { read: true }).catch(() => {});
}

async function syncToDisk(path: string, access: Deno.OpenOptions): Promise<void> {
  using file = await Deno.open(path, access);
  await file.sync();
}

/** The configuration with the catalogue of the store, or why this process cannot serve that. */
export type CatalogOpening =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problem: string };

async function catalogOf(
  kv: KeyValueStore,
  config: Config,
  { version, digest }: CatalogHead,
): Promise<ServableCatalog | readonly string[]> {
  const { catalog, providerKeys, fileContents, readCatalog } = config;
  if (await catalogDigest(catalogText(fileContents)) === digest) {
    return { catalog: { ...catalog, version }, providerKeys };
  }
  const name = `catalogue version ${version}`;
  const contents = await readVersionContents(kv, version);
  if (contents === undefined) return [`${name}: its contents are missing or damaged`];
  const reading = readCatalog(contents, name, { version });
  return reading.ok ? reading : reading.problems;
}

/**
 * Reads the catalogue in force. A store with a real provider is never served as a sandbox, whatever `gateway.json` says.
 */
async function configOfHead(
  kv: KeyValueStore,
  config: Config,
  head: CatalogHead,
  nowMs: number,
): Promise<CatalogOpening> {
  const found = await catalogOf(kv, config, { ...head, ...inForce(head, nowMs) });
  if (!("catalog" in found)) {
    const problem = `Cannot start with the catalogue of the store: ${found.join("; ")}`;
    return { ok: false, problem };
  }
  const mode = hasRealProvider(found.catalog) ? "production" : config.mode;
  return { ok: true, config: { ...config, ...found, mode } };
}

/** Takes over `gateway.json` where it counts, and reads the catalogue in force. */
export async function openCatalog(
  kv: KeyValueStore,
  config: Config,
  { clock, write }: { readonly clock: Clock; readonly write: (line: string) => void },
): Promise<CatalogOpening> {
  const nowMs = clock.nowMs();
  const { head, isFilePassedOver } = await seedCatalog(kv, config.fileContents, nowMs);
  const opened = await configOfHead(kv, config, head, nowMs);
  if (isFilePassedOver) {
    write(eventLine(nowMs, "warn", "gateway.json has changed, but the catalogue was edited since", {
      version: inForce(head, nowMs).version,
      help: "the store's catalogue stays in force; see Catalogue among the operator's pages, or " +
        "deno task admin catalog apply gateway.json --dry-run",
    }));
  }
  return opened;
}

/** The same for a thread whose owner has done that. */
export async function openOwnersCatalog(
  kv: KeyValueStore,
  config: Config,
  nowMs: number,
): Promise<CatalogOpening> {
  const head = await readHead(kv);
  return head === undefined ? { ok: true, config } : await configOfHead(kv, config, head, nowMs);
}

/** Makes the vault that follows the store. */
export function openVault(
  kv: KeyValueStore,
  { masterKeys, clock, write }: {
    readonly masterKeys: MasterKeys;
    readonly clock: Pick<Clock, "nowMs">;
    readonly write: (line: string) => void;
  },
): LiveVault {
  return new LiveVault({
    kv,
    masterKeys,
    onUnopened: (problem) =>
      write(eventLine(clock.nowMs(), "error", "a stored provider key cannot be opened", {
        problem,
        effect: "providers that name it do without it",
        help: "docs/runbooks/lost-master-key.md",
      })),
  });
}

/** Makes the catalogue that follows the store. */
export function openLiveCatalog(
  config: Config,
  kv: KeyValueStore,
  { clock, timer, write, storedKeys }: {
    readonly clock: Clock;
    readonly timer: Timer;
    readonly write: (line: string) => void;
    readonly storedKeys: StoredKeys;
  },
): LiveCatalog {
  const { catalog, providerKeys, fileContents, readCatalog, mode } = config;
  const log = (level: "info" | "error", message: string, fields: Record<string, unknown>) =>
    write(eventLine(clock.nowMs(), level, message, fields));
  return new LiveCatalog({
    kv,
    clock,
    timer,
    initial: { catalog, providerKeys },
    fileContents,
    read: readCatalogIn(mode, readCatalog),
    storedKeys,
    onChange: (version) => log("info", "catalogue changed", { version }),
    onRefused: ({ version, problems }) =>
      log("error", "a version of the catalogue cannot be served here", {
        version,
        served: catalog.version ?? null,
        problems: problems.slice(0, maxLoggedProblems),
      }),
  });
}

/** Problems of a version in one line of the log; the operator's page has all. */
const maxLoggedProblems = 20;
