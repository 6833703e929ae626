/** `deno task admin …`: commands for the operator, on the store of the configured gateway. */
import { parseArgs } from "node:util";
import { systemClock } from "../../core/clock.ts";
import type { Config } from "../../core/config.ts";
import { openControl } from "../../kv/control.ts";
import { reapExpiredInstances } from "../../kv/reaper.ts";
import { openStore } from "../../kv/store.ts";
import { openTeller } from "../../kv/teller/mod.ts";
import { loadMasterKeys } from "../server/master_keys.ts";
import { createAdminApp } from "./app.ts";
import { adminSocketPath, callAdminSocket } from "./socket.ts";

const usage = `Usage: deno task admin <command>

  account                        list accounts
  account create [--email E]     make an account
  account show ACCOUNT           balance and keys (ACCOUNT: id or e-mail)
  key create ACCOUNT [--name N]  make an API key; it is printed once
  key revoke ACCOUNT KEY_ID      revoke a key
  second-factor forget ACCOUNT   for an operator who lost the device: the next visit enrols anew
  credit ACCOUNT VND --reason R [--operation ID]
                                 credit (or, negative, debit) a wallet; the same operation id never counts twice
  notice return SOURCE:ID        put a bank notice (marked duplicate, set aside, refund not sent) back under review
  verify                         check every money invariant of the store
  export                         write every record as JSON lines to standard output
  maintenance on|off [--message M]
`;

/** Where the command writes: the process's own output, or a test's. */
export interface CommandOutput {
  write(text: string): void;
  error(text: string): void;
}

interface Command {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

function commandOf(args: readonly string[]): Command | undefined {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      email: { type: "string" },
      name: { type: "string" },
      reason: { type: "string" },
      operation: { type: "string" },
      message: { type: "string" },
    },
  });
  const [noun, verb, third] = positionals;
  const account = encodeURIComponent(
    verb === "create" || verb === "show" || verb === "revoke" ? third ?? "" : verb ?? "",
  );
  switch (noun) {
    case "account":
      if (verb === undefined || verb === "list") return { method: "GET", path: "/accounts" };
      if (verb === "create") {
        return {
          method: "POST",
          path: "/accounts",
          body: values.email === undefined ? {} : { email: values.email },
        };
      }
      return verb === "show" && third ? { method: "GET", path: `/accounts/${account}` } : undefined;
    case "key":
      if (verb === "create" && third) {
        return {
          method: "POST",
          path: `/accounts/${account}/keys`,
          body: values.name === undefined ? {} : { name: values.name },
        };
      }
      return verb === "revoke" && third && positionals[3]
        ? {
          method: "DELETE",
          path: `/accounts/${account}/keys/${encodeURIComponent(positionals[3])}`,
        }
        : undefined;
    case "second-factor":
      return verb === "forget" && third
        ? { method: "DELETE", path: `/accounts/${encodeURIComponent(third)}/second-factor` }
        : undefined;
    case "credit":
      return verb && third
        ? {
          method: "POST",
          path: `/accounts/${account}/credit`,
          body: {
            vnd: third,
            reason: values.reason ?? "",
            operationId: values.operation ?? `admin-${crypto.randomUUID()}`,
          },
        }
        : undefined;
    case "notice":
      return verb === "return" && third
        ? { method: "POST", path: `/notices/${encodeURIComponent(third)}/return` }
        : undefined;
    case "verify":
    case "export":
      return { method: "GET", path: `/${noun}` };
    case "maintenance":
      return verb === "on" || verb === "off"
        ? {
          method: "POST",
          path: "/maintenance",
          body: {
            on: verb === "on",
            ...(values.message === undefined ? {} : { message: values.message }),
          },
        }
        : undefined;
    default:
      return undefined;
  }
}

async function send(config: Config, command: Command): Promise<Response> {
  const init: RequestInit = {
    method: command.method,
    ...(command.body === undefined ? {} : {
      body: JSON.stringify(command.body),
      headers: { "content-type": "application/json" },
    }),
  };
  const opened = await openStore(config.store);
  if (!opened.ok) return await callAdminSocket(adminSocketPath(config), command.path, init);
  using store = opened.store;
  const control = await openControl(store.kv, systemClock);
  await reapExpiredInstances(store.kv, systemClock.nowMs(), { all: config.store.kind === "file" });
  const teller = await openTeller(store.kv, { clock: systemClock });
  try {
    const app = createAdminApp({
      kv: store.kv,
      clock: systemClock,
      masterKeys: await loadMasterKeys(config),
      control,
      teller,
      receivingAccounts: config.topup.receivingAccounts,
    });
    const response = await app.request(command.path, init);
    // The body is read before the store closes under it.
    if (command.path !== "/export") return new Response(await response.text(), response);
    await response.body?.pipeTo(Deno.stdout.writable, { preventClose: true });
    return new Response(null, response);
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
  let command: Command | undefined;
  try {
    command = commandOf(args);
  } catch (error) {
    output.error(`${error instanceof Error ? error.message : error}\n`);
  }
  if (command === undefined) {
    output.error(usage);
    return 2;
  }
  const response = await send(config, command);
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
