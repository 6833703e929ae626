/** Tools for attacks on the money of a gateway process: its store before and after, and concurrent requests. */
import { assertEquals } from "../assert.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { openSession } from "../../../kv/people/accounts/sessions.ts";
import type { AccountId, ApiKeyId } from "../../../core/lib/ids/ids.ts";
import { checkTopups } from "../../../kv/money/payments/topup_checks.ts";
import { createTopupOrder, type TopupOrder } from "../../../kv/money/payments/topups.ts";
import { outboxRowKey, outboxRowOf } from "../../../kv/engine/schema/keys.ts";
import { callAdminSocket } from "../../../routes/operator/cli/socket.ts";
import { operationPaths } from "../../../routes/operator/operations/contract/paths.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { codeFor, secretOn } from "./operator_world.ts";
import {
  type StartedGateway,
  startGateway,
  type StartOptions,
} from "../gateways/started_gateway.ts";
import { markOn } from "../browser/confirmed.ts";
import { TestBrowser } from "../browser/test_browser.ts";
import { receivingAccount } from "./topup_world.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { vietnamDateTime } from "../../../core/lib/time/vietnam_time.ts";
import { bearerPost } from "../api_post.ts";

const hookSecret = "money-process-secret";

/** The variables of a gateway that takes the notices of {@linkcode sendNotice}. */
export const bankVariables: Readonly<Record<string, string>> = {
  SEPAY_WEBHOOK_SECRET: hookSecret,
  GATEWAY_BANK_ACCOUNTS: JSON.stringify([receivingAccount]),
  GATEWAY_VAT_RATES: "2025-07-01=8",
};
const operatorEmails = ["first@example.com", "second@example.com"] as const;

/** A gateway that accepts bank notices and has two operators. */
export function startMoneyGateway(
  folder: string,
  env: Readonly<Record<string, string>> = {},
  options: Pick<StartOptions, "outlivesFileLimit" | "root"> = {},
): Promise<StartedGateway> {
  return startGateway({
    ...options,
    folder,
    env: {
      GATEWAY_OPERATORS: operatorEmails.join(),
      ...bankVariables,
      ...env,
    },
  });
}

/** Creates a folder for a store and removes it at the end. */
export async function withStoreFolder<Result>(
  run: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-money-" });
  try {
    return await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Works on the store while no gateway has it open. */
export async function onStore<Result>(
  folder: string,
  run: (kv: KeyValueStore) => Promise<Result>,
): Promise<Result> {
  using kv = await Deno.openKv(`${folder}/gateway.sqlite3`);
  return await run(kv);
}

/** Customers with as many open orders as asked for; all of them ask for different sums. */
export async function seedOrders(kv: KeyValueStore, count: number): Promise<TopupOrder[]> {
  const orders: TopupOrder[] = [];
  let account: Account | undefined;
  for (let i = 0; i < count; i++) {
    if (account === undefined || i % 4 === 0) {
      account = await createAccount(kv, { nowMs: Date.now(), email: `c${i}@example.com` });
    }
    const made = await createTopupOrder(kv, {
      accountId: account.id,
      amountMicroVnd: BigInt(20_000 + i) * 1_000_000n,
      to: receivingAccount,
      nowMs: Date.now(),
      randomBytes: (into) => crypto.getRandomValues(into),
    });
    if (!made.ok) throw new Error(made.why);
    orders.push(made.order);
  }
  return orders;
}

/** Sessions of the two operators, as cookies. */
export async function seedOperators(kv: KeyValueStore): Promise<string[]> {
  return await Promise.all(operatorEmails.map(async (email) => {
    const { id } = await createAccount(kv, { nowMs: Date.now(), email });
    const { token } = await openSession(kv, {
      accountId: id,
      nowMs: Date.now(),
      method: "password",
      device: "test",
      address: "127.0.0.1",
    });
    return token;
  }));
}

/** A signed-in browser for the process. */
export class OperatorBrowser extends TestBrowser {
  #csrf: string | undefined;

  constructor(gateway: StartedGateway, session: string) {
    super((request) => fetch(request, { redirect: "manual" }), gateway.address);
    this.cookies.set("session", session);
  }

  /** Enrols and shows the first code of an authenticator app; once for each session. */
  async passSecondFactor(): Promise<this> {
    const path = "/operator/second-factor";
    const page = await this.get(path);
    const code = codeFor(secretOn(page) ?? "", Date.now());
    const passed = await this.submit(page, path, { code });
    if (passed.status !== 303) throw new Error(`The code was refused: ${passed.status}`);
    return this;
  }

  async #token(): Promise<string> {
    const any = await this.get("/operator");
    const token = /name="csrf-token" content="([^"]+)"/.exec(any.text)?.[1];
    if (token === undefined) throw new Error(`no token on the page: ${any.status}`);
    return token;
  }

  /**
   * Posts an operator's form, and confirms it if the page that comes shows what would move; `true` where it was done (and
   * not shown again with a problem).
   */
  async act(path: string, fields: Readonly<Record<string, string | File>>): Promise<boolean> {
    const first = await this.#post(path, fields);
    const seen = first.status === 200 ? markOn(first) : undefined;
    return seen === undefined
      ? first.status === 303
      : (await this.#post(path, { ...fields, seen })).status === 303;
  }

  /** Approves a request, as its page at `path` shows it. */
  async approve(path: string): Promise<boolean> {
    const seen = markOn(await this.get(path));
    return seen !== undefined && await this.act(`${path}/approve`, { seen });
  }

  async #post(path: string, fields: Readonly<Record<string, string | File>>) {
    this.#csrf ??= await this.#token();
    const body = new FormData();
    body.set("csrf", this.#csrf);
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    const headers = { "sec-fetch-site": "same-origin" };
    return await this.send(path, { method: "POST", body, headers });
  }

  /** Gets the token of forms now, so that later acts begin with their own request. */
  async ready(): Promise<this> {
    this.#csrf ??= await this.#token();
    return this;
  }
}

