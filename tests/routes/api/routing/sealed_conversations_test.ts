import { assert, assertEquals } from "../../../support/assert.ts";
import { runSeed, seededRandom } from "../../../support/random.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { openTestGateway, type TestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { type MockProvider, mockProvider } from "../gateway/media_world.ts";
import { bearerPost } from "../../../support/api_post.ts";

/** The account of a key: vendors seal for an organisation. */
const organisations: Readonly<Record<string, string>> = {
  "secret-one": "org-1",
  "secret-two": "org-2",
  "secret-twin-1": "org-3",
  "secret-twin-2": "org-3",
};

type VendorStyle = "responses" | "messages" | "gemini";

const seal = (account: string, n: number) => `gAAA-${account}-${"x".repeat(60)}-${n}`;
const isSealOf = (account: string, value: unknown) =>
  typeof value === "string" && value.startsWith(`gAAA-${account}-`);

/** What a vendor of each style sends, and where it looks for what it has sealed. */
const vendors: Readonly<
  Record<VendorStyle, {
    readonly sealsOf: (body: JsonObject) => Json[];
    readonly answer: (sealed: string, n: number) => JsonObject;
    readonly refusal: string;
  }>
> = {
  responses: {
    sealsOf: ({ input }) =>
      listOf(input).filter((item) => item["type"] === "reasoning")
        .map((item) => item["encrypted_content"] ?? null),
    answer: (sealed, n) => ({
      id: `resp_${n}`,
      object: "response",
      status: "completed",
      model: "up",
      output: [
        { type: "reasoning", id: `rs_${n}`, summary: [], encrypted_content: sealed },
        {
          type: "function_call",
          id: `fc_${n}`,
          call_id: `call_${n}`,
          name: "read",
          arguments: "{}",
          status: "completed",
        },
      ],
      usage: { input_tokens: 5, output_tokens: 3, total_tokens: 8 },
    }),
    refusal: "The encrypted content gAAA... could not be verified. Reason: Encrypted content " +
      "organization_id did not match the target organization.",
  },
  messages: {
    sealsOf: ({ messages }) =>
      listOf(messages).flatMap(({ content }) => listOf(content))
        .filter((block) => block["type"] === "thinking")
        .map((block) => block["signature"] ?? null),
    answer: (sealed, n) => ({
      id: `msg_${n}`,
      type: "message",
      role: "assistant",
      model: "up",
      content: [
        { type: "thinking", thinking: "Hm.", signature: sealed },
        { type: "tool_use", id: `toolu_${n}`, name: "read", input: {} },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 5, output_tokens: 3 },
    }),
    refusal: "messages.1.content.0: Invalid `signature` in `thinking` block",
  },
  gemini: {
    sealsOf: ({ contents }) =>
      listOf(contents).flatMap(({ parts }) => listOf(parts))
        .flatMap(({ thoughtSignature }) => thoughtSignature === undefined ? [] : [thoughtSignature])
        .filter((signature) => signature !== "skip_thought_signature_validator"),
    answer: (sealed, n) => ({
      candidates: [{
        content: {
          role: "model",
          parts: [{ functionCall: { name: "read", args: { n } }, thoughtSignature: sealed }],
        },
        finishReason: "STOP",
        index: 0,
      }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
      modelVersion: "up",
    }),
    refusal: "Thought signature is not valid.",
  },
};

function listOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function secretOf(headers: Headers): string {
  return headers.get("x-api-key") ?? headers.get("x-goog-api-key") ??
    headers.get("authorization")?.replace("Bearer ", "") ?? "";
}

interface Vendor extends MockProvider {
  readonly refusals: number;
  readonly secrets: string[];
  /** Its next calls fail. */
  failing: number;
}

/** A vendor that refuses what another organisation has sealed. */
function vendor(style: VendorStyle): Vendor {
  const { sealsOf, answer, refusal } = vendors[style];
  let count = 0;
  let refusals = 0;
  const secrets: string[] = [];
  const provider = mockProvider(({ headers, json }) => {
    if (made.failing > 0) {
      made.failing--;
      return Response.json({ error: { message: "broken" } }, { status: 500 });
    }
    const secret = secretOf(headers);
    secrets.push(secret);
    const account = organisations[secret] ?? secret;
    const body = json();
    assert(isJsonObject(body as Json));
    if (sealsOf(body as JsonObject).some((sealed) => !isSealOf(account, sealed))) {
      refusals++;
      const error = style === "gemini"
        ? { code: 400, status: "INVALID_ARGUMENT", message: refusal }
        : { type: "invalid_request_error", code: null, message: refusal };
      return Response.json({ type: "error", error }, { status: 400 });
    }
    return Response.json(answer(seal(account, ++count), count));
  });
  const made: Vendor = {
    ...provider,
    secrets,
    failing: 0,
    get refusals() {
      return refusals;
    },
  };
  return made;
}

interface ProviderOptions {
  readonly port: number;
  readonly keys: readonly string[];
  readonly organization?: string;
}

function openWorld(
  style: VendorStyle,
  providers: readonly ProviderOptions[],
): Promise<TestGateway> {
  const env: Record<string, string> = {};
  const named: Record<string, unknown> = {};
  for (const [i, { port, keys, organization }] of providers.entries()) {
    const names = keys.map((key, k) => {
      const name = `KEY_${i}_${k}`;
      env[name] = key;
      return name;
    });
    named[`p${i}`] = {
      kind: "http",
      baseUrl: `http://127.0.0.1:${port}`,
      apiKeyEnv: names,
      ...(style === "messages" && { auth: "x-api-key" }),
      ...(organization !== undefined && { organization }),
    };
  }
  return openTestGateway({
    env,
    file: () => ({
      defaultModel: "m",
      providers: named,
      models: [{
        id: "m",
        kind: "chat",
        family: "test",
        price: { unit: "token", vndPerMtok: 8_300 },
        routes: providers.map((_, i) => ({
          provider: `p${i}`,
          model: "up",
          style,
          priority: i,
          ...(style === "gemini" && { facts: { thinking: "adaptive" } }),
        })),
      }],
    }),
  });
}

/** A client of a style, with the history that it sends back as it came. */
class Conversation {
  readonly #gateway: TestGateway;
  readonly #style: VendorStyle;
  readonly #key: string;
  readonly #history: JsonObject[];
  readonly lost: string[] = [];
  #calls = 0;

  constructor(gateway: TestGateway, style: VendorStyle, key: string, opening: string) {
    this.#gateway = gateway;
    this.#style = style;
    this.#key = key;
    this.#history = [this.#said(opening)];
  }

  #said(text: string): JsonObject {
    return this.#style === "gemini"
      ? { role: "user", parts: [{ text }] }
      : { role: "user", content: text };
  }

  #request(): { path: string; body: JsonObject } {
    switch (this.#style) {
      case "responses":
        return {
          path: "/v1/responses",
          body: {
            model: "m",
            store: false,
            include: ["reasoning.encrypted_content"],
            input: this.#history,
          },
        };
      case "messages":
        return {
          path: "/v1/messages",
          body: {
            model: "m",
            max_tokens: 4096,
            thinking: { type: "enabled", budget_tokens: 2048 },
            tools: [{ name: "read", input_schema: { type: "object" } }],
            messages: this.#history,
          },
        };
      case "gemini":
        return { path: "/v1beta/models/m:generateContent", body: { contents: this.#history } };
    }
  }

  /** The same conversation at another gateway. */
  movedTo(gateway: TestGateway, key: string): Conversation {
    const moved = new Conversation(gateway, this.#style, key, "");
    moved.#history.splice(0, 1, ...this.#history);
    return moved;
  }

  /** One step of a tool loop, or a new turn; fails if the gateway refuses it. */
  async step(isNewTurn: boolean): Promise<void> {
    if (isNewTurn) this.#history.push(this.#said(`And then ${this.#calls}?`));
    const { path, body } = this.#request();
    const response = await this.#gateway.fetch(
      bearerPost(`http://gateway${path}`, this.#key, body),
    );
    const answer = await response.json();
    assertEquals(response.status, 200, JSON.stringify(answer));
    this.lost.push(
      ...(response.headers.get("x-gateway-conversion") ?? "").split(" ").filter(Boolean),
    );
    this.#calls++;
    this.#take(answer);
  }

  #take(answer: JsonObject): void {
    if (this.#style === "responses") {
      for (const item of listOf(answer["output"])) {
        this.#history.push(item);
        const { type, call_id } = item;
        if (type === "function_call" && call_id !== undefined) {
          this.#history.push({ type: "function_call_output", call_id, output: "text" });
        }
      }
    } else if (this.#style === "messages") {
      const content = listOf(answer["content"]);
      this.#history.push({ role: "assistant", content });
      const results = content.filter(({ type }) => type === "tool_use").map(({ id }) => ({
        type: "tool_result",
        tool_use_id: id ?? "",
        content: "text",
      }));
      this.#history.push({ role: "user", content: results });
    } else {
      const [candidate] = listOf(answer["candidates"]);
      assert(isJsonObject(candidate?.["content"]));
      this.#history.push(candidate["content"], {
        role: "user",
        parts: [{ functionResponse: { name: "read", response: { text: "text" } } }],
      });
    }
  }
}

