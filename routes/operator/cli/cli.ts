/**
 * Runs the commands of `deno task admin` on the store of the configured gateway.
 *
 * - Folder `routes/operator/cli/`: the commands of `deno task admin`, as an app that a socket or
 *   the process itself reaches.
 * - In: what was typed.
 * - Out: text for a terminal, changes with their audit lines.
 * - Never: opens a local store that a running server has open: it asks the server through its
 *   socket.
 */
import { z } from "zod";
import { ambiguousNumbers } from "../../../core/billing/money/read_amount.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Config } from "../../../core/config/config.ts";
import { readCatalogIn } from "../../../core/config/catalog_reading.ts";
import { errorLine } from "../../../core/lib/base/assert.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { openControl } from "../../../kv/engine/control/control.ts";
import { openWalletEngine, reapExpiredInstances } from "../../../kv/money/wallet/mod.ts";
import { prepareStore } from "../../../kv/engine/opening/schema_version.ts";
import { maxSecretChars } from "../../../kv/services/vault/stored_keys.ts";
import { decodeUtf8 } from "../../../core/lib/bytes/byte_parts.ts";
import { openStore, type Store } from "../../../kv/engine/opening/store.ts";
import { loadMasterKeys, openOwnersCatalog, openVault } from "../../process/catalog_opening.ts";
import { createAdminApp, createBackupApp } from "./app.ts";
import { type BackupWorld, proveBackup, restoreHere, saveBackup } from "./commands/backups.ts";
import { type Finding, findingsJson, runDoctor } from "./commands/doctor.ts";
import { storeFindings, unusableStore } from "./commands/store_findings.ts";
import { writeTables } from "./commands/tables.ts";
import { type AdminRequest, asTyped } from "./command.ts";
import { adminUsage, readAdminCommand } from "./command_forms.ts";
import { type AdminCall, adminSocketPath, callAdminSocket } from "./socket.ts";
import { unnamedOrigin } from "../../../core/trade/proofs/signed_day.ts";
import { type ArchivedStore, withArchive } from "../../../kv/services/archive/open_archive.ts";

const encoder = new TextEncoder();

/** Bytes of the standard input: the longest secret, and a line end. */
const maxSecretInputBytes = maxSecretChars + 2;

/** World that a command needs: time and output, of the process or of a test. */
export interface CommandWorld {
  readonly clock: Clock;
  /** Gets the output. Awaited, so that a slow reader is not overrun. */
  write(bytes: Uint8Array): void | Promise<void>;
  error(text: string): void;
  /** The standard input, unless it is a terminal; without it commands that read a secret are refused. */
  readonly input?: ReadableStream<Uint8Array>;
}

/** Runs one command and returns the exit code of the process. */
export async function runAdmin(
  config: Config,
  args: readonly string[],
  world: CommandWorld,
): Promise<number> {
  const read = readAdminCommand(args);
  if (read.kind === "help") {
    await world.write(encoder.encode(adminUsage()));
    return 0;
  }
  if (read.kind === "refused") {
    world.error(`${read.problem}\n${read.usage}`);
    return 2;
  }
  if (read.request.isLocal === true) {
    return await runDoctor(config, {
      clock: world.clock,
      write: (text) => world.write(encoder.encode(text)),
      lookAtStore: () => lookAtStore(config, read.request, world),
    });
  }
  const filed = await withCatalogFile(read.request, world);
  const request = filed && await withSecret(filed, world);
  if (request === undefined) return 1;
  const { backup } = request;
  const proven = backup?.act === "restore"
    ? await proveBackup(config, backupWorld(world, backup))
    : undefined;
  if (backup?.act === "restore" && proven === undefined) return 1;
  const mustExist = request.makesStore !== true;
  const opened = await openStore(config.store, world.clock, { mustExist });
  if (opened.ok) {
    const archived = await withArchive(opened.store, config.store, world.clock);
    if (!archived.ok) {
      world.error(`${archived.problem}\n`);
      return 1;
    }
    using store = archived.store;
    if (backup === undefined) return await runHere(store, config, request, world);
    const files = backupWorld(world, backup);
    return proven === undefined
      ? await backUpHere(config, request, files, store)
      : await restoreHere(proven, files, store, config.storeWaitMs);
  }
  if (opened.reason !== "in_use") {
    world.error(`${opened.problem}\n`);
    return 1;
  }
  return await runAtServer(config, request, world);
}

/** Looks at the store of the configuration, here or at the server that has it open; it changes nothing. */
async function lookAtStore(
  config: Config,
  request: AdminRequest,
  { clock }: CommandWorld,
): Promise<readonly Finding[]> {
  const opened = await openStore(config.store, clock, { mustExist: true });
  if (opened.ok) {
    const archived = await withArchive(opened.store, config.store, clock);
    if (!archived.ok) return [unusableStore(archived.problem)];
    using store = archived.store;
    return await storeFindings({ ...store, clock });
  }
  if (opened.reason === "missing") {
    const mend = "the first start makes it; commands find it by the same GATEWAY_KV";
    return [{ state: "advice", area: "store", what: opened.problem, mend }];
  }
  if (opened.reason === "unusable") return [unusableStore(opened.problem)];
  try {
    using call = await callAdminSocket(adminSocketPath(config), request.path, {});
    return findingsJson.parse(await call.response.json());
  } catch {
    return [unusableStore("another process has it open, and does not answer")];
  }
}

