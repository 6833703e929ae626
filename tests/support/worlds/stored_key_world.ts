/** Gateways on one store whose provider takes its key from the store, and tells which keys it was sent. */
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { openTestGateway, type TestGateway } from "../gateways/gateway_in_process.ts";
import { mockProvider } from "../../routes/api/gateway/media_world.ts";
import { bearerPost } from "../api_post.ts";

const operatorKey = "operator-key-of-a-test-0123456789";

/** A catalogue whose one provider has the stored key `main`, and perhaps others. */
export function storedKeyCatalogue(port: number, apiKeyVault: string | string[] = "main") {
  return {
    defaultModel: "talk",
    providers: { vendor: { kind: "http", baseUrl: `http://127.0.0.1:${port}`, apiKeyVault } },
    models: [{
      id: "talk",
      kind: "chat",
      family: "test",
      price: { unit: "token", vndPerMtok: 1_000 },
      contextWindow: 100_000,
      maxOutputTokens: 1_000,
      routes: [{ provider: "vendor", style: "chat", model: "vendor-9" }],
    }],
  };
}

export interface Answered {
  readonly status: number;
  // deno-lint-ignore no-explicit-any -- tests read members of JSON
  readonly body: any;
  readonly text: string;
}

export interface StoredKeyWorld extends AsyncDisposable {
  readonly gateway: TestGateway;
  /** Another instance on the same store. */
  readonly other: TestGateway;
  /** Keys that arrived at the provider, in their order. */
  readonly sent: string[];
  readonly port: number;
  /** Asks the operator's API. */
  operate(method: string, path: string, body?: unknown, base?: number): Promise<Answered>;
  /** Calls the model at one of the instances; each text begins another conversation. */
  call(at?: TestGateway, text?: string): Promise<Answered>;
  /** What the polls of an instance do within two seconds. */
  poll(at?: TestGateway): Promise<void>;
}

async function answered(response: Response): Promise<Answered> {
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) };
}

/**
 * @param options.refuses the key that the provider refuses, with the key in the text of its error
 * @param options.otherMasterKeys the master keys of the other instance; absent: the same
 */
export async function openStoredKeyWorld(
  options: {
    readonly refuses?: string;
    readonly apiKeyVault?: string | string[];
    readonly otherMasterKeys?: MasterKeys;
  } = {},
): Promise<StoredKeyWorld> {
  const sent: string[] = [];
  const provider = mockProvider(({ headers }) => {
    const key = (headers.get("authorization") ?? "none").replace("Bearer ", "");
    sent.push(key);
    if (key === options.refuses) {
      return Response.json({ error: { message: `Incorrect API key provided: ${key}` } }, {
        status: 401,
      });
    }
    return Response.json({
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
    });
  });
  const shared = {
    env: { GATEWAY_OPERATOR_KEY: operatorKey },
    file: () => storedKeyCatalogue(provider.port, options.apiKeyVault),
  };
  const kv = await Deno.openKv(":memory:");
  const gateway = await openTestGateway({ ...shared, kv });
  const { masterKeys, time } = gateway;
  const other = await openTestGateway({
    ...shared,
    kv,
    time,
    masterKeys: options.otherMasterKeys ?? masterKeys,
  });
  const { key } = await gateway.customer(10_000);
  return {
    gateway,
    other,
    sent,
    port: provider.port,
    async operate(method, path, body, base) {
      const request = new Request(`http://gateway/operator${path}`, {
        method,
        headers: {
          authorization: `Bearer ${operatorKey}`,
          ...(base !== undefined && { "if-match": `"${base}"` }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return await answered(await gateway.fetch(request));
    },
    async call(at = gateway, text = "Hi") {
      const request = bearerPost("http://gateway/v1/chat/completions", key, {
        model: "talk",
        max_tokens: 9,
        messages: [{ role: "user", content: text }],
      });
      return await answered(await at.fetch(request));
    },
    poll: (at = other) => at.assembled.gateway.control.refresh(),
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      kv.close();
      await provider[Symbol.asyncDispose]();
    },
  };
}
