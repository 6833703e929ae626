/** How a provider's error is classified (docs/internals/WIRE_FORMATS.md#errors). */
import { assert, assertEquals } from "../../../support/assert.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { errorBody, type ErrorCode } from "../../../../core/lib/errors/errors.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";

const chat = (message: string, more: JsonObject = {}): string =>
  JSON.stringify({
    error: { message, type: "invalid_request_error", param: null, code: null, ...more },
  });
const messages = (type: string, message: string): string =>
  JSON.stringify({ type: "error", error: { type, message }, request_id: "req_upstream" });

function read(status: number, body: string | Json) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const error = decodeProviderError("chat", status, text);
  return [error.status, error.code, error.message] as const;
}

Deno.test("the status decides, the provider's words are kept", () => {
  const rows: readonly (readonly [number, string, number, ErrorCode, string])[] = [
    [400, chat("Bad temperature"), 400, "invalid_request", "Bad temperature"],
    [
      400,
      messages("invalid_request_error", "Bad max_tokens"),
      400,
      "invalid_request",
      "Bad max_tokens",
    ],
    [404, chat("No such file"), 404, "not_found", "No such file"],
    [408, chat("Too slow"), 504, "upstream_timeout", "Too slow"],
    [413, messages("request_too_large", "Too big"), 413, "request_too_large", "Too big"],
    [422, '{"detail":"top_k: extra"}', 422, "invalid_request", "top_k: extra"],
    [
      422,
      '{"detail":[{"loc":["body","messages"],"msg":"field required","type":"missing"}]}',
      422,
      "invalid_request",
      "messages: field required",
    ],
    [422, "{}", 422, "invalid_request", "The provider of this model refused the request"],
    [400, '{"error":{}}', 400, "invalid_request", "The provider of this model refused the request"],
    [429, "{}", 429, "rate_limit_exceeded", "The provider of this model limits the rate of calls"],
    [429, messages("rate_limit_error", "Slow down"), 429, "rate_limit_exceeded", "Slow down"],
    [
      429,
      chat("Slow down", { code: "rate_limit_exceeded" }),
      429,
      "rate_limit_exceeded",
      "Slow down",
    ],
    [500, messages("api_error", "Internal"), 502, "upstream_unreachable", "Internal"],
    [502, chat("Bad gateway"), 502, "upstream_unreachable", "Bad gateway"],
    [503, chat("Busy"), 503, "service_unavailable", "Busy"],
    [504, chat("Late"), 504, "upstream_timeout", "Late"],
    [529, messages("overloaded_error", "Overloaded"), 529, "overloaded", "Overloaded"],
    [498, chat("Full", { code: "over_capacity" }), 529, "overloaded", "Full"],
  ];
  for (const [status, body, ours, code, message] of rows) {
    assertEquals(read(status, body), [ours, code, message]);
  }
});

Deno.test("what lies between the operator and the provider is never the caller's mistake", () => {
  const secrets: readonly (readonly [number, string])[] = [
    [401, chat("Incorrect API key provided: sk-abc1234567", { code: "invalid_api_key" })],
    [401, messages("authentication_error", "invalid x-api-key")],
    [402, chat("Pay up")],
    [403, messages("permission_error", "Your organization is not allowed")],
    [429, chat("You exceeded your current quota", { code: "insufficient_quota" })],
    [429, chat("x", { type: "insufficient_quota", code: "credit_balance_exhausted" })],
    [400, messages("invalid_request_error", "Your credit balance is too low to access the API")],
    [400, messages("invalid_request_error", "You have reached your specified API usage limits")],
    [400, chat("API key not valid. Please pass a valid API key.")],
  ];
  for (const [status, body] of secrets) {
    assertEquals(read(status, body), [
      502,
      "upstream_unreachable",
      "The provider of this model refused the call for reasons on our side",
    ], body);
  }
});

Deno.test("a model that the provider does not have is told without the provider's name for it", () => {
  const bodies = [
    chat("The model `gpt-9` does not exist", { code: "model_not_found" }),
    messages("not_found_error", "model: claude-9"),
    "<html>not found</html>",
  ];
  for (const body of bodies) {
    assertEquals(read(404, body), [
      404,
      "model_not_found",
      "The provider does not know this model",
    ]);
  }
});

