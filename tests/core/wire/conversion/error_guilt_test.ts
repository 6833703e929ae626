/** Whose an error is: codes, types, fields and statuses decide, and never words that may quote the client. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { readProviderError } from "../../../../core/wire/errors/provider_error.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { decodeMediaRefusal } from "../../../../core/media/base/exchange.ts";
import { providerStyles } from "./provider_answers.ts";

/** An error object in the form of each vendor. */
const forms: readonly ((message: string, more?: JsonObject) => Json)[] = [
  (message, more = {}) => ({
    error: { message, type: "invalid_request_error", param: null, code: null, ...more },
  }),
  (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  (message) => ({ message }),
  (message) => ({ detail: message }),
  (message) => ({ object: "error", message, type: "BadRequestError", code: 400 }),
];

/** Texts of vendors about requests of the caller, each with something that he wrote himself. */
const quoting: readonly string[] = [
  "Invalid schema for function 'get_billing_portal': array schema missing items.",
  "Unknown parameter: 'api_key'.",
  "tools.0.custom.name: 'check_usage_limits' is already in use",
  "Invalid value: 'credit balance'. Supported values are: 'user'",
  "messages.2: tool_use ids were found without tool_result blocks: billing_1",
  "Invalid 'metadata.insufficient_quota': string too long",
  "Invalid schema for response_format 'x': Missing 'context length'.",
  "tools.3.description: 'Tells if the prompt is too long or the context window is full' is not allowed",
  "Unsupported value: 'maximum context length is 10 tokens, however you requested 20 tokens'",
];

const read = (status: number, body: Json, native = false) =>
  decodeProviderError("chat", status, JSON.stringify(body), { native });

Deno.test("a caller's own 400 stays his, whatever words it quotes: in his provider's words, not to be retried", () => {
  for (const style of providerStyles) {
    for (const form of forms) {
      for (const text of quoting) {
        for (const status of [400, 422]) {
          for (const native of [false, true]) {
            const body = JSON.stringify(form(text));
            const error = decodeProviderError(style, status, body, { native });
            assertEquals([error.code, error.status, error.retry], [
              "invalid_request",
              status,
              false,
            ]);
            assertEquals(error.message, text, body);
          }
        }
      }
    }
  }
});

Deno.test("what is between the operator and his vendor is told by code, type, reason or a vendor's own beginning", () => {
  const coded = (code: string, status: number): [number, Json] => [
    status,
    { error: { message: "See our pages", type: "error", code } },
  ];
  const rows: [number, Json][] = [
    coded("insufficient_quota", 429),
    coded("billing_hard_limit_reached", 400),
    coded("1113", 429),
    coded("Arrearage", 400),
    [429, {
      error: {
        message:
          "Your account is suspended due to insufficient balance, please recharge your account",
        type: "exceeded_current_quota_error",
      },
    }],
    [429, {
      error: { message: "Your account org-1 <ak-2> is suspended, please check your plan" },
    }],
    [400, {
      error: {
        code: 400,
        message: "x",
        status: "INVALID_ARGUMENT",
        details: [{
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "API_KEY_INVALID",
        }],
      },
    }],
    [400, { error: { message: "API key not valid. Please pass a valid API key." } }],
    [400, {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "Your credit balance is too low to access the Anthropic API.",
      },
    }],
  ];
  for (const [status, body] of rows) {
    const error = read(status, body);
    assertEquals([error.status, error.code], [502, "upstream_unreachable"], JSON.stringify(body));
    assert(!/recharge|suspended|credit|key/i.test(error.message), error.message);
    // In a stream, and in a success that holds an error, the same.
    const streamed = readProviderError(body);
    assertEquals(streamed.code, "upstream_unreachable");
    assert(!/recharge|suspended|credit|key/i.test(streamed.message), streamed.message);
  }
});

Deno.test("a 404 is about the model by its code, its field or a vendor's own beginning", () => {
  const rows: [Json, string][] = [
    [{ error: { message: "x", code: "model_not_found" } }, "model_not_found"],
    [{ error: { message: "x", param: "model" } }, "model_not_found"],
    [{ type: "error", error: { type: "not_found_error", message: "model: m" } }, "model_not_found"],
    [{ error: { message: "No endpoints found for m." } }, "model_not_found"],
    [{ error: { message: "The model `m` does not exist." } }, "model_not_found"],
    [{ error: { message: "models/m is not found for API version v1beta" } }, "model_not_found"],
    [{ error: { message: "No such File object: file-model-1" } }, "not_found"],
    [{ error: { message: "Item 'my model' not found" } }, "not_found"],
    [{ detail: "Not Found" }, "not_found"],
  ];
  for (const [body, code] of rows) {
    assertEquals<string>(read(404, body).code, code, JSON.stringify(body));
  }
});