/** Adds the file that a command names to its body; `undefined` if it cannot be read, which was said. */
async function withCatalogFile(
  request: AdminRequest,
  { error }: CommandWorld,
): Promise<AdminRequest | undefined> {
  const { catalogFile, body } = request;
  if (catalogFile === undefined) return request;
  try {
    const text = await Deno.readTextFile(catalogFile);
    const catalog: unknown = JSON.parse(text);
    const problems = ambiguousNumbers(text);
    if (problems.length > 0) {
      error(problems.map((problem) => `${catalogFile}: ${problem}\n`).join(""));
      return undefined;
    }
    return { ...request, body: { ...(typeof body === "object" && body), catalog } };
  } catch (failure) {
    error(`${catalogFile}: ${errorLine(failure)}\n`);
    return undefined;
  }
}

/** Adds the secret of the standard input to the body; `undefined` if there is none, which was said. */
async function withSecret(
  request: AdminRequest,
  { input, error }: CommandWorld,
): Promise<AdminRequest | undefined> {
  const { readsSecret, body } = request;
  if (readsSecret === undefined) return request;
  const secret = input === undefined ? undefined : await shortText(input);
  if (secret === undefined || secret.trim() === "") {
    error(
      "The standard input must hold the key and nothing else: provider-key add NAME < FILE, or\n" +
        '  read -rs KEY && printf %s "$KEY" | deno task admin provider-key add NAME\n',
    );
    return undefined;
  }
  return { ...request, body: { ...(typeof body === "object" && body), secret } };
}

/** Reads a stream to its end; `undefined` if it is longer than a secret may be, or no text. */
async function shortText(input: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const part of input) {
    bytes += part.length;
    if (bytes > maxSecretInputBytes) return undefined;
    parts.push(part.slice());
  }
  try {
    return decodeUtf8(new Uint8Array(await new Blob(parts).arrayBuffer()));
  } catch {
    return undefined;
  }
}

function backupWorld(
  world: CommandWorld,
  { path, keep, since }: NonNullable<AdminRequest["backup"]>,
): BackupWorld {
  const { clock, error } = world;
  return {
    clock,
    error,
    path,
    ...defined({ keep, since }),
    print: (result) => print(result, world),
  };
}