/** A transfer as the bank reports it. */
export interface Transfer {
  readonly id: number;
  readonly memo: string;
  readonly amountVnd: number | string;
}

/** The transfer that pays an order. */
export function noticeOfOrder({ code, askedMicroVnd }: TopupOrder, i: number): Transfer {
  const memo = `NGUYEN VAN A ${code} chuyen tien`;
  return { id: 1_000 + i, memo, amountVnd: Number(askedMicroVnd / 1_000_000n) };
}

/** Checks every invariant of a store that no process has open. */
export async function assertSoundBooks(kv: KeyValueStore): Promise<void> {
  assertEquals((await verifyStore(kv)).problems, []);
  assertEquals((await checkTopups(kv, Date.now())).problems, []);
}

/** Lets the time pass for which rows of the outbox are claimed or wait: what a killed process had begun is due. */
export async function passClaims(kv: KeyValueStore): Promise<void> {
  for await (const { key, value } of kv.list<unknown>({ prefix: ["outbox"] })) {
    const [, queue] = key;
    const { dueAtMs, id } = outboxRowOf(key);
    const nowMs = Date.now();
    if (dueAtMs <= nowMs) continue;
    await kv.atomic().delete(key).set(outboxRowKey(String(queue), nowMs, id), value).commit();
  }
}

/**
 * Sends a signed notice; the status of the answer.
 *
 * @param transfer.atMs when the transfer and the notice are made; by default it was made before, and is noticed now
 */
export async function sendNotice(
  address: string,
  transfer: Transfer & { readonly atMs?: number },
): Promise<number> {
  const { id, memo, amountVnd, atMs } = transfer;
  const madeAt = atMs === undefined ? "2026-11-20 14:02:37" : vietnamDateTime(atMs);
  const body = JSON.stringify({
    id,
    gateway: receivingAccount.bankName,
    transactionDate: madeAt,
    accountNumber: receivingAccount.account,
    subAccount: null,
    code: null,
    content: memo,
    transferType: "in",
    transferAmount: amountVnd,
    accumulated: 0,
    referenceCode: `FT${id}`,
    description: "",
  });
  const timestamp = String(Math.floor((atMs ?? Date.now()) / 1_000));
  const bytes = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes.encode(hookSecret), algorithm, false, [
    "sign",
  ]);
  const signed = await crypto.subtle.sign("HMAC", key, bytes.encode(`${timestamp}.${body}`));
  const response = await fetch(`${address}/hooks/bank/sepay`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-sepay-timestamp": timestamp,
      "x-sepay-signature": `sha256=${new Uint8Array(signed).toHex()}`,
    },
  });
  await response.body?.cancel();
  return response.status;
}

/**
 * Acts in parallel and kills the process when `answers` acts are done. At least one act has not begun then, so the kill
 * is in the middle, however long the machine takes for it.
 *
 * @returns which acts were answered
 */
export async function killAmid(
  gateway: StartedGateway,
  acts: readonly (() => Promise<unknown>)[],
  answers: number,
): Promise<boolean[]> {
  const done = acts.map(() => false);
  const waiting = acts.entries();
  let count = 0;
  const isKilled = () => count >= answers;
  const lane = async () => {
    for (const [i, act] of waiting) {
      try {
        await act();
      } catch (error) {
        if (isKilled()) return;
        throw error;
      }
      done[i] = true;
      if (++count === answers) await gateway.end("SIGKILL");
      if (isKilled()) return;
    }
  };
  const lanes = Number.isFinite(answers) ? acts.length - answers : acts.length;
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } finally {
    await gateway.end("SIGKILL");
  }
  return done;
}

/** Sends the request of an admin command to the running process, without starting a process for it. */
export async function askAdmin<Answer>(
  gateway: StartedGateway,
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
): Promise<Answer> {
  using call = await callAdminSocket(`${gateway.storePath}.admin.sock`, path, {
    method,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  if (!call.response.ok) throw new Error(`${method} ${path}: ${await call.response.text()}`);
  return await call.response.json();
}

export interface Payer {
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
  readonly key: string;
}

/** Creates an account with a key and, optionally, money. */
export async function newPayer(gateway: StartedGateway, vnd = 0): Promise<Payer> {
  const account = await askAdmin<{ id: AccountId }>(gateway, "POST", "/accounts", {});
  const keys = `/accounts/${account.id}/keys`;
  const made = await askAdmin<{ id: ApiKeyId; key: string }>(gateway, "POST", keys, {});
  if (vnd > 0) {
    await askAdmin(gateway, "POST", `/api/accounts/${account.id}/credit`, {
      vnd: String(vnd),
      reason: "money to spend",
      operationId: `test-${account.id}`,
    });
  }
  return { accountId: account.id, keyId: made.id, key: made.key };
}

/** What an account has, in VND as the command line shows it. */
export async function balanceVnd(gateway: StartedGateway, accountId: string): Promise<string> {
  const path = operationPaths["accounts.show"].path.replace(":account", accountId);
  return (await askAdmin<{ balanceVnd: string }>(gateway, "GET", path)).balanceVnd;
}

/** Starts a streaming chat call; the sandbox repeats the prompt. */
export function beginStream(
  gateway: StartedGateway,
  key: string,
  said: string,
  model = "premium-1",
): Promise<Response> {
  return fetch(bearerPost(`${gateway.address}/v1/chat/completions`, key, {
    model,
    max_tokens: 400,
    stream: true,
    messages: [{ role: "user", content: said }],
  }));
}