Deno.test("a cap beyond the window is not a prompt that is too long", () => {
  const rows: [string, string][] = [
    [
      "This model's maximum context length is 32768 tokens. However, you requested 44000 tokens (12000 in the messages, 32000 in the completion). Please reduce the length of the messages or completion.",
      "12000 + 32000 > 32768",
    ],
    [
      "This endpoint's maximum context length is 32768 tokens. However, you requested about 44000 tokens (12000 of text input, 32000 in the output). Please reduce the length of either one.",
      "12000 + 32000 > 32768",
    ],
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 12000 input tokens (32000 > 32768 - 12000).",
      "12000 + 32000 > 32768",
    ],
    [
      "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 44000 tokens: 12000 tokens from the input messages and 32000 tokens for the completion.",
      "12000 + 32000 > 32768",
    ],
    [
      "input length and `max_tokens` exceed context limit: 12000 + 32000 > 32768, decrease input length or `max_tokens` and try again",
      "12000 + 32000 > 32768",
    ],
  ];
  for (const [text, numbers] of rows) {
    for (const code of [null, "context_length_exceeded"]) {
      const body = { error: { message: text, type: "invalid_request_error", code } };
      for (const error of [read(400, body), readProviderError(body)]) {
        assertEquals(error.code, "invalid_request", text);
        assert(error.message.includes(`exceed context limit: ${numbers}`), error.message);
        assert(!error.message.includes("prompt is too long"), error.message);
      }
      assertEquals(read(400, body, true).message, text);
    }
    // The same wordings, with a prompt that does not fit by itself.
    const long = text.replaceAll("12000", "40000");
    const error = read(400, { error: { message: long, type: "invalid_request_error" } });
    assertEquals(error.message, "prompt is too long: 40000 tokens > 32768 maximum");
  }
});

Deno.test("known wordings of a prompt that is too long are read behind the names that libraries put before them", () => {
  const text = "prompt is too long: 210000 tokens > 200000 maximum";
  for (
    const lead of [
      "",
      "litellm.ContextWindowExceededError: AnthropicException - ",
      "ValidationException: ",
      "<400> InternalError.Algo.InvalidParameter: ",
    ]
  ) {
    const error = read(400, { error: { message: lead + text } });
    assertEquals([error.code, error.message], ["context_length_exceeded", text], lead);
  }
});

Deno.test("the time to wait is read from the body where no header says it", () => {
  const rows: [Json, number | undefined][] = [
    [{
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        message: "Quota exceeded",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "21.4s" }],
      },
    }, 22],
    [{ error: { message: "Rate limit reached for m. Please try again in 21s." } }, 21],
    [{ error: { message: "Please try again in 6m0.5s." } }, 361],
    [{ error: { message: "Please try again in 250ms." } }, 1],
    [{ error: { message: "Please retry after 20 seconds." } }, 20],
    [{ error: { message: "Please retry in 12.3s." } }, 13],
    [{ error: { message: "Slow down", retry_after: 7 } }, 7],
    [{ error: { message: "Please try again later." } }, undefined],
    [{ error: { message: "Limit 30 per 60 s" } }, undefined],
  ];
  for (const [body, seconds] of rows) {
    const text = JSON.stringify(body);
    assertEquals(read(429, body).retryAfterSeconds, seconds, text);
    assertEquals(read(503, body).retryAfterSeconds, seconds, text);
    const told = decodeProviderError("chat", 429, text, { retryAfterSeconds: 3 });
    assertEquals(told.retryAfterSeconds, 3, "the header leads");
  }
  const callers = { error: { message: "Please try again in 21s.", type: "invalid_request_error" } };
  assertEquals(read(400, callers).retryAfterSeconds, undefined);
});

Deno.test("envelopes of aggregators are opened: clients see the vendor's reason", () => {
  const vendor = {
    type: "error",
    error: { type: "invalid_request_error", message: "max_tokens: 99999 > 64000" },
  };
  const long = {
    error: {
      message: "This model's maximum prompt length is 10 but the request contains 12 tokens.",
    },
  };
  const envelope = (raw: Json, code = 400) => ({
    error: { code, message: "Provider returned error", metadata: { provider_name: "X", raw } },
  });
  const rows: [Json, string][] = [
    [envelope(JSON.stringify(vendor)), "max_tokens: 99999 > 64000"],
    [envelope(vendor), "max_tokens: 99999 > 64000"],
    [envelope("temperature is not taken"), "temperature is not taken"],
    [envelope(JSON.stringify(long)), "prompt is too long: 12 tokens > 10 maximum"],
    [envelope(JSON.stringify(envelope(vendor))), "max_tokens: 99999 > 64000"],
    [{ error: { message: JSON.stringify(vendor) } }, "max_tokens: 99999 > 64000"],
    [envelope(""), "Provider returned error"],
  ];
  for (const [body, message] of rows) {
    assertEquals(read(400, body).message, message, JSON.stringify(body));
    assertEquals(readProviderError(body).message, message, JSON.stringify(body));
  }
  const balance = envelope(
    JSON.stringify({ error: { message: "x", code: "insufficient_quota" } }),
    429,
  );
  assertEquals(read(429, balance).status, 502);
});

Deno.test("the status leads on every endpoint, media too", () => {
  const body = JSON.stringify({ error: { message: "No", type: "invalid_request_error" } });
  const rows: [number, number, string][] = [
    [400, 400, "invalid_request"],
    [429, 429, "rate_limit_exceeded"],
    [500, 502, "upstream_unreachable"],
    [503, 503, "service_unavailable"],
    [529, 529, "overloaded"],
  ];
  for (const [status, ours, code] of rows) {
    for (
      const error of [
        decodeProviderError("chat", status, body),
        decodeMediaRefusal(status, body, undefined),
      ]
    ) {
      assertEquals<[number, string]>([error.status, error.code], [ours, code]);
    }
  }
});
