/**
 * A large request in outline gives the same facts as the whole value: what is refused and why, models and bounds,
 * pictures, addresses, billable features, and what a native body has to leave out.
 */
import * as fc from "../support/property.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { inputBound } from "../../core/calls/bounds/chat_bounds.ts";
import { roughInputTokens } from "../../core/billing/tokens/rough_estimate.ts";
import {
  continuesTurn,
  firstImagePath,
  hostedToolsAskedFor,
  readChatRequest,
  readCountTokensRequest,
} from "../../core/calls/request/chat_request.ts";
import { fetchedUrls } from "../../core/net/remote/fetched_urls.ts";
import { withoutForeignReasoning } from "../../core/calls/request/sealed_items.ts";
import { type JsonBody, parseJsonBody } from "../../core/calls/body/json_body.ts";
import { promptPrefixes } from "../../core/calls/bounds/seen_prompts.ts";
import { withoutStore } from "../../core/calls/exchange/item_tap.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type OutlineObject,
} from "../../core/lib/json/json.ts";
import { LongText } from "../../core/lib/json/scan/long_text.ts";
import { maxScannedBytes } from "../../core/lib/json/scan/scan.ts";
import { stringifyExactly } from "../../core/lib/runtime/built_ins.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import { findBillableFeatures } from "../../core/wire/billable_features/asked_for.ts";
import { mixesStylesInLoop } from "../../core/wire/mod.ts";
import { chatRequest } from "./random_chat.ts";
import { messagesRequest } from "./random_messages.ts";
import { responsesRequest } from "./random_responses.ts";
import { describeRecordings } from "./recordings.ts";

type TypedStyle = Exclude<Style, "gemini">;

const encode = (text: string) => new TextEncoder().encode(text);

/** What a call reads of a native request, or the error that refuses it. */
function factsOf(style: Style, body: OutlineObject, bodyBytes: number): unknown {
  const tried = (read: () => unknown) => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return { code: error.code, message: error.message, param: error.param };
    }
  };
  return {
    request: tried(() => readChatRequest(style, body)),
    counting: tried(() => readCountTokensRequest(body)),
    urls: tried(() => fetchedUrls(body).map(({ url, path }) => `${path} ${url}`)),
    image: firstImagePath(body),
    billable: findBillableFeatures(style, body),
    hosted: hostedToolsAskedFor({ style, body }),
    bound: inputBound({ body, bodyBytes, contextWindow: 200_000, hostedTools: 0 }),
    unstored: withoutStore(style, body, {}),
    midTurn: continuesTurn(style, body),
    mixes: mixesStylesInLoop(body),
  };
}

/** The same body, but parsed at once: white space makes it too long for an outline. */
function parsedAtOnce(text: string): JsonBody {
  return parseJsonBody(encode(text + " ".repeat(maxScannedBytes)));
}

function hasLongText(value: unknown): boolean {
  if (value instanceof LongText) return true;
  if (Array.isArray(value)) return value.some(hasLongText);
  return isJsonObject(value) && Object.values(value).some(hasLongText);
}

function checkSame(style: TypedStyle, text: string): JsonBody {
  const body = parseJsonBody(encode(text));
  const whole = parsedAtOnce(text);
  assertEquals([...body.fields], [...whole.fields]);
  const { length } = body.bytes;
  assertEquals(factsOf(style, body.outline, length), factsOf(style, whole.value, length));
  assertEquals(withoutForeignReasoning(style, body, {}), withoutForeignReasoning(style, whole, {}));
  const [estimate, exact] = [roughInputTokens(body.outline), roughInputTokens(whole.value)];
  assert(estimate >= exact && estimate <= exact * 4, `${estimate} for ${exact}`);
  assertEquals(stringifyExactly(body.value), stringifyExactly(whole.value));
  return body;
}

