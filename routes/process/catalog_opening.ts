/**
 * Opens the catalogue of a store: takes `gateway.json` over where it counts, and follows the versions from then on.
 *
 * - Folder `routes/process/`: what a process opens and how it ends: the catalogue, master keys, log lines, cron,
 *   signals.
 * - In: the configuration, signals, schedules of the platform.
 * - Out: an open catalogue, keys, signals to stop and to hurry.
 * - Never: serves a request itself, or decides when a job runs.
 */
import {
  hasRealProvider,
  readCatalogIn,
  type ServableCatalog,
} from "../../core/config/catalog_reading.ts";
import type { Config } from "../../core/config/config.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Timer } from "../../core/lib/time/deadlines.ts";
import { catalogDigest, catalogText } from "../../kv/services/catalog/contents.ts";
import { LiveCatalog } from "../../kv/services/catalog/live_catalog.ts";
import { seedCatalog } from "../../kv/services/catalog/seed.ts";
import { readHead, readVersionContents } from "../../kv/services/catalog/versions.ts";
import { inForce } from "../../kv/engine/control/catalog_head.ts";
import { type CatalogHead } from "../../kv/engine/control/catalog_head.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { eventLine } from "../telemetry/call_log.ts";

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

/** Makes the catalogue that follows the store. */
export function openLiveCatalog(
  config: Config,
  kv: KeyValueStore,
  { clock, timer, write }: {
    readonly clock: Clock;
    readonly timer: Timer;
    readonly write: (line: string) => void;
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
    onChange: (version) => log("info", "catalogue changed", { version }),
    onRefused: ({ version, problems }) =>
      log("error", "a version of the catalogue cannot be served here", {
        version,
        served: catalog.version ?? null,
        problems: problems.slice(0, mostLoggedProblems),
      }),
  });
}

/** Problems of a version in one line of the log; the operator's page has all. */
const mostLoggedProblems = 20;
