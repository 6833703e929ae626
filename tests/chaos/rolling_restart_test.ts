/** Two gateways on PostgreSQL behind Caddy are restarted in turn, and no call of a client fails. */
import { assert, assertEquals } from "../support/assert.ts";
import OpenAI from "openai";
import { sleep } from "../../core/lib/time/sleep.ts";
import { hasCaddy, startCaddy } from "../support/servers/caddy_server.ts";
import { unitSettings } from "../repository/deploy_files.ts";
import { newAdminPayer } from "../support/gateways/admin_payer.ts";
import { freePort } from "../support/servers/free_port.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { root, sourceText } from "../repository/source_files.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";

const programs = await postgresPrograms();

/** Rounds of restarts; each one restarts both gateways. */
const rounds = Number(Deno.env.get("ROLLING_RESTART_ROUNDS") ?? 1);

/** What the clients saw. */
interface Tally {
  whole: number;
  streams: number;
  readonly failures: string[];
}

async function callOnce(client: OpenAI, isStream: boolean): Promise<void> {
  const request = {
    model: "low-cost-01",
    max_tokens: 20,
    messages: [{ role: "user" as const, content: "count" }],
  };
  if (!isStream) {
    const { choices } = await client.chat.completions.create(request);
    assert(choices[0]?.finish_reason);
    return;
  }
  let isFinished = false;
  for await (
    const { choices } of await client.chat.completions.create({ ...request, stream: true })
  ) {
    if (choices[0]?.finish_reason) isFinished = true;
  }
  assert(isFinished, "a stream was cut");
}

/** Milliseconds between two calls of a client, which leave most of a small machine to the programs under test. */
const pauseMs = 25;

/** Whole answers, and streams, before each restart and after the last. */
const callsBetween = 20;

async function callUntil(
  client: OpenAI,
  isStream: boolean,
  tally: Tally,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    try {
      await callOnce(client, isStream);
      if (isStream) tally.streams++;
      else tally.whole++;
    } catch (error) {
      tally.failures.push(String(error));
    }
    await sleep(pauseMs);
  }
}

/** Waits with the command of the unit file until the proxy has seen the instance too. */
async function waitAsSystemdDoes(port: number): Promise<void> {
  const unit = unitSettings(sourceText("deploy/systemd/gateway@.service"));
  const { value } = unit.find(({ name }) => name === "ExecStartPost")!;
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: value.split(" ").slice(1),
    cwd: root,
    env: { PORT: String(port) },
  }).output();
  assert(success, "the gateway is not ready");
}

Deno.test({
  name: "a rolling restart behind the Caddyfile of deploy/ fails no call",
  ignore: programs === undefined || !hasCaddy(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using database = await startPostgres(programs ?? "");
    const ports = [freePort(), freePort()];
    const start = (port: number) =>
      startGateway({
        env: {
          GATEWAY_KV: database.url,
          GATEWAY_MASTER_KEYS: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
          GATEWAY_CLIENT_ADDRESS_HEADER: "x-real-ip",
          GATEWAY_STOP_DELAY_MS: "5000",
          GATEWAY_DRAIN_MS: "25000",
          PORT: String(port),
        },
      });
    const gateways = [await start(ports[0]!), await start(ports[1]!)];
    const tally: Tally = { whole: 0, streams: 0, failures: [] };
    try {
      await using caddy = await startCaddy(ports.map((port) => `127.0.0.1:${port}`));
      const { key: apiKey } = await newAdminPayer(gateways[0]!, 20_000_000);
      using http = Deno.createHttpClient({ caCerts: [caddy.authority] });
      const client = new OpenAI({
        baseURL: `${caddy.address}/v1`,
        apiKey,
        maxRetries: 0,
        fetch: (url, options) => fetch(url, { ...options, client: http }),
      });
      let isOver = false;
      const callers = Array.from(
        { length: 8 },
        (_, number) => callUntil(client, number % 2 === 1, tally, () => isOver),
      );
      const callsGoOn = async () => {
        const { whole, streams } = tally;
        await until(
          () =>
            tally.failures.length > 0 ||
            tally.whole > whole + callsBetween && tally.streams > streams + callsBetween,
          "calls go on",
        );
      };
      for (let round = 0; round < rounds; round++) {
        for (const [index, port] of ports.entries()) {
          await callsGoOn();
          assertEquals(await gateways[index]!.end("SIGTERM"), 0);
          gateways[index] = await start(port);
          await waitAsSystemdDoes(port);
        }
      }
      await callsGoOn();
      isOver = true;
      await Promise.all(callers);
      const { code, output } = await gateways[0]!.admin("verify");
      assertEquals(code, 0, output);
    } finally {
      for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
    }
    assertEquals(tally.failures, []);
    if (Deno.env.has("ROLLING_RESTART_ROUNDS")) {
      const { whole, streams } = tally;
      Deno.stdout.writeSync(new TextEncoder().encode(`${whole} answers, ${streams} streams\n`));
    }
  },
});