function initOf({ method, body }: AdminRequest): RequestInit {
  if (body === undefined) return { method };
  return { method, body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

/** Sends the command to the server that has the store open. */
async function runAtServer(
  config: Config,
  command: AdminRequest,
  world: CommandWorld,
): Promise<number> {
  const socketPath = adminSocketPath(config);
  let opened: AdminCall;
  try {
    opened = await callAdminSocket(socketPath, command.path, initOf(command));
  } catch {
    world.error(
      `Another process has the store open and does not answer at ${socketPath}: ` +
        `it starts or stops at this moment, or is no server\n${howToRepeat(command)}`,
    );
    return 1;
  }
  using call = opened;
  const { response } = call;
  if (command.backup !== undefined && response.ok) {
    return await saveBackup(
      config,
      backupWorld(world, command.backup),
      response,
      (path, init = {}) => callAdminSocket(socketPath, path, init),
    );
  }
  return await tell(
    command,
    response,
    { ...world, config },
    (path, init = {}) => callAdminSocket(socketPath, path, init),
  );
}

/** Makes a backup of a store that this process has opened. */
async function backUpHere(
  config: Config,
  { path, backup }: AdminRequest,
  world: BackupWorld,
  { kv, snapshot }: Store,
): Promise<number> {
  const { clock } = world;
  const refused = (problem: string) => {
    world.error(`No backup was made: ${problem}\n`);
    return 1;
  };
  const prepared = await prepareStore(kv, { clock, sleep });
  if (!prepared.ok) return refused(prepared.problem);
  // Only seals need the master keys: without them, a whole backup can be made.
  const loaded = backup?.since === undefined ? undefined : await loadMasterKeys(config);
  if (loaded?.ok === false) return refused(loaded.problem);
  const app = createBackupApp({
    kv,
    clock,
    snapshot,
    ...defined({ masterKeys: loaded?.masterKeys }),
  });
  return await saveBackup(config, world, await app.request(path), async (path, init) => {
    return { response: await app.request(path, init), [Symbol.dispose]() {} };
  });
}

/** Runs the command in this process, which has the store to itself. */
async function runHere(
  { kv, parts }: ArchivedStore,
  config: Config,
  command: AdminRequest,
  world: CommandWorld,
): Promise<number> {
  const { clock } = world;
  const prepared = await prepareStore(kv, { clock, sleep });
  if (!prepared.ok) {
    world.error(`${prepared.problem}\n`);
    return 1;
  }
  const loaded = await loadMasterKeys(config);
  if (!loaded.ok) {
    world.error(`${loaded.problem}\n`);
    return 1;
  }
  const catalogued = await openOwnersCatalog(kv, config, clock.nowMs());
  const mode = catalogued.ok ? catalogued.config.mode : config.mode;
  const control = await openControl(kv, clock);
  await reapExpiredInstances(kv, clock.nowMs(), { all: config.store.kind === "file" });
  const wallet = await openWalletEngine(kv, { clock });
  try {
    const app = createAdminApp({
      kv,
      parts,
      retention: config.retention,
      clock,
      masterKeys: loaded.masterKeys,
      keysPerMember: config.keysPerMember,
      origin: config.baseUrl ?? unnamedOrigin,
      control,
      wallet,
      editing: {
        kv,
        clock,
        read: readCatalogIn(mode, config.readCatalog),
        vault: openVault(kv, { masterKeys: loaded.masterKeys, clock, write: () => {} }),
        fileContents: config.fileContents,
        refresh: () => Promise.resolve(),
      },
      topup: config.topup,
    });
    // The answer is written completely before the store closes.
    const response = await app.request(command.path, initOf(command));
    return await tell(command, response, { ...world, config }, async (path, init) => {
      return { response: await app.request(path, init), [Symbol.dispose]() {} };
    });
  } finally {
    await wallet.close();
    control.close();
  }
}

/** Explains how to repeat a command whose answer was lost: typed again with a new id, it would move the money twice. */
function howToRepeat({ operationId }: AdminRequest): string {
  return operationId === undefined
    ? ""
    : `Money may have moved. Repeat the command with --operation ${operationId}: it never counts twice\n`;
}

/** Writes the answer, with what else is asked for it, and returns the exit code. */
async function tell(
  command: AdminRequest,
  response: Response,
  world: CommandWorld & { readonly config: Config },
  ask: (path: string, init?: RequestInit) => Promise<AdminCall>,
): Promise<number> {
  // The store may have failed after the commit, so perhaps only the answer is missing.
  if (response.status >= 500) world.error(howToRepeat(command));
  const { tablesPlace } = command;
  if (tablesPlace !== undefined && response.ok) {
    const { error, clock, config: { bucket } } = world;
    return await writeTables(response, {
      place: tablesPlace,
      bucket,
      clock,
      ask,
      error,
      print: (it) => print(it, world),
    });
  }
  try {
    if (command.isPaged && response.ok) return await tellPages(command, response, world, ask);
    if (command.path !== "/export" || !response.ok) return await tellJson(command, response, world);
    for await (const bytes of response.body ?? []) await world.write(bytes);
    return 0;
  } catch {
    // The server ended before its answer was complete, or the output does not take it.
    const problem = "The answer broke off before its end: what was written is not all of it";
    world.error(`${problem}\n${howToRepeat(command)}`);
    return 1;
  }
}

/** A page of what a command did, counted by kind. */
const pageAnswer = z.object({
  resealed: z.record(z.string(), z.number()),
  problems: z.array(z.string()),
  next: z.string().optional(),
});

/** Asks for the pages behind the first one, says how far it is after each, and writes their sums. */
async function tellPages(
  command: AdminRequest,
  first: Response,
  world: CommandWorld,
  ask: (path: string, init?: RequestInit) => Promise<AdminCall>,
): Promise<number> {
  const resealed: Record<string, number> = {};
  const problems: string[] = [];
  let page = pageAnswer.parse(await first.json());
  for (;;) {
    for (const [kind, count] of Object.entries(page.resealed)) {
      resealed[kind] = (resealed[kind] ?? 0) + count;
    }
    problems.push(...page.problems);
    if (page.next === undefined) break;
    const all = Object.values(resealed).reduce((sum, count) => sum + count, 0);
    world.error(`${all} resealed, ${problems.length} problem(s); now ${page.next.split(" ")[0]}\n`);
    const rest: AdminRequest = { ...command, body: { after: page.next } };
    using call = await ask(rest.path, initOf(rest));
    if (!call.response.ok) return await tellJson(command, call.response, world);
    page = pageAnswer.parse(await call.response.json());
  }
  await print({ ok: problems.length === 0, resealed, problems }, world);
  return problems.length === 0 ? 0 : 1;
}

async function print(body: unknown, world: CommandWorld): Promise<void> {
  await world.write(encoder.encode(`${JSON.stringify(body, null, 2)}\n`));
}

async function tellJson(
  command: AdminRequest,
  response: Response,
  world: CommandWorld,
): Promise<number> {
  const body = asTyped(await response.json(), command);
  await print(body, world);
  if (!response.ok) return 1;
  const isClean = typeof body === "object" && body !== null && "ok" in body
    ? body.ok === true
    : true;
  return isClean ? 0 : 1;
}
