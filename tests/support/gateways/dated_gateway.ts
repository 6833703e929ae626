/** A whole gateway behind a socket, with pages, mails, webhooks and a bank, on a clock that only the test moves. */
import { rowsOfKindPrefix } from "../../../kv/engine/schema/keys.ts";
import { openCustomerApp } from "../../../routes/server/assembly/customer_app.ts";
import { createApp } from "../../../routes/server/listen/app.ts";
import { freePort } from "../servers/free_port.ts";
import { openSmtp, type SmtpWorld } from "../servers/smtp_server.ts";
import { until } from "../until.ts";
import { bankVariables, sendNotice } from "../worlds/money_process.ts";
import { ManualTime } from "../manual_time.ts";
import { openTestGateway, type TestGateway } from "./gateway_in_process.ts";

export interface DatedGateway extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly smtp: SmtpWorld;
  readonly address: string;
  /** Moves the clock to a moment, at which nothing of the past is under way any more. */
  goTo(atMs: number): Promise<void>;
  /** Adds up the calls that have ended, runs a job that looks at them, and waits until mails and webhooks have arrived. */
  settle(jobName: string): Promise<void>;
  /** The bank reports a transfer with this code, made now. */
  pay(code: string, amountVnd: number): Promise<void>;
}

/** Opens it at a moment. */
export async function openDatedGateway(startMs: number): Promise<DatedGateway> {
  const smtp = await openSmtp();
  // Links in mails need the address before the server listens.
  const port = freePort();
  const address = `http://127.0.0.1:${port}`;
  const gateway = await openTestGateway({
    time: new ManualTime(startMs),
    env: {
      GATEWAY_BASE_URL: address,
      MAIL_URL: `smtp://127.0.0.1:${smtp.port}`,
      ...bankVariables,
    },
  });
  const { kv, time, masterKeys, assembled: { gateway: parts } } = gateway;
  const customerApp = openCustomerApp(parts, { masterKeys, baseUrl: address, write: () => {} });
  const workers = customerApp.startWorkers();
  const app = createApp(parts, { stopping: () => false, customerApp });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => await app.fetch(request, { clientAddress: "127.0.0.1" }),
  );
  let notices = 0;

  async function arrive(): Promise<void> {
    const waiting = { prefix: rowsOfKindPrefix("outbox") };
    await until(async () => {
      for (const worker of workers) worker.nudge();
      return (await Array.fromAsync(kv.list(waiting, { limit: 1 }))).length === 0;
    }, "mails and webhooks have arrived");
  }

  return {
    gateway,
    smtp,
    address,
    async goTo(atMs) {
      await arrive();
      await gateway.advance(atMs - time.nowMs());
    },
    async settle(jobName) {
      const job = customerApp.jobs.find(({ name }) => name === jobName);
      if (job === undefined) throw new Error(`There is no job ${jobName}`);
      await parts.wallet.indexOnce();
      await job.run();
      await arrive();
    },
    async pay(code, amountVnd) {
      const transfer = { id: ++notices, memo: `chuyen tien ${code}`, amountVnd };
      const status = await sendNotice(address, { ...transfer, atMs: time.nowMs() });
      if (status !== 200) throw new Error(`The notice of the bank got ${status}`);
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await Promise.all(workers.map((worker) => worker.stop()));
      await gateway[Symbol.asyncDispose]();
      await smtp[Symbol.asyncDispose]();
    },
  };
}
