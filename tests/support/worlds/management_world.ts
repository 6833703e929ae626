/** The management API of an organisation over a store, whose answers are compared with the OpenAPI document. */
import { assert, assertEquals } from "../assert.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { defaultCatalog, fakeKeyCheck } from "./dashboard_world.ts";
import { notice, receivingAccount } from "./topup_world.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import { createBankIntake } from "../../../kv/money/payments/bank_intake.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import {
  createManagementKey,
  type ManagementRole,
} from "../../../kv/people/management_keys/management_keys.ts";
import { openWalletEngine } from "../../../kv/money/wallet/mod.ts";
import { createManagementApi } from "../../../routes/management_api/management_api.ts";
import { managementOperations } from "../../../routes/management_api/operations.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { openApiDocument } from "../../../routes/openapi/document.ts";
import { exampleModels } from "../../../routes/openapi/example_models.ts";
import { answerProblems, referredTo } from "../../routes/openapi/described.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { ManualTime } from "../manual_time.ts";
import { testConfig } from "../gateways/gateway_in_process.ts";

const document = openApiDocument({
  server: "/",
  models: exampleModels(await defaultCatalog()),
});

/** What an answer has against the document; of a path that it does not have, nothing. */
function problemsOf(method: string, path: string, status: number, answer: Json): string[] {
  const written = `/v1/organisation${path.replace(/\?.*/, "")}`;
  const isPath = (template: string) =>
    new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(written);
  const operation = managementOperations.find((one) =>
    one.method === method.toLowerCase() && isPath(one.path)
  );
  if (operation === undefined) return [];
  let found: JsonObject = document;
  const steps = ["paths", operation.path, operation.method, "responses", String(status)];
  for (const step of [...steps, "content", "application/json", "schema"]) {
    const next: Json | undefined = referredTo(found, document)[step];
    if (!isJsonObject(next)) return [`${operation.id}: ${status} is not described`];
    found = next;
  }
  return answerProblems(answer, found, document).map((problem) => `${operation.id}: ${problem}`);
}

/** Opens the world; at its end no answer may have differed from the document. */
export async function openManagementWorld() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime(Date.UTC(2026, 10, 28, 3));
  const masterKeys = await readMasterKeys(newMasterKey());
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const problems: string[] = [];
  const records = new Map<string, readonly string[]>();
  const app = createManagementApi({
    kv,
    clock: time,
    deadlines: new Deadlines({ clock: time, timer: time }),
    wallet,
    masterKeys,
    control: { refresh: () => Promise.resolve() },
    catalog: { ...await defaultCatalog(), ownKeyFee: 500 },
    checkOwnKey: fakeKeyCheck,
    keysPerMember: 10,
    topup: {
      ...testConfig().topup,
      receivingAccounts: [receivingAccount],
      vatRates: [{ from: "2025-07-01", rate: { percent: 8 } }],
    },
    spendGranted: "first",
    baseUrl: "https://gateway.example.com",
    resolveTxt: (name) => Promise.resolve(records.get(name) ?? []),
    webhooks: {
      isLocalAllowed: false,
      hasPrivateAddress: (host) => Promise.resolve(host.startsWith("inside.")),
      hintDelivery: () => {},
    },
    hintMail: () => {},
  });
  const owner = await createAccount(kv, { nowMs: time.nowMs(), email: "owner@acme.example" });
  const secretOf = async (role: ManagementRole, account = owner, maker = account) => {
    const nowMs = time.nowMs();
    const made = await createManagementKey(kv, account.id, {
      name: role,
      role,
      memberId: maker.id,
      nowMs,
    });
    assert(made !== "too_many");
    return made;
  };
  const { key: adminKey, secret: admin } = await secretOf("admin");
  const intake = createBankIntake({
    kv,
    nowMs: () => time.nowMs(),
    receivingAccounts: [receivingAccount],
    autoCreditMaxMicroVnd: fromVnd(100_000_000),
    aloneMaxMicroVnd: fromVnd(5_000_000),
    report: () => {},
  });
  return {
    kv,
    time,
    owner,
    masterKeys,
    admin,
    adminKey,
    secretOf,
    /** The texts of TXT records, by their names. */
    records,
    /** The bank tells that an order was paid. */
    async pay(orderCode: string, amountVnd: number) {
      const at = new Date(time.nowMs() + 7 * hourMs).toISOString().slice(0, 19).replace("T", " ");
      await intake.take(notice(orderCode, { amountVnd, at }), "{}");
    },
    async send(method: string, path: string, options: {
      readonly body?: unknown;
      readonly secret?: string;
      readonly headers?: Record<string, string>;
    } = {}) {
      const response = await app.request(`/v1/organisation${path}`, {
        method,
        headers: { authorization: `Bearer ${options.secret ?? admin}`, ...options.headers },
        ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
      });
      const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
      if (!isJson) {
        const bytes = await response.bytes();
        return { status: response.status, headers: response.headers, body: undefined, bytes };
      }
      const answer = await response.json();
      problems.push(...problemsOf(method, path, response.status, answer));
      return { status: response.status, headers: response.headers, body: answer };
    },
    async [Symbol.asyncDispose]() {
      await wallet.close();
      kv.close();
      assertEquals(problems, []);
    },
  };
}