Deno.test("a prompt that is too long says so in the words that agents look for", () => {
  const texts: readonly (readonly [string, string])[] = [
    [
      "prompt is too long: 210000 tokens > 200000 maximum",
      "prompt is too long: 210000 tokens > 200000 maximum",
    ],
    [
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
      "prompt is too long: 9001 tokens > 8192 maximum",
    ],
    [
      "This model's maximum context length is 4097 tokens, however you requested 6,000 tokens (5000 in the messages, 1000 in the completion).",
      "prompt is too long: 5000 tokens > 4097 maximum",
    ],
    [
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      "prompt is too long: 1200000 tokens > 1048576 maximum",
    ],
    [
      "Your input exceeds the context window",
      "prompt is too long: Your input exceeds the context window",
    ],
  ];
  for (const [text, expected] of texts) {
    for (const body of [chat(text), messages("invalid_request_error", text)]) {
      assertEquals(read(400, body), [400, "context_length_exceeded", expected]);
    }
  }
  const coded = decodeProviderError(
    "chat",
    400,
    chat("Too much", { code: "context_length_exceeded" }),
  );
  assertEquals(coded.message, "prompt is too long: Too much");
  assertEquals(errorBody(coded, "chat", "req_1").error, {
    type: "invalid_request_error",
    message: "prompt is too long: Too much",
    param: null,
    code: "context_length_exceeded",
  });
});

Deno.test("a filter's refusal is the caller's, whatever its status", () => {
  for (const status of [400, 403]) {
    const body = chat("Refused by policy", { code: "content_policy_violation" });
    assertEquals(read(status, body)[1], "content_policy_violation");
  }
});

Deno.test("the shapes of all vendors are read", () => {
  const shapes: readonly (readonly [Json, string])[] = [
    [{ detail: "Bad field" }, "Bad field"],
    [{ code: "invalid", error: "Bad field" }, "Bad field"],
    [{ error: { code: 400, message: "Bad field" } }, "Bad field"],
    [{ error: { code: "400", message: "Bad field" } }, "Bad field"],
    [{ object: "error", message: "Bad field", type: "BadRequestError", code: 400 }, "Bad field"],
    ["Bad field", "Bad field"],
  ];
  for (const [body, message] of shapes) {
    const text = JSON.stringify(body);
    assertEquals(decodeProviderError("chat", 400, text).message, message, text);
  }
});

Deno.test("pages of a proxy, empty and cut bodies get a text of ours", () => {
  for (
    const body of [
      "",
      "<html><body>nginx at 10.0.0.1</body></html>",
      '{"error":{"mess',
      "null",
      "7",
    ]
  ) {
    for (const status of [400, 500, 502, 503, 504, 520]) {
      const error = decodeProviderError("messages", status, body);
      assertEquals(error.message.startsWith("The provider of this model"), true, error.message);
    }
  }
  assertEquals(decodeProviderError("chat", 503, "").code, "service_unavailable");
  assertEquals(decodeProviderError("chat", 520, "").code, "upstream_unreachable");
});

Deno.test("hosts, keys and organisations are removed from what is kept", () => {
  const error = decodeProviderError(
    "chat",
    400,
    chat(
      "org-AbC123456 at https://api.example.com/v1 with key sk-proj-1234567890 at 10.1.2.3:8080",
    ),
  );
  for (const secret of ["org-AbC", "example.com", "sk-proj", "10.1.2.3"]) {
    assert(!error.message.includes(secret), error.message);
  }
});

Deno.test("a 200 that holds an error is judged by its code", () => {
  const overloaded = { error: { code: 529, message: "Overloaded" } };
  assertEquals(read(200, overloaded), [529, "overloaded", "Overloaded"]);
  assertEquals(read(200, { error: { code: 401, message: "bad key" } })[1], "upstream_unreachable");
  assertEquals(read(200, { choices: [] })[1], "upstream_unreachable");
  assertEquals(read(302, "")[1], "upstream_unreachable");
});

Deno.test("retry-after is kept where waiting helps, the field where it is the client's own", () => {
  const limited = decodeProviderError("chat", 429, chat("Slow"), { retryAfterSeconds: 7 });
  assertEquals([limited.retryAfterSeconds, limited.retry], [7, true]);
  const bad = decodeProviderError("chat", 400, chat("Bad", { param: "temperature" }), {
    retryAfterSeconds: 7,
  });
  assertEquals([bad.retryAfterSeconds, bad.param], [undefined, undefined]);
  const native = decodeProviderError("chat", 400, chat("Bad", { param: "temperature" }), {
    native: true,
  });
  assertEquals(native.param, "temperature");
  const faults = JSON.stringify({ detail: [{ loc: ["body", "messages", 0], msg: "too short" }] });
  const params = [true, false].map((isNative) =>
    decodeProviderError("chat", 422, faults, { native: isNative }).param
  );
  assertEquals(params, ["messages.0", undefined]);
});
