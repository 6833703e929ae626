import { assert, assertEquals } from "../../../support/assert.ts";
import { inClientTerms } from "../../../../core/wire/stream/client_model.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { createNativePipe } from "../../../../core/wire/convert/dialects.ts";
import { errorBody } from "../../../../core/lib/errors/errors.ts";
import type { Json } from "../../../../core/lib/json/json.ts";

const names = { clientModel: "premium-1", upstreamModel: "vendor-9" };

function shown(style: Style, status: number, body: Json, native = true): Json | undefined {
  return shownText(style, status, JSON.stringify(body), native);
}

function shownText(style: Style, status: number, body: string, native = true): Json | undefined {
  const error = decodeProviderError(style, status, body, { native });
  const errorStyle = style === "messages" ? "messages" : "chat";
  return errorBody(inClientTerms(error, names), errorStyle, "req_1")["error"];
}

Deno.test("a vendor's refusal reaches clients of its style with its own codes and details", () => {
  const unsupported = {
    message: "Unsupported parameter: 'max_tokens' is not supported with this model.",
    type: "invalid_request_error",
    param: "max_tokens",
    code: "unsupported_parameter",
  };
  const failedCall = {
    message: "Failed to call a function. Please adjust your prompt.",
    type: "invalid_request_error",
    code: "tool_use_failed",
    failed_generation: '<function=read>{"path":"https://a.example.com/x"}</function>',
  };
  const tooManyPages = {
    type: "invalid_request_error",
    message: "too many pages",
    details: { error_visibility: "user_facing", limits: [100, "pages of vendor-9"] },
  };
  for (const style of ["chat", "responses"] as const) {
    assertEquals(shown(style, 400, { error: unsupported }), unsupported);
    assertEquals(shown(style, 400, { error: failedCall }), { ...failedCall, param: null });
  }
  assertEquals(
    shown("messages", 400, { type: "error", error: tooManyPages, request_id: "req_vendor" }),
    { ...tooManyPages, details: { ...tooManyPages.details, limits: [100, "pages of premium-1"] } },
  );
  // Another style's words mean nothing to the client; a code without a value says less than ours.
  const converted = shown("chat", 400, { error: { ...failedCall, code: null } }, false);
  assert(!JSON.stringify(converted).includes("failed_generation"));
  const long = { message: "maximum context length is 10 tokens", code: null };
  assertEquals(shown("chat", 400, { error: long }), {
    type: "invalid_request_error",
    message: "prompt is too long: maximum context length is 10 tokens",
    param: null,
    code: "context_length_exceeded",
  });
});

Deno.test("an error in a native stream keeps its vendor's codes and details", () => {
  const failedCall = {
    message: "Tool choice is required, but vendor-9 did not call a tool",
    type: "invalid_request_error",
    code: "tool_use_failed",
    failed_generation: "<f>",
    org_id: "org-1",
  };
  const context = { ...names, requestId: "req_1", clientWantsUsage: false, nowSeconds: 0 };
  const pipe = createNativePipe("chat", { ...context, injectedUsage: true });
  const frame = `event: error\ndata: ${JSON.stringify({ error: failedCall })}\n\n`;
  pipe.push(new TextEncoder().encode(frame));
  const { org_id: _, ...told } = failedCall;
  const message = "Tool choice is required, but premium-1 did not call a tool";
  const text = new TextDecoder().decode(pipe.end());
  assertEquals(JSON.parse(text.slice("data: ".length)), {
    error: { ...told, message, param: null },
  });
});

Deno.test("errors without an error object keep their code, as the vendors write them", () => {
  const flat = { object: "error", message: "No such voice", type: "invalid_voice", code: 3051 };
  assertEquals(shown("chat", 422, flat), {
    type: "invalid_voice",
    message: "No such voice",
    param: null,
    code: 3051,
  });
  assertEquals(shown("chat", 400, { detail: "No" }), {
    type: "invalid_request_error",
    message: "No",
    param: null,
    code: "invalid_request",
  });
});

Deno.test("what tells of the operator or of the provider is left out, at any depth", () => {
  const hidden = {
    message: "Bad at https://vendor.example.com/v1 with sk-abc123456",
    code: "bad_image",
    user_id: "user_77",
    organization: "org-77",
    metadata: {
      provider_name: "Supplier 77",
      raw: '{"key":"77"}',
      reasons: ["see api.vendor77.com", "vendor-9-2026 is old"],
      headers: { "x-77": "77" },
      deep: "(deep)",
    },
    __proto__: null,
  };
  // Engines whose JSON.stringify() recurses cannot write the nested value.
  const body = JSON.stringify({ error: hidden, request_id: "77", user: "77" })
    .replace('"(deep)"', `${"[".repeat(5_000)}"sk-abc77777"${"]".repeat(5_000)}`);
  const text = JSON.stringify(shownText("chat", 400, body));
  assert(!text.includes("77") && !text.includes("vendor"), text);
  assert(text.includes('"code":"bad_image"') && text.includes("premium-1 is old"), text);
});

Deno.test("the operator's affairs and outages stay in our words", () => {
  const error = { message: "vendor trouble", type: "t77", code: "c77", param: "p77" };
  for (const status of [401, 402, 403, 500, 503, 529]) {
    const text = JSON.stringify(shown("chat", status, { error }));
    assert(!text.includes("77"), `${status} ${text}`);
  }
  const missing = { message: "The model `vendor-9` does not exist", code: "model_not_found_77" };
  assert(!JSON.stringify(shown("chat", 404, { error: missing })).includes("77"));
});
