import { assertEquals, assertThrows } from "../../../support/assert.ts";
import { tagsText } from "../../../../core/billing/usage/call_tags.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { readSentTags, sentAppName } from "../../../../core/calls/body/sent_tags.ts";
import type { RouteStyle } from "../../../../core/catalog/entries/model.ts";
import { newApiKey } from "../../../../core/people/api_keys/api_key.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Json } from "../../../../core/lib/json/json.ts";

interface Sent {
  readonly app?: string | undefined;
  readonly header?: string;
  readonly required?: readonly string[];
}

function read(
  style: RouteStyle,
  body: Json,
  { app, header, required }: Sent = {},
): string | undefined {
  const { outline } = parseJsonBody(new TextEncoder().encode(JSON.stringify(body)));
  const tags = readSentTags(style, outline, { header: header ?? null, app, required });
  return tags && tagsText(tags);
}

Deno.test("each style has its own fields for tags", () => {
  const body = {
    metadata: { team: "search", user_id: "m-1" },
    user: "u-1",
    labels: { cost: "c-1" },
  };
  const expected: Readonly<Record<RouteStyle, string>> = {
    chat: "team=search,user=u-1,user_id=m-1",
    responses: "team=search,user=u-1,user_id=m-1",
    completions: "team=search,user=u-1,user_id=m-1",
    messages: "user=m-1",
    gemini: "cost=c-1",
    converse: "user=u-1",
    images: "user=u-1",
    speech: "user=u-1",
    transcriptions: "user=u-1",
    videos: "user=u-1",
    embeddings: "user=u-1",
    moderations: "user=u-1",
    rerank: "user=u-1",
  };
  for (const [style, tags] of Object.entries(expected)) {
    assertEquals(read(style as RouteStyle, body), tags, style);
  }
});

Deno.test("the header wins over metadata, metadata over the end user, a newer name over an older", () => {
  const body = { metadata: { team: "a", user: "m" }, user: "old", safety_identifier: "new" };
  assertEquals(read("chat", body, { header: " team = b , env=prod" }), "env=prod,team=b,user=m");
  assertEquals(read("chat", { user: "old", safety_identifier: "new" }), "user=new");
});

Deno.test("fields that are no tags are left out, and the call has the others", () => {
  const long = "x".repeat(101);
  const cases: [Json, string | undefined][] = [
    [{}, undefined],
    [{ metadata: null, user: 7 }, undefined],
    [{ metadata: ["a"] }, undefined],
    [
      { metadata: { a: 1, b: { c: "d" }, "1c": "x", "d e": "x", e: "two words", f: long, g: "" } },
      undefined,
    ],
    [{ metadata: { __proto__x: "1", constructor: "c" } }, "constructor=c"],
    [{ metadata: { e: "two words", ok: "1" }, user: long }, "ok=1"],
    [{ metadata: { k: "v,w=x" } }, undefined],
  ];
  for (const [body, tags] of cases) assertEquals(read("chat", body), tags, JSON.stringify(body));
});

Deno.test("a tool that names itself in its headers is a tag, unless the call has one of that name", () => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, string | undefined])[] = [
    [{ "x-title": "Cline", "http-referer": "https://cline.bot" }, "app=Cline"],
    [{ "x-openrouter-title": "  Roo  Code! " }, "app=Roo-Code"],
    [{ "x-title": "***", "http-referer": "http://localhost:3000/a?b" }, "app=localhost:3000"],
    [{ "http-referer": "not a site" }, undefined],
    [{ "x-title": "x".repeat(101) }, undefined],
    [{ "x-title": newApiKey() }, undefined],
    [{ referer: "https://page.example" }, undefined],
  ];
  for (const [headers, tags] of cases) {
    assertEquals(read("chat", {}, { app: sentAppName(new Headers(headers)) }), tags);
  }
  assertEquals(read("chat", { metadata: { app: "own" } }, { app: "Cline" }), "app=own");
  assertEquals(read("chat", {}, { app: "Cline", header: "app=own" }), "app=own");
  assertEquals(read("chat", {}, { app: "Cline", required: ["app"] }), "app=Cline");
});

Deno.test("a call has at most ten tags, the header's first", () => {
  const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`m${at + 10}`, "x"]));
  const tags = read("chat", { metadata }, { header: "z=1" })?.split(",");
  assertEquals([tags?.length, tags?.at(-1), tags?.[0]], [10, "z=1", "m10=x"]);
});

Deno.test("a malformed header is refused with the reason", () => {
  const eleven = Array.from({ length: 11 }, (_, at) => `t${at}=1`).join();
  const cases: [header: string, reason: string][] = [
    ["", "must be pairs"],
    ["team", "must be pairs"],
    ["team=search,", "must be pairs"],
    ["=search", "a key is"],
    ["te am=search", "a key is"],
    [`${"k".repeat(41)}=1`, "a key is"],
    ["team=", "a value is"],
    ["team=two words", "a value is"],
    [`team=${"v".repeat(101)}`, "a value is"],
    ["team=tìm", "a value is"],
    ["team=a,team=b", "names team twice"],
    [eleven, "at most 10 tags"],
  ];
  for (const [header, reason] of cases) {
    assertThrows(() => read("messages", {}, { header }), GatewayError, reason);
  }
});

Deno.test("a call without a required tag is refused, and the missing ones are named", () => {
  const required = ["team", "env"];
  assertEquals(
    read("chat", { metadata: { team: "a" } }, { required, header: "env=x" }),
    "env=x,team=a",
  );
  assertThrows(
    () => read("chat", { metadata: { team: "a" } }, { required }),
    GatewayError,
    "requires the tag env; send env=…",
  );
  assertThrows(() => read("gemini", {}, { required }), GatewayError, "requires the tags team, env");
});