const styles = ["responses", "messages", "gemini"] as const;

for (const style of styles) {
  const seed = runSeed() ?? Math.floor(Math.random() * 2 ** 31);

  Deno.test(`20 ${style} conversations of 30 turns over two keys: each stays with its own, none is refused (seed ${seed})`, async () => {
    await using provider = vendor(style);
    const keys = ["secret-one", "secret-two"];
    await using gateway = await openWorld(style, [{ port: provider.port, keys }]);
    const { key } = await gateway.customer(1_000_000);
    const conversations = Array.from(
      { length: 20 },
      (_, i) => new Conversation(gateway, style, key, `Read file ${"abcdefghijklmnopqrst"[i]}`),
    );
    const random = seededRandom(seed);
    for (let turn = 0; turn < 30; turn++) {
      // In an order of its own, since keys that rotate would fall on the same conversations again.
      const order = conversations.map((conversation) => ({ conversation, at: random() }))
        .sort((a, b) => a.at - b.at);
      for (const { conversation } of order) await conversation.step(turn % 4 === 3);
    }
    assertEquals(provider.refusals, 0);
    assertEquals(conversations.flatMap(({ lost }) => lost), []);
    for (const secret of keys) assert(provider.secrets.includes(secret), "both keys are used");
  });

  Deno.test(`${style}: failovers in tool loops refuse nobody, and what was left out is named (seed ${seed})`, async () => {
    await using first = vendor(style);
    await using second = vendor(style);
    await using gateway = await openWorld(style, [
      { port: first.port, keys: ["secret-one"] },
      { port: second.port, keys: ["secret-two"] },
    ]);
    const random = seededRandom(seed);
    const { key } = await gateway.customer(1_000_000);
    let failovers = 0;
    let lastServed = first;
    for (let n = 0; n < 8; n++) {
      const opening = `Read ${"abcdefgh"[n]}`;
      const conversation = new Conversation(gateway, style, key, opening);
      let failed = 0;
      for (let turn = 0; turn < 18; turn++) {
        const served = first.secrets.length;
        // The route that the conversation is on fails once: three times in each conversation.
        const fails = turn > 1 && failed < 3 && random() < 0.4;
        if (fails) {
          lastServed.failing = 1;
          failed++;
        }
        await conversation.step(random() < 0.3);
        lastServed = first.secrets.length > served ? first : second;
        first.failing = second.failing = 0;
      }
      failovers += failed;
      if (failed > 0) assert(conversation.lost.length > 0, "named");
      // Breakers close again before the next conversation.
      await gateway.advance(120_000);
    }
    assert(failovers >= 12, `${failovers} failovers`);
    assertEquals(first.refusals + second.refusals, 0);
  });

  Deno.test(`${style}: keys of one organisation read what each of them sealed`, async () => {
    await using provider = vendor(style);
    const keys = ["secret-twin-1", "secret-twin-2"];
    await using gateway = await openWorld(style, [{
      port: provider.port,
      keys,
      organization: "org-3",
    }]);
    const { key } = await gateway.customer(1_000_000);
    const conversation = new Conversation(gateway, style, key, "Read it");
    for (let turn = 0; turn < 6; turn++) await conversation.step(false);
    assertEquals(new Set(provider.secrets).size, 1, "keys do not rotate in a conversation");
    assertEquals(conversation.lost, []);
  });

  Deno.test(`${style}: what another instance had sealed elsewhere is left out after one refusal`, async () => {
    await using first = vendor(style);
    await using second = vendor(style);
    const one = [{ port: first.port, keys: ["secret-one"] }];
    const other = [{ port: second.port, keys: ["secret-two"] }];
    await using before = await openWorld(style, one);
    await using after = await openWorld(style, other);
    const history = new Conversation(before, style, (await before.customer(1_000)).key, "Read it");
    await history.step(false);
    await history.step(false);
    const moved = history.movedTo(after, (await after.customer(1_000)).key);
    await moved.step(false);
    await moved.step(true);
    assertEquals(second.refusals, 1, "and later turns leave it out at once");
    assert(moved.lost.length > 0, "named");
  });
}
