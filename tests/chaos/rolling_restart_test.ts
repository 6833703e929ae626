/** Two gateways on PostgreSQL behind Caddy are restarted in turn, and no call of a client fails. */
import { assert, assertEquals } from "../support/assert.ts";
import OpenAI from "openai";
import { sleep } from "../../core/lib/time/sleep.ts";
import { unitSettings } from "../repository/deploy_files.ts";
import { newAdminPayer } from "../support/gateways/admin_payer.ts";
import { freePort } from "../support/servers/free_port.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { root, sourceText } from "../repository/source_files.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";

const caddyfile = new URL("../../deploy/docker/Caddyfile", import.meta.url).pathname;

/** A running proxy. */
interface CaddyServer extends AsyncDisposable {
  readonly address: string;
  /** The certificate of its own authority, as PEM. */
  readonly authority: string;
}

/** Whether the program is installed. */
function hasCaddy(): boolean {
  try {
    return new Deno.Command("caddy", { args: ["version"], stdout: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Starts the proxy in front of servers.
 *
 * @param upstreams their hosts and ports
 */
async function startCaddy(upstreams: readonly string[]): Promise<CaddyServer> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-caddy-" });
  const port = freePort();
  const child = new Deno.Command("caddy", {
    args: ["run", "--config", caddyfile, "--adapter", "caddyfile"],
    env: {
      GATEWAY_SITE: "localhost",
      GATEWAY_UPSTREAMS: upstreams.join(" "),
      CADDY_HTTP_PORT: String(freePort()),
      CADDY_HTTPS_PORT: String(port),
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
    },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let authority: string | undefined;
  await until(async () => {
    authority = await readIfThere(`${folder}/caddy/pki/authorities/local/root.crt`);
    if (authority === undefined) return false;
    using client = Deno.createHttpClient({ caCerts: [authority] });
    const answer = await fetch(`https://localhost:${port}/readyz`, { client }).catch(() => {});
    await answer?.body?.cancel();
    return answer?.ok === true;
  }, "the proxy reaches a gateway");
  return {
    address: `https://localhost:${port}`,
    authority: authority!,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

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
