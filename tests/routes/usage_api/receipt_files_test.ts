/** Receipts of every kind as rows of CSV and as JSON: known columns and members stay as they are, byte for byte. */
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import type { LedgerEntry } from "../../../kv/money/ledger/ledger.ts";
import { exportForms } from "../../../routes/usage_api/usage_export.ts";
import { receiptJson } from "../../../routes/usage_api/receipt_json.ts";
import { assertEquals } from "../../support/assert.ts";
import { assertKeepsCsv, assertKeepsJson } from "../../support/golden.ts";
import { receiptOf } from "../../support/worlds/money_world.ts";

function id<Kind extends "account" | "apiKey" | "request" | "ledger">(kind: Kind, text: string) {
  const parsed = parseId(kind, text);
  if (parsed === undefined) throw new Error(`${text} is no id`);
  return parsed;
}

const accountId = id("account", "acc_0mi000000000000000000000a");
const keyId = id("apiKey", "key_0mi000000000000000000000k");
// Half past midnight in Vietnam: in UTC the day before.
const startedAtMs = Date.UTC(2026, 10, 19, 17, 30, 5, 7);

const perUnit = (unit: "request" | "image" | "video" | "second" | "search") =>
  ({ unit, perUnitMicroVnd: 1_245_500_000n }) as const;
const tokenPrice = {
  unit: "token",
  inputPerMtokMicroVnd: 8_300_000_000n,
  outputPerMtokMicroVnd: 66_000_000_001n,
  cacheReadPerMtokMicroVnd: 830_000_000n,
  cacheWritePerMtokMicroVnd: 10_375_000_000n,
} as const;
const usage = { input: 900, cacheRead: 300, cacheWrite: 20, output: 211, reasoning: 50 };

/** Each kind of call, and each optional part of a receipt at least once. */
const receipts: readonly Partial<Receipt>[] = [
  { kind: "chat", style: "messages", usage, price: tokenPrice, firstOutputMs: 12.5, stream: true },
  {
    kind: "chat",
    style: "responses",
    tags: [{ key: "env", value: "prod" }, { key: "team", value: "search" }],
    mappedFrom: 'a "name", mapped',
    region: "sg",
    route: "p/m",
    serviceTier: "flex",
    catalogVersion: 7,
    heldMicroVnd: 3_605_310_001n,
    estimated: true,
    usage: { ...usage, cacheWriteHour: 5, inputAudio: 3, outputImage: 4 },
    price: {
      ...tokenPrice,
      cacheWriteHourPerMtokMicroVnd: 16_600_000_000n,
      inputAudioPerMtokMicroVnd: 1_000_000n,
      inputImagePerMtokMicroVnd: 2_000_000n,
      outputAudioPerMtokMicroVnd: 3_000_000n,
      outputImagePerMtokMicroVnd: 4_000_000n,
    },
    toolCharges: [
      { tool: "web_search", uses: 2, perUseMicroVnd: 250_500_000n },
      { tool: "code_execution", uses: 1, perUseMicroVnd: 800_000_000n },
    ],
    attempts: [
      { route: "q/m", outcome: "overloaded", ms: 3, region: "sg" },
      { route: "p/m", outcome: "ok", ms: 90.25, region: "vn" },
    ],
  },
  { stream: true, outcome: "broken", endCode: "upstream_timeout", shortfallMicroVnd: 449n },
  {
    status: 502,
    outcome: "failed",
    attempts: [{ route: "p/m", outcome: "upstream_unreachable", ms: 1 }],
    costMicroVnd: 0n,
  },
  { kind: "image", style: "images", units: 2, price: perUnit("image") },
  { kind: "speech", style: "speech", units: 1.5, price: perUnit("second") },
  { kind: "video", style: "videos", price: perUnit("video"), model: "=1+1" },
  { kind: "embedding", style: "embeddings", usage, price: tokenPrice },
  { kind: "transcription", style: "transcriptions", units: 61, price: perUnit("second") },
  { kind: "rerank", style: "rerank", units: 3, price: perUnit("search") },
  { kind: "moderation", style: "moderations", price: perUnit("request") },
  { kind: "completion", style: "completions", usage, price: tokenPrice },
  {
    ownKey: { priceMicroVnd: 40_000_001n, fee: 250 },
    costMicroVnd: 1_000_001n,
    route: "p/m",
    attempts: [
      { route: "q/m", outcome: "upstream_unreachable", ms: 3, ownKey: true },
      { route: "p/m", outcome: "ok", ms: 90.25, ownKey: true },
    ],
  },
];

const calls = receipts.map((some, at) => ({
  receipt: receiptOf(accountId, {
    requestId: id("request", `req_0mi00000000000000000000${String(at).padStart(2, "0")}`),
    keyId,
    startedAtMs: startedAtMs + at,
    ...some,
  }),
  keyName: at === 3 ? "" : "server",
}));

/** The video was given back. */
function refundOf({ requestId, kind, costMicroVnd }: Receipt): LedgerEntry | undefined {
  return kind !== "video" ? undefined : {
    ledgerId: id("ledger", "led_0mi00000000000000000000r0"),
    accountId,
    amountMicroVnd: costMicroVnd,
    kind: "refund",
    operationId: `refund:${requestId}`,
    reason: "",
    atMs: startedAtMs + 60_000,
  };
}

Deno.test("the CSV export keeps its columns for receipts of every kind", async () => {
  const rows = calls.map((call) => ({ ...call, refund: refundOf(call.receipt) }));
  const parts = await Array.fromAsync(exportForms.csv.write(ReadableStream.from([rows])));
  const file = new URL("golden/receipts.csv", import.meta.url);
  await assertKeepsCsv(file, parts.join(""));
});

Deno.test("JSON keeps its members for receipts of every kind", async () => {
  const rows = calls.map(({ receipt }) => receiptJson({ receipt, refund: refundOf(receipt) }));
  await assertKeepsJson(new URL("golden/receipts.jsonl", import.meta.url), rows);
});

/** What only the operator may know, and the owner, who is the reader. */
const unpublished: readonly (keyof Receipt)[] = ["accountId", "claimMicroVnd", "providerCost"];

Deno.test("each member of a receipt is published, or kept from customers on purpose", () => {
  const whole: Required<Receipt> = {
    requestId: id("request", "req_0mi0000000000000000000099"),
    accountId,
    keyId,
    kind: "chat",
    model: "m",
    mappedFrom: "n",
    style: "chat",
    route: "p/m",
    region: "sg",
    startedAtMs,
    latencyMs: 1,
    firstOutputMs: 1,
    status: 200,
    stream: true,
    outcome: "broken",
    usage,
    estimated: false,
    units: 1,
    price: tokenPrice,
    endCode: "call_timeout",
    serviceTier: "flex",
    mcpCalls: [{ server: "mcp.example.com", tool: "search", failed: true, ms: 12 }],
    toolCharges: [],
    catalogVersion: 1,
    tags: [{ key: "team", value: "search" }],
    costMicroVnd: 1n,
    shortfallMicroVnd: 0n,
    heldMicroVnd: 1n,
    claimMicroVnd: 1n,
    providerCost: { kind: "unknown" },
    ownKey: { priceMicroVnd: 1n, fee: 10_000 },
    attempts: [],
  };
  const read = new Set<string | symbol>();
  const receipt = new Proxy(whole, {
    get(target, name, receiver) {
      read.add(name);
      return Reflect.get(target, name, receiver);
    },
  });
  receiptJson({ receipt, refund: undefined });
  assertEquals(Object.keys(whole).filter((name) => !read.has(name)), [...unpublished]);
});