const addition = fc.oneof(
  fc.constantFrom(
    "",
    "lorem ipsum ".repeat(60),
    'a "quoted" line\n\twith code;\\n\n'.repeat(30),
    "tiếng Việt có dấu 𝄞 ".repeat(40),
  ),
  fc.nat(800).map((length) => "z".repeat(length)),
);
/** What takes the place of a whole string, and means something to somebody. */
const replacement = fc.constantFrom(
  `data:image/png;base64,${"iVBORw0KGgo".repeat(90)}`,
  `data:application/pdf;base64,${"JVBERi0xLjQ".repeat(90)}`,
  `https://example.com/${"a".repeat(700)}.pdf`,
  ` \n https://example.com/${"b".repeat(700)}.png`,
  `http://169.254.169.254/${"c".repeat(700)}`,
  `gs://bucket/${"d".repeat(700)}`,
  `ugw1.${"e".repeat(700)}`,
  `srvtoolu_ugw1${"f".repeat(700)}`,
  `web_search_${"g".repeat(700)}`,
  " ".repeat(900),
);

/** Changes strings anywhere in a request, so that many are long; even types and ids. */
function enlarged(value: Json, next: () => [string, string | undefined, number], name = ""): Json {
  if (typeof value === "string") {
    const [added, replaced, chance] = next();
    const isShort = ["type", "role", "model", "name", "mode", "effort"].includes(name);
    if (replaced !== undefined && chance % (isShort ? 40 : 6) === 0) return replaced;
    return isShort ? value : value + added;
  }
  if (Array.isArray(value)) return value.map((item) => enlarged(item, next, name));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) =>
    [key, enlarged(member ?? null, next, key)] as const
  );
  return Object.fromEntries(members);
}

const requests: Record<TypedStyle, fc.Arbitrary<JsonObject>> = {
  messages: messagesRequest,
  chat: chatRequest,
  responses: responsesRequest,
};

for (const style of ["messages", "chat", "responses"] as const) {
  Deno.test(`a random large ${style} request in outline gives the facts of its whole value`, () => {
    let outlined = 0;
    const choices = fc.array(
      fc.tuple(addition, fc.option(replacement, { nil: undefined }), fc.nat(1_000)),
      {
        minLength: 7,
        maxLength: 7,
      },
    );
    fc.assert(
      fc.property(requests[style], choices, fc.constantFrom(0, 1), (request, list, indent) => {
        let at = 0;
        const body = enlarged(request, () => list[at++ % list.length]!);
        const padded = isJsonObject(body) ? { ...body, user: "padding ".repeat(1_100) } : body;
        const { outline } = checkSame(style, JSON.stringify(padded, null, indent));
        if (hasLongText(outline)) outlined++;
      }),
      { numRuns: 150 },
    );
    assert(outlined > fc.casesOf(150) / 4, `${outlined} outlines`);
  });
}

describeRecordings("recorded requests in outline", (recordings) => {
  for (const { name, style, request } of recordings) {
    if (request === undefined || style === "gemini") continue;
    Deno.test(`${name}: its outline gives the facts of its whole value`, () => {
      checkSame(style, JSON.stringify({ ...request, user: "padding ".repeat(1_100) }));
    });
  }
});

Deno.test("the prompt of a conversation in outline begins with the prompt of its former turn", () => {
  const turn = (role: string, index: number) => ({
    role,
    content: `${index} ${"long text é ".repeat(200)}`,
  });
  const messages = Array.from({ length: 9 }, (_, i) => turn(i % 2 === 0 ? "user" : "assistant", i));
  const prefixesOf = (count: number, maxTokens: number) => {
    const body = { max_tokens: maxTokens, model: "m", messages: messages.slice(0, count) };
    const { outline } = parseJsonBody(encode(JSON.stringify(body)));
    assert(hasLongText(outline));
    return promptPrefixes("m", "messages", outline);
  };
  const first = prefixesOf(7, 7);
  const second = prefixesOf(9, 1_000);
  assertEquals(second.messages[6], first.whole);
  assert(second.whole?.hash !== first.whole?.hash);
});
