/**
 * A vendor with a scripted model on a loopback port. It answers in the four chat styles, refuses what the real vendors
 * refuse, calls the agent's own tools step by step, and fails on demand.
 */
import type { Style } from "../../core/wire/contract/contract.ts";
import { validateRequest } from "../../sandbox/vendor_validators/validators.ts";
import { tryParseExactly } from "../../core/lib/json/exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { hashHex } from "../../core/lib/hash/short_hash.ts";
import { chatEvents, chatOverload, readChat, withoutReasoning } from "./chat_script.ts";
import { geminiEvents, geminiOverload, geminiProofRefusal, readGemini } from "./gemini_script.ts";
import {
  messagesEvents,
  messagesOverload,
  messagesProofRefusal,
  readMessages,
} from "./messages_script.ts";
import { readResponses, responsesEvents, responsesOverload } from "./responses_script.ts";
import type {
  ScriptedCall,
  ScriptedEvent,
  ScriptedRequest,
  ScriptedTurn,
} from "./scripted_turn.ts";
import { wholeChat, wholeGemini, wholeMessages, wholeResponses } from "./whole_answers.ts";

/** What goes wrong with one request. */
export type Trouble =
  | { readonly kind: "none" }
  /** Sends the head and the first event, then nothing for this time. */
  | { readonly kind: "silence"; readonly silentMs: number }
  /** Sends an error event of the vendor after the first words. */
  | { readonly kind: "overload_in_stream" }
  | { readonly kind: "server_error" }
  /** Sends words without end, until the client leaves. */
  | { readonly kind: "endless"; readonly paceMs: number };

/** The next tool call; `undefined` ends the loop with a text. */
export type Script = (
  request: ScriptedRequest,
) => Omit<ScriptedCall, "id"> | undefined;

export interface Seen {
  readonly style: Style;
  /** Which provider of the gateway asked: the first part of the path. */
  readonly provider: string;
  readonly request: ScriptedRequest;
  /** Results of tools in the history. */
  readonly step: number;
  outcome: "refused" | "failed" | "completed" | "left";
  turn: ScriptedTurn | undefined;
  refusal?: string;
}

export interface ScriptedUpstreamOptions {
  /** The only model name that the vendor knows. */
  readonly model: string;
  readonly script: Script;
  /** Asked for each request; `earlier` are those that came before with the same step. */
  readonly trouble?: (seen: Seen, earlier: number) => Trouble;
}

const finalText = "All done: the note now says beta, as you asked.";

const readers = {
  messages: readMessages,
  chat: readChat,
  responses: readResponses,
  gemini: readGemini,
};
const writers = {
  messages: messagesEvents,
  chat: chatEvents,
  responses: responsesEvents,
  gemini: geminiEvents,
};
const overloads: Readonly<Record<Style, string>> = {
  messages: written(messagesOverload),
  chat: written(chatOverload),
  responses: written(responsesOverload),
  gemini: `${JSON.stringify(geminiOverload)}\n\n`,
};
const wholes = {
  messages: wholeMessages,
  chat: wholeChat,
  responses: wholeResponses,
  gemini: wholeGemini,
};
const proofRefusals: Partial<Record<Style, (request: ScriptedRequest) => string | undefined>> = {
  messages: messagesProofRefusal,
  gemini: geminiProofRefusal,
};
const paths: readonly (readonly [end: RegExp, style: Style])[] = [
  [/\/messages$/, "messages"],
  [/\/chat\/completions$/, "chat"],
  [/\/responses$/, "responses"],
  [/\/models\/(?<model>.+):(?<operation>generateContent|streamGenerateContent)$/, "gemini"],
];

// Each route and key is an account of its own: what one has sealed, the others refuse.

/** Members that hold something sealed. */
const sealed = /"(encrypted_content|signature|thoughtSignature|thought_signature)":"([^"]+)"/g;
/** The beginning of what an account seals: characters of base64, a multiple of four. */
const accountMark = /Acct[0-9a-f]{8}/g;

function markOf(provider: string, headers: Headers): string {
  const key = headers.get("x-api-key") ?? headers.get("x-goog-api-key") ??
    headers.get("authorization") ?? "";
  return `Acct${hashHex(`${provider} ${key}`).slice(0, 8)}`;
}

/** What vendors of each style say of a seal that another account made. */
const foreignSeal: Readonly<Record<Style, string>> = {
  messages: "messages: Invalid `signature` in `thinking` block",
  chat: "Thought signature is not valid",
  responses: "The encrypted content could not be verified",
  gemini: "Thought signature is not valid",
};

/** Returns the style of a path, and what it says of a request: the model and the choice of streaming. */
function endpointOf(
  path: string,
): { readonly style: Style; readonly members: JsonObject } | undefined {
  for (const [end, style] of paths) {
    const found = end.exec(path);
    if (found === null) continue;
    const { model, operation } = found.groups ?? {};
    const members = model === undefined
      ? {}
      : { model: decodeURIComponent(model), stream: operation === "streamGenerateContent" };
    return { style, members };
  }
  return undefined;
}

export class ScriptedUpstream implements AsyncDisposable {
  readonly seen: Seen[] = [];
  readonly #options: ScriptedUpstreamOptions;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #gone = new AbortController();

