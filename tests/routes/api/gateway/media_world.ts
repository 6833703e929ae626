/** A gateway in this process whose provider is a server of the test, with time and name servers in the test's hands. */
import { assert } from "../../../support/assert.ts";
import { AnswerBudget } from "../../../../core/lib/bytes/answer_budget.ts";
import { BodyBudget } from "../../../../core/lib/bytes/body_budget.ts";
import type { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import type { AccountId, RequestId } from "../../../../core/lib/ids/ids.ts";
import { createGuardedConnect } from "../../../../core/net/remote/guarded_connect.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { pollDueTasks } from "../../../../kv/services/videos/mod.ts";
import { createApp } from "../../../../routes/server/listen/app.ts";
import type { Gateway } from "../../../../routes/api/gateway/gateway.ts";
import { openMediaServices } from "../../../../routes/api/gateway/media_services.ts";
import { askProviderOf } from "../../../../routes/api/media/videos/video_tasks.ts";
import { openTestGateway, type TestGateway } from "../../../support/gateways/gateway_in_process.ts";

/** A request as the provider saw it. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly json: () => Record<string, unknown>;
}

export interface MockProvider extends AsyncDisposable {
  readonly port: number;
  readonly seen: SeenRequest[];
}

/** A provider on a free port. */
export function mockProvider(
  answer: (request: SeenRequest) => Response | Promise<Response>,
): MockProvider {
  const seen: SeenRequest[] = [];
  const server = Deno.serve(
    {
      port: 0,
      hostname: "127.0.0.1",
      onListen: () => {},
      onError: () => new Response(null, { status: 500 }), // bodies that break on purpose
    },
    async (request) => {
      const url = new URL(request.url);
      const body = await request.bytes();
      const one: SeenRequest = {
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: request.headers,
        body,
        json: () => JSON.parse(new TextDecoder().decode(body)),
      };
      seen.push(one);
      return await answer(one);
    },
  );
  return {
    port: server.addr.port,
    seen,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

export interface MediaWorld extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly test: TestGateway;
  readonly accountId: AccountId;
  readonly key: string;
  readonly advance: TestGateway["advance"];
  /** A request of the customer. */
  readonly send: (path: string, init?: RequestInit) => Promise<Response>;
  readonly post: (path: string, body: unknown, headers?: HeadersInit) => Promise<Response>;
  readonly balanceVnd: () => Promise<number>;
  readonly poll: () => Promise<number>;
  /** The receipt of an answered call. */
  readonly receiptOf: (response: Response) => ReturnType<typeof readReceipt>;
}

export interface MediaWorldOptions {
  /** Ports of providers by name: `p1`, `p2` … each `kind: http`. */
  readonly providers?: Readonly<Record<string, number>>;
  /** Timeouts of providers by name, as in `gateway.json`. */
  readonly timeouts?: Readonly<Record<string, Record<string, number>>>;
  /** What calls are timed by; the connections to providers keep real time. */
  readonly deadlines?: Deadlines;
  /** Default 1: `secret-of-p1`; the next is `secret-of-p1-2`. */
  readonly secretsPerProvider?: number;
  /** Models that take the place of the default ones. */
  readonly models?: readonly Record<string, unknown>[];
  /** Public names, each with the local port that serves it. */
  readonly names?: Readonly<Record<string, number>>;
  /** Further members of the file. */
  readonly more?: object;
  readonly vnd?: number;
  /** What the gateway may hold of bodies. */
  readonly bufferedBytes?: number;
  /** The same of answers. */
  readonly bufferedAnswerBytes?: number;
}

/** Secrets by the name of their environment variable. */
function secretsOf(name: string, options: MediaWorldOptions): Record<string, string> {
  const count = options.secretsPerProvider ?? 1;
  return Object.fromEntries(Array.from({ length: count }, (_, index) => {
    const suffix = index === 0 ? "" : `-${index + 1}`;
    return [`KEY_${name.toUpperCase()}_${index}`, `secret-of-${name}${suffix}`];
  }));
}

function changedFile(options: MediaWorldOptions) {
  return (file: Record<string, unknown>) => {
    const providers: Record<string, unknown> = { sandbox: { kind: "sandbox" } };
    for (const [name, port] of Object.entries(options.providers ?? {})) {
      providers[name] = {
        kind: "http",
        baseUrl: `http://127.0.0.1:${port}`,
        apiKeyEnv: Object.keys(secretsOf(name, options)),
        timeouts: options.timeouts?.[name] ?? {},
      };
    }
    const models = options.models ?? [];
    const replaced = new Set(models.map(({ id }) => id));
    assert(Array.isArray(file["models"]));
    const kept = file["models"].filter(({ id }) => !replaced.has(id));
    return { ...file, ...options.more, providers, models: [...kept, ...models] };
  };
}

/** The address that the test's name server gives for every name. */
const publicAddress = "93.184.215.14";

export async function openMediaWorld(options: MediaWorldOptions = {}): Promise<MediaWorld> {
  const names = Object.keys(options.providers ?? {});
  const test = await openTestGateway({
    file: changedFile(options),
    env: Object.assign({}, ...names.map((name) => secretsOf(name, options))),
  });
  const { accountId, key } = await test.customer(options.vnd ?? 1_000_000);
  const { clock, deadlines, media: networked } = test.assembled.gateway;
  networked.close();
  // Dialling goes to the port behind the name that was asked for last: one name at a time is enough here.
  let asked = "";
  const resolve = (name: string) => {
    asked = name;
    return Promise.resolve(name in (options.names ?? {}) ? [publicAddress] : ["127.0.0.1"]);
  };
  const media = openMediaServices({ clock, deadlines }, {
    resolve,
    connect: createGuardedConnect({
      resolve,
      dial: ({ address }, signal) => {
        assert(address === publicAddress, `dialled ${address}`);
        const port = options.names?.[asked] ?? 0;
        return Deno.connect({ hostname: "127.0.0.1", port, signal });
      },
    }),
  });
  const gateway: Gateway = {
    ...test.assembled.gateway,
    media,
    bodies: options.bufferedBytes === undefined
      ? test.assembled.gateway.bodies
      : new BodyBudget(options.deadlines ?? deadlines, {
        total: options.bufferedBytes,
        perOwner: options.bufferedBytes,
      }),
    answers: options.bufferedAnswerBytes === undefined
      ? test.assembled.gateway.answers
      : new AnswerBudget(options.deadlines ?? deadlines, {
        total: options.bufferedAnswerBytes,
        perOwner: options.bufferedAnswerBytes,
      }),
    deadlines: options.deadlines ?? deadlines,
  };
  const app = createApp(gateway, { stopping: () => false });
  const send = async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${key}`);
    const request = new Request(`http://gateway.example${path}`, { ...init, headers });
    return await app.fetch(request, { clientAddress: "127.0.0.1" });
  };
  return {
    gateway,
    test,
    accountId,
    key,
    advance: test.advance,
    send,
    post: (path, body, headers = {}) =>
      send(path, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...Object.fromEntries(new Headers(headers)),
        },
        body: JSON.stringify(body),
      }),
    async balanceVnd() {
      const { totalMicroVnd } = await gateway.wallet.balance(accountId);
      return Number(totalMicroVnd) / 1e6;
    },
    poll: () =>
      pollDueTasks({
        kv: gateway.kv,
        clock: gateway.clock,
        random: () => 0,
        ask: askProviderOf(gateway),
      }),
    receiptOf: (response) =>
      readReceipt(gateway.kv, (response.headers.get("x-request-id") ?? "") as RequestId),
    async [Symbol.asyncDispose]() {
      media.close();
      await test[Symbol.asyncDispose]();
    },
  };
}

/** The error of an answer, in the shape of this API; fails if it has another one. */
export async function errorOf(response: Response) {
  const body = await response.json();
  assert(body.type === "error" && typeof body.error.message === "string", JSON.stringify(body));
  return {
    status: response.status,
    type: String(body.error.type),
    code: String(body.error.code),
    param: body.error.param as string | null,
    message: String(body.error.message),
  };
}
