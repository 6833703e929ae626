/** What identifies the operator never reaches a client; what helps the client stays. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { drawn } from "../../../support/property.ts";
import { errorBody } from "../../../../core/lib/errors/errors.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { publicMessage } from "../../../../core/wire/errors/error_fields.ts";
import { readProviderError } from "../../../../core/wire/errors/provider_error.ts";
import type { ErrorRow } from "../../../../core/wire/errors/table/row.ts";
import { bodyOf, examples } from "./vendor_bodies.ts";

const long = "a1B2c3D4e5F6g7H8i9J0k1L2";

/** A key or an id in the form of each vendor. */
const secrets: readonly string[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek, Moonshot
  `sk-${long}`,
  `sk-proj-${long}`,
  `sk-ant-api03-${long}`,
  `sk-or-v1-${long}`,
  "sk-***7890",
  `gsk_${long}`,
  `xai-${long}`,
  `AIzaSy${long}`,
  `AKIA0123456789ABCDEF`,
  `ABSKQmVkcm9ja${long}`,
  `ya29.${long}`,
  `hf_${long}`,
  `r8_${long}`,
  `nvapi-${long}`,
  `pplx-${long}`,
  `csk-${long}`,
  `fw_${long}`,
  `tgp_v1_${long}`,
  `jina_${long}`,
  `pa-${long}`,
  `dapi0123456789abcdef0123`,
  `ghp_${long}`,
  `github_pat_${long}`,
  `eyJhbGciOiJIUzI1NiJ9.${long}.${long}`,
  `bce-v3/ALTAK-${long}`,
  `LTAI${long}`,
  `Bearer ${long}`,
  `org-${long}`,
  `proj_${long}`,
  `req_011Cdv3KhLWWi3ErrDsuQTYM`,
  `ep-20250101000000-abcde`,
  "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x",
  "projects/acme-prod-77/locations/us-central1",
  "accounts/acme-prod/deployments/x77",
  "8f3c1d2e-1234-4abc-8def-123456789abc",
  "021718067849899d92fcbe0865fdffdde7d1e0b6f1ab1234",
  "01JAB3F5XYZ7Q8R9S0T1V2W3X4",
  "ops@acme-prod.example.com",
  "https://console.acme-prod.example/billing",
  "10.20.30.40:8080",
  "api.acme-prod.internal",
];

/** Ids and names that are only known by the word before them. */
const labelled: readonly (readonly [label: string, value: string])[] = [
  ["Team: ", "00000077"],
  ["API key ID: ", "0077"],
  ["Request ID: ", "abc77"],
  ["request id: ", "2025010177"],
  ["Account ", "acme-prod-77"],
  ["your account ", "2100000077"],
  ["project '", "acme77'"],
  ["deployment `", "gpt77-prod`"],
  ["organization ", "acme_77"],
  ["tenant id ", "77aa"],
  ["Project: ", "Acme Ltd, "],
  ["Workspace: ", "Main hall)"],
];

Deno.test("keys and ids of all vendors' forms are removed, wherever they stand", () => {
  for (const secret of secrets) {
    for (
      const text of [
        secret,
        `Bad ${secret}.`,
        `(${secret})`,
        `key "${secret}", see`,
        `id=${secret};`,
      ]
    ) {
      const shown = publicMessage(text);
      const left = secret.replace(/^Bearer /, "").replaceAll("*", "");
      assert(!shown.includes(left), `${text}: ${shown}`);
      assert(shown.includes("[removed]"), shown);
    }
  }
  for (const [label, value] of labelled) {
    const shown = publicMessage(`Not allowed for ${label}${value} here`);
    assert(!shown.includes(value.replace(/['`,)]\s*$/, "")), shown);
  }
});

Deno.test("words, numbers, models, fields and the caller's own ids stay", () => {
  const kept = [
    "messages.0.content.1.tool_result: tool_use_id toolu_01A09q90qw90lq917835lq9 not found",
    "No tool output found for function call call_a1B2c3D4e5F6g7H8i9J0",
    "Item 'rs_68d1a2b3c4d5e6f708192a3b4c5d6e7f' of type 'reasoning' was provided without its item",
    "No such File object: file-AbC123dEf456GhI789",
    "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens",
    "claude-sonnet-4-5-20250929 and gpt-4o-mini-2024-07-18 take no images",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8 does not support tools",
    "Qwen2.5-Coder-32B-Instruct, llama-3.3-70b-versatile, gemini-2.5-flash-preview-09-2025",
    "Invalid 'tools[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'",
    "max_completion_tokens_details.reasoning_tokens must be an integer",
    "Your organization must be verified; the account and the project stay",
    "project: field required",
    "the request id is required",
    "Rate limit reached: Limit 30000, Used 20000, Requested 12000. Please try again in 3.2s.",
    "SAFETY_CHECK_TYPE_BIO, HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "text-embedding-3-small takes dimensions up to 1536",
  ];
  for (const text of kept) assertEquals(publicMessage(text), text);
});

/** Ids of the operator that are in the examples of the table. */
const inExamples =
  /org-abc123|ak-abc123|0217180678|2100000000|8f3c1d2e|acme|00000000|project_number:12|proj_abc|sk-proj|sk-abc|org_01abc|ep-2025|console\.|openrouter\.ai/;

Deno.test("no row shows a client an id of the operator, in no style, native or not, in answers and streams", () => {
  for (const { vendor, row } of drawn(examples)) {
    const body = bodyOf(vendor, row);
    const native = [true, false].map((isNative) =>
      decodeProviderError("chat", Math.max(row.status, 400), JSON.stringify(body), {
        native: isNative,
      })
    );
    for (const error of [...native, readProviderError(body)]) {
      for (const style of ["chat", "messages", "gemini"] as const) {
        const shown = JSON.stringify(errorBody(error, style, "req_1"));
        assert(!inExamples.test(shown), `${vendor.vendor}: ${shown}`);
      }
    }
  }
});

Deno.test("an identifier in any row's text or members is removed", () => {
  for (const [at, { vendor, row }] of drawn([...examples.entries()])) {
    const secret = secrets[at % secrets.length] ?? "";
    const told: ErrorRow = {
      ...row,
      says: `${row.says} (${secret})`,
      more: { ...row.more, metadata: { hint: `see ${secret}`, trace_id: secret, ids: [secret] } },
    };
    const json = JSON.stringify(bodyOf(vendor, told));
    const error = decodeProviderError("chat", Math.max(row.status, 400), json, { native: true });
    const shown = JSON.stringify(errorBody(error, "chat", "req_1"));
    assert(!shown.includes(secret.replace(/^Bearer /, "")), `${vendor.vendor}: ${shown}`);
  }
});
