/** One gateway with its API and its pages behind a socket, on a clock that the test moves, for people of companies. */
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { openSession } from "../../../kv/people/accounts/sessions.ts";
import { createBankIntake } from "../../../kv/money/payments/bank_intake.ts";
import { openCustomerApp } from "../../../routes/server/assembly/customer_app.ts";
import { createApp } from "../../../routes/server/listen/app.ts";
import { openTestGateway, type TestGateway } from "../gateways/gateway_in_process.ts";
import { notice, receivingAccount } from "./topup_world.ts";

/** A person with a signed-in browser. */
export interface Person {
  readonly account: Account;
  readonly email: string;
  /** The cookie of the session. */
  readonly token: string;
}

export interface CompaniesWorld extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly address: string;
  /** An account with a session, as after a sign-up. */
  person(email: string): Promise<Person>;
  /** The bank tells that an order was paid, at the present moment. */
  pay(orderCode: string, amountVnd: number): Promise<void>;
  /** Runs the jobs that come each minute. */
  runJobs(): Promise<void>;
}

/** The moment on the clock as a bank writes it. */
function bankTime(nowMs: number): string {
  return new Date(nowMs + 7 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");
}

export async function openCompaniesWorld(): Promise<CompaniesWorld> {
  const ready = Promise.withResolvers<(request: Request) => Response | Promise<Response>>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => await (await ready.promise)(request),
  );
  const address = `http://localhost:${server.addr.port}`;
  const gateway = await openTestGateway({
    env: {
      GATEWAY_BASE_URL: address,
      GATEWAY_BANK_ACCOUNTS: JSON.stringify([receivingAccount]),
      GATEWAY_VAT_RATES: "2025-07-01=8",
    },
  });
  const { kv, time, masterKeys, assembled: { gateway: parts } } = gateway;
  const customerApp = openCustomerApp(parts, { masterKeys, baseUrl: address, write: () => {} });
  const app = createApp(parts, { stopping: () => false, customerApp });
  ready.resolve((request) => app.fetch(request, { clientAddress: "127.0.0.1" }));
  const { topup } = parts.config;
  const intake = createBankIntake({
    kv,
    nowMs: () => time.nowMs(),
    receivingAccounts: topup.receivingAccounts,
    autoCreditMaxMicroVnd: topup.autoCreditMaxMicroVnd,
    aloneMaxMicroVnd: topup.approvalAboveMicroVnd,
    report: () => {},
  });
  return {
    gateway,
    address,
    async person(email) {
      const nowMs = time.nowMs();
      const account = await createAccount(kv, { nowMs, email, locale: "en" });
      const { token } = await openSession(kv, {
        accountId: account.id,
        nowMs,
        method: "password",
        device: "Chrome, Linux",
        address: "127.0.0.1",
      });
      return { account, email, token };
    },
    async pay(orderCode, amountVnd) {
      const at = bankTime(time.nowMs());
      await intake.take(notice(orderCode, { amountVnd, at }), "{}");
    },
    async runJobs() {
      for (const job of customerApp.jobs) await job.run();
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await gateway[Symbol.asyncDispose]();
    },
  };
}
