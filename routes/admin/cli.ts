/** `deno task admin …`: commands for the operator, on the store of the configured gateway. */
import { systemClock } from "../../core/clock.ts";
import type { Config } from "../../core/config.ts";
import { openControl } from "../../kv/control.ts";
import { reapExpiredInstances } from "../../kv/reaper.ts";
import { openStore } from "../../kv/store.ts";
import { openTeller } from "../../kv/teller/mod.ts";
import { loadMasterKeys } from "../server/master_keys.ts";
import { createAdminApp } from "./app.ts";
import { readAdminCommand } from "./command.ts";
import { type AdminRequest, adminUsage } from "./command_forms.ts";
import { adminSocketPath, callAdminSocket } from "./socket.ts";

/** Where the command writes: the process's own output, or a test's. */
export interface CommandOutput {
  write(text: string): void;
  error(text: string): void;
}

type Sent =
  | { readonly ok: true; readonly response: Response }
  /** Nobody could run it; one line. */
  | { readonly ok: false; readonly problem: string };

async function send(config: Config, command: AdminRequest): Promise<Sent> {
  const init: RequestInit = {
    method: command.method,
    ...(command.body === undefined ? {} : {
      body: JSON.stringify(command.body),
      headers: { "content-type": "application/json" },
    }),
  };
  const opened = await openStore(config.store);
  if (opened.ok) {
    using store = opened.store;
    return await runOn(store.kv, config, command, init);
  }
  if (opened.reason === "unusable") return { ok: false, problem: opened.problem };
  const path = adminSocketPath(config);
  try {
    return { ok: true, response: await callAdminSocket(path, command.path, init) };
  } catch {
    const problem = `Another process has the store open and does not answer at ${path}: ` +
      "it starts or stops at this moment, or is no server";
    return { ok: false, problem };
  }
}

/** Runs the command in this process, which is alone on the store. */
async function runOn(
  kv: Deno.Kv,
  config: Config,
  command: AdminRequest,
  init: RequestInit,
): Promise<Sent> {
  const loaded = await loadMasterKeys(config);
  if (!loaded.ok) return loaded;
  const { masterKeys } = loaded;
  const control = await openControl(kv, systemClock);
  await reapExpiredInstances(kv, systemClock.nowMs(), { all: config.store.kind === "file" });
  const teller = await openTeller(kv, { clock: systemClock });
  try {
    const app = createAdminApp({
      kv,
      clock: systemClock,
      masterKeys,
      control,
      teller,
      receivingAccounts: config.topup.receivingAccounts,
    });
    const response = await app.request(command.path, init);
    // The body is read before the store closes under it.
    if (command.path !== "/export") {
      return { ok: true, response: new Response(await response.text(), response) };
    }
    await response.body?.pipeTo(Deno.stdout.writable, { preventClose: true });
    return { ok: true, response: new Response(null, response) };
  } finally {
    await teller.close();
    control.close();
  }
}

/** Runs one command and returns the exit code of the process. */
export async function runAdmin(
  config: Config,
  args: readonly string[],
  output: CommandOutput,
): Promise<number> {
  const read = readAdminCommand(args);
  if (read.kind === "help") {
    output.write(adminUsage());
    return 0;
  }
  if (read.kind === "refused") {
    output.error(`${read.problem}\n${read.usage}`);
    return 2;
  }
  const command = read.request;
  const unclear = (problem: string) => {
    output.error(`${problem}\n${howToRepeat(command)}`);
    return 1;
  };
  const sent = await send(config, command);
  if (!sent.ok) return unclear(sent.problem);
  try {
    const code = await tell(command, sent.response, output);
    // The store may have failed behind the commit: what went wrong may be no more than the answer.
    if (sent.response.status >= 500) output.error(howToRepeat(command));
    return code;
  } catch {
    return unclear("The answer broke off before its end: what was written is not all of it");
  }
}

/** Whoever has no answer would type the command again: under an id of its own it would move the money twice. */
function howToRepeat({ operationId }: AdminRequest): string {
  return operationId === undefined
    ? ""
    : `Money may have moved. Repeat the command with --operation ${operationId}: it never counts twice\n`;
}

/**
 * Writes the answer down and returns the exit code.
 *
 * @throws when the server ends before its answer does, or nobody takes what is written
 */
async function tell(
  command: AdminRequest,
  response: Response,
  output: CommandOutput,
): Promise<number> {
  if (command.path === "/export" && response.ok) {
    await response.body?.pipeTo(Deno.stdout.writable, { preventClose: true });
    return 0;
  }
  const text = await response.text();
  const body: unknown = JSON.parse(text);
  output.write(`${JSON.stringify(body, null, 2)}\n`);
  if (!response.ok) return 1;
  const clean = typeof body === "object" && body !== null && "ok" in body ? body.ok === true : true;
  return clean ? 0 : 1;
}