  constructor(options: ScriptedUpstreamOptions) {
    this.#options = options;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => this.#answer(request),
    );
  }

  /** `http://127.0.0.1:port`; a provider of the gateway appends its own name. */
  get address(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Requests of the tool loop, in order: those that offer tools. */
  get loop(): readonly Seen[] {
    return this.seen.filter(({ request }) => request.tools.length > 0);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const endpoint = endpointOf(pathname);
    const provider = pathname.split("/")[1] ?? "";
    const mark = markOf(provider, request.headers);
    const text = await request.text();
    const isForeign = text.match(accountMark)?.some((found) => found !== mark) ?? false;
    const body: Json = tryParseExactly(text.replaceAll(mark, "")) ?? null;
    if (endpoint === undefined || !isJsonObject(body)) {
      return refusal(404, `no endpoint ${pathname}`);
    }
    const { style, members } = endpoint;
    const read = readers[style]({ ...body, ...members });
    const seen: Seen = {
      style,
      provider,
      request: read,
      step: read.toolResults,
      outcome: "refused",
      turn: undefined,
    };
    const earlier = this.loop.filter(({ step }) => step === seen.step).length;
    this.seen.push(seen);
    const betas = request.headers.get("anthropic-beta")?.split(",") ?? [];
    const wrong = isForeign
      ? foreignSeal[style]
      : this.#refusalOf(seen, betas.map((beta) => beta.trim()));
    if (wrong !== undefined) {
      seen.refusal = wrong;
      return refusal(400, wrong);
    }
    const trouble = read.tools.length > 0 && this.#options.trouble?.(seen, earlier) || {
      kind: "none",
    } as const;
    seen.outcome = "failed";
    if (trouble.kind === "server_error") {
      return refusal(500, "Internal server error");
    }
    const turn = seen.turn = this.#turnOf(read);
    // Codex keeps the finished reasoning of an answer that failed, and its vendor refuses it without what follows.
    const isKept = trouble.kind === "overload_in_stream" &&
      style === "responses";
    if (isKept) seen.turn = { ...turn, thinking: "" };
    const events = [...writers[style](read, seen.turn ?? turn)];
    const marked = (value: Json): Json =>
      JSON.parse(JSON.stringify(value).replaceAll(sealed, `"$1":"${mark}$2"`));
    if (!read.stream) {
      if (trouble.kind === "silence") await this.#wait(trouble.silentMs);
      seen.outcome = "completed";
      return Response.json(marked(wholes[style](events)));
    }
    const own = events.map(({ value, ...event }) => ({ ...event, value: marked(value) }));
    const stream = ReadableStream.from(this.#say(seen, own, trouble));
    return new Response(stream.pipeThrough(new TextEncoderStream()), {
      headers: { "content-type": "text/event-stream" },
    });
  }

  #refusalOf(
    { style, request }: Seen,
    betas: readonly string[],
  ): string | undefined {
    if (request.model !== this.#options.model) {
      return `The model ${request.model} does not exist`;
    }
    const body = style === "chat" ? withoutReasoning(request.body) : request.body;
    return validateRequest(style, body, betas) ?? proofRefusals[style]?.(request);
  }

  #turnOf(request: ScriptedRequest): ScriptedTurn {
    const due = request.tools.length > 0 ? this.#options.script(request) : undefined;
    const promptTokens = Math.ceil(JSON.stringify(request.body).length / 4);
    const cacheRead = request.toolResults > 0 ? Math.floor(promptTokens / 2) : 0;
    return {
      thinking: "The note must be edited.",
      text: due === undefined ? finalText : "I edit the note.",
      call: due && { id: `scripted${request.toolResults}`, ...due },
      usage: { input: promptTokens - cacheRead, cacheRead, output: 40 },
    };
  }

  async *#say(
    seen: Seen,
    events: readonly ScriptedEvent[],
    trouble: Trouble,
  ): AsyncGenerator<string> {
    let left = true;
    try {
      if (trouble.kind === "endless") {
        return yield* this.#endless(events, trouble.paceMs);
      }
      const [first, ...rest] = events;
      yield written(first!);
      if (trouble.kind === "silence") await this.#wait(trouble.silentMs);
      if (trouble.kind === "overload_in_stream") {
        yield rest.slice(0, firstWord(rest) + 1).map(written).join("");
        yield overloads[seen.style];
        left = false;
        return;
      }
      // Sent together with the end: a client that gets it has the whole answer.
      seen.outcome = "completed";
      left = false;
      yield rest.map(written).join("") +
        (seen.style === "chat" ? "data: [DONE]\n\n" : "");
    } finally {
      if (left) seen.outcome = "left";
    }
  }

  /** The opening of the answer, and its first words again and again; bounded by what a test can wait for. */
  async *#endless(
    events: readonly ScriptedEvent[],
    paceMs: number,
  ): AsyncGenerator<string> {
    const word = events.findIndex(({ value }) => JSON.stringify(value).includes("edit "));
    yield events.slice(0, word).map(written).join("");
    for (let i = 0; i < 10_000; i++) {
      yield written(events[word]!);
      await this.#wait(paceMs);
    }
  }

  /** Waits, at most until the vendor stops. */
  #wait(timeMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeMs);
    this.#gone.signal.addEventListener("abort", () => resolve(), {
      once: true,
    });
    return promise.finally(() => clearTimeout(timer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gone.abort();
    await this.#server.shutdown();
  }
}

/** The position of the second word in the text of a step, which is output that a client sees. */
function firstWord(events: readonly ScriptedEvent[]): number {
  return events.findIndex(({ value }) => JSON.stringify(value).includes('"edit "'));
}

function written({ name, value }: ScriptedEvent): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`;
}

function refusal(status: number, message: string): Response {
  const type = status === 500 ? "api_error" : "invalid_request_error";
  const body: JsonObject = {
    type: "error",
    error: { type, message, code: null, param: null },
  };
  return Response.json(body, { status });
}
