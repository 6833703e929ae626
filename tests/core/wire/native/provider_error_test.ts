import { assert, assertEquals } from "../../../support/assert.ts";
import { maxErrorMessageChars, publicMessage } from "../../../../core/wire/errors/error_fields.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { readProviderError } from "../../../../core/wire/errors/provider_error.ts";
import type { Json } from "../../../../core/lib/json/json.ts";

Deno.test("errors are told apart by code, then type", () => {
  const e = (error: Json) => ({ error });
  const cases: [Json, string][] = [
    [e({ type: "overloaded_error", message: "x" }), "overloaded"],
    [e({ type: "rate_limit_error", message: "x" }), "rate_limit_exceeded"],
    [
      e({ type: "requests", code: "rate_limit_exceeded", message: "x" }),
      "rate_limit_exceeded",
    ],
    [e({ code: "429", message: "x" }), "rate_limit_exceeded"],
    [e({ type: "timeout_error", message: "x" }), "upstream_timeout"],
    [e({ type: "invalid_request_error", code: null, message: "x" }), "invalid_request"],
    [
      e({ type: "invalid_request_error", code: "context_length_exceeded", message: "x" }),
      "context_length_exceeded",
    ],
    [
      e({
        type: "invalid_request_error",
        message: "prompt is too long: 210000 tokens > 200000 maximum",
      }),
      "context_length_exceeded",
    ],
    [e({ code: "content_filter", message: "x" }), "content_policy_violation"],
    [e({ type: "api_error", message: "x" }), "upstream_unreachable"],
    ["<html>", "upstream_unreachable"],
    [e({ code: 503, message: "x" }), "service_unavailable"],
    [null, "upstream_unreachable"],
  ];
  for (const [body, code] of cases) {
    assertEquals<string>(readProviderError(body).code, code, JSON.stringify(body));
  }
});

Deno.test("trouble with the operator's own account is no error of the caller and says nothing", () => {
  const words = ["authentication_error", "permission_error", "billing_error", "insufficient_quota"];
  for (const type of [...words, "invalid_api_key", "model_not_found", "credit_balance_exhausted"]) {
    const error = readProviderError({ error: { type, message: "Account 42 of Example Ltd." } });
    assertEquals(error.code, "upstream_unreachable", type);
    assert(!error.message.includes("Example"), type);
  }
});

Deno.test("messages are passed on without addresses, keys and control characters", () => {
  const cases: [string, string][] = [
    ["Overloaded", "Overloaded"],
    ["messages.0.content: must be non-empty", "messages.0.content: must be non-empty"],
    ["prompt is too long: 5 tokens > 3 maximum", "prompt is too long: 5 tokens > 3 maximum"],
    ["Invalid key provided", "Invalid key provided"],
    ["see https://platform.example.com/docs?x=1 now", "see [removed] now"],
    ["connect to api.example.com:443 failed", "connect to [removed] failed"],
    ["dial tcp 10.0.3.4:8080: refused", "dial tcp [removed]: refused"],
    ["bad key sk-proj-Ab12cd34Ef", "bad key [removed]"],
    ["org-9aBcDeFgH1 is over its limit", "[removed] is over its limit"],
    ["sent Bearer abc.def", "sent [removed]"],
    ["line\r\n\u0000two", "line two"],
  ];
  for (const [text, expected] of cases) assertEquals(publicMessage(text), expected);
});

Deno.test("a refusal without a text says what its status says", () => {
  const cases: [Json, number, string][] = [
    [{}, 422, "The provider of this model refused the request"],
    [{ detail: [] }, 400, "The provider of this model refused the request"],
    [{ error: {} }, 429, "The provider of this model limits the rate of calls"],
    [{ error: { type: "overloaded_error" } }, 500, "The provider of this model is overloaded"],
    [{}, 500, "The provider of this model failed"],
  ];
  for (const [body, status, message] of cases) {
    assertEquals(
      decodeProviderError("chat", status, JSON.stringify(body)).message,
      message,
      JSON.stringify(body),
    );
  }
});

Deno.test("a list of faults is told by its first, with the field where it has one", () => {
  const faults: [Json, string][] = [
    [{ loc: ["body", "messages"], msg: "field required" }, "messages: field required"],
    [
      { loc: ["body", "messages", 0, "content"], msg: "too short" },
      "messages.0.content: too short",
    ],
    [{ loc: ["query", "page"], msg: "no number" }, "query.page: no number"],
    [{ loc: ["body"], msg: "no JSON" }, "no JSON"],
    [{ loc: "body", msg: "no JSON" }, "no JSON"],
    [{ loc: ["body", "x".repeat(1_000)], msg: "unknown" }, "unknown"],
    [{ loc: ["body", "tools"], msg: "see https://example.com" }, "tools: see [removed]"],
    [{ loc: ["body", "tools"] }, "The provider of this model refused the request"],
    ["no JSON", "no JSON"],
    [7, "The provider of this model refused the request"],
  ];
  for (const [fault, message] of faults) {
    const error = decodeProviderError(
      "chat",
      422,
      JSON.stringify({ detail: [fault, { msg: "another" }] }),
    );
    assertEquals([error.code, error.message], ["invalid_request", message]);
  }
});

Deno.test("a long message is cut, also one made to be slow to clean", () => {
  for (const text of ["a.".repeat(4_000_000), "x".repeat(8_000_000), "sk-".repeat(1_000_000)]) {
    assert(publicMessage(text).length <= maxErrorMessageChars + 1);
  }
});
