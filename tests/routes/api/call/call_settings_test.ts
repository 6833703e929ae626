/** Settings of calls that bound what requests contain and which models they may call, in every style. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { CallSettings } from "../../../../core/calls/request/call_settings.ts";
import { readRefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { parseId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { setCallSettings } from "../../../../kv/people/organisations/call_settings.ts";
import {
  preferringStyles,
  PreferringWorld,
  requestOf,
} from "../../../support/worlds/preferring_world.ts";

const price = { unit: "token", vndPerMtok: 1_000 };
const open = () =>
  PreferringWorld.open(
    ["a"],
    ["one", "two"].map((id) => ({
      id,
      kind: "chat",
      family: "test",
      vision: true,
      price,
      routes: [{ provider: "a", model: id }],
    })),
  );

/** A customer whose organisation has settings. */
async function customerWith({ gateway }: PreferringWorld, calls: CallSettings) {
  const customer = await gateway.customer(1_000);
  const { accountId } = customer;
  const nowMs = gateway.assembled.gateway.clock.nowMs();
  await setCallSettings(gateway.kv, accountId, { teamId: undefined, calls, nowMs });
  await gateway.assembled.gateway.control.refresh();
  return customer;
}

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const pdf = "JVBERi0xLjQK";
const url = (type: string, data: string) => `data:${type};base64,${data}`;

/** Messages with a part, in each style that has one. */
const parts = {
  image: {
    chat: { type: "image_url", image_url: { url: url("image/png", pixel) } },
    messages: { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
    responses: { type: "input_image", image_url: url("image/png", pixel) },
    gemini: { inlineData: { mimeType: "image/png", data: pixel } },
  },
  file: {
    chat: { type: "file", file: { filename: "a.pdf", file_data: url("application/pdf", pdf) } },
    messages: {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: pdf },
    },
    responses: { type: "input_file", filename: "a.pdf", file_data: url("application/pdf", pdf) },
    gemini: { inlineData: { mimeType: "application/pdf", data: pdf } },
  },
} as const;

/** Members of a request with one part in its message. */
function withPart(style: typeof preferringStyles[number], part: object): object {
  switch (style) {
    case "chat":
    case "messages":
      return { messages: [{ role: "user", content: [part] }] };
    case "responses":
      return { input: [{ role: "user", content: [part] }] };
    case "gemini":
      return { contents: [{ role: "user", parts: [part] }] };
  }
}

Deno.test("settings without images or files refuse such calls by the place of the first", async () => {
  await using world = await open();
  for (
    const [kind, settings] of [["image", { noImages: true }], ["file", { noFiles: true }]] as const
  ) {
    const { key, accountId } = await customerWith(world, settings);
    for (const style of preferringStyles) {
      world.asked.length = 0;
      const refused = await world.ask(
        key,
        requestOf(style, "one", withPart(style, parts[kind][style])),
      );
      assertEquals(refused.status, 403, refused.text);
      assertStringIncludes(refused.text, `allow no ${kind}s`);
      assertEquals(world.asked, []);
      const other = kind === "image" ? parts.file : parts.image;
      const taken = await world.ask(key, requestOf(style, "one", withPart(style, other[style])));
      assertEquals(taken.status === 403, false, taken.text);
      assertEquals((await world.ask(key, requestOf(style, "one"))).status, 200);
    }
    assertEquals(
      (await world.gateway.assembled.gateway.wallet.balance(accountId)).reservedMicroVnd,
      0n,
    );
  }
});

const card = { name: "card", pattern: "[0-9]{4}-[0-9]{4}" } as const;

/** Members of a request with a text in its message. */
function withText(style: typeof preferringStyles[number], text: string): object {
  switch (style) {
    case "chat":
    case "messages":
      return { messages: [{ role: "user", content: text }] };
    case "responses":
      return { input: text };
    case "gemini":
      return { contents: [{ role: "user", parts: [{ text }] }] };
  }
}

Deno.test("a rule refuses a request by its name, and nothing of the text is kept", async () => {
  await using world = await open();
  const { key, accountId } = await customerWith(world, { rules: [{ ...card, action: "refuse" }] });
  const { gateway } = world.gateway.assembled;
  const refusedIds: RequestId[] = [];
  for (const style of preferringStyles) {
    world.asked.length = 0;
    const members = withText(style, "My card is 1234-5678.");
    const refused = await world.ask(key, requestOf(style, "one", members));
    assertEquals(refused.status, 403, refused.text);
    assertStringIncludes(refused.text, "The rule card refuses this request");
    assertEquals(refused.text.includes("1234"), false);
    const id = parseId("request", refused.headers.get("x-request-id") ?? "");
    assert(id !== undefined);
    refusedIds.push(id);
    const asForm = { "content-type": "multipart/form-data; boundary=x" };
    const disguised = await world.ask(key, requestOf(style, "one", members), asForm);
    assertEquals(disguised.status, 415, disguised.text);
    assertEquals(world.asked, []);
    assertEquals((await world.ask(key, requestOf(style, "one"))).status, 200);
  }
  await gateway.refusedCalls.close();
  for (const id of refusedIds) {
    const row = await readRefusedCall(world.gateway.kv, id);
    assertEquals(row?.message, "The rule card refuses this request");
    assertEquals(Deno.inspect(row, { depth: 9 }).includes("1234"), false);
  }
  assertEquals((await world.receipts(accountId)).length, preferringStyles.length);
});

Deno.test("a rule masks text before a provider gets it, and the receipt names it", async () => {
  await using world = await open();
  const { key, accountId } = await customerWith(world, { rules: [{ ...card, action: "mask" }] });
  for (const style of preferringStyles) {
    world.asked.length = 0;
    const members = withText(style, "My card is 1234-5678.");
    const answer = await world.ask(key, requestOf(style, "one", members), {
      "x-gateway-tags": "team=search",
    });
    assertEquals(answer.status, 200, answer.text);
    assertStringIncludes(world.asked[0]?.body ?? "", "My card is [card].");
    const [receipt] = await world.receipts(accountId);
    assertEquals(receipt?.tags, [
      { key: "masked", value: "card" },
      { key: "team", value: "search" },
    ]);
    await world.ask(key, requestOf(style, "one"));
    assertEquals((await world.receipts(accountId))[0]?.tags, undefined);
  }
  await world.checkBooks();
});

Deno.test("earlier turns that were kept are masked by the rules of now", async () => {
  await using world = await open();
  const { key, accountId } = await customerWith(world, {});
  const first = await world.ask(key, {
    path: "/v1/responses",
    body: { model: "one", input: "My card is 1234-5678." },
  });
  const { id } = JSON.parse(first.text);
  const { gateway } = world.gateway.assembled;
  await setCallSettings(world.gateway.kv, accountId, {
    teamId: undefined,
    calls: { rules: [{ ...card, action: "mask" }] },
    nowMs: gateway.clock.nowMs(),
  });
  await gateway.control.refresh();
  const second = await world.ask(key, {
    path: "/v1/responses",
    body: { model: "one", previous_response_id: id, input: "Repeat it." },
  });
  assertEquals(second.status, 200, second.text);
  const sent = world.asked.at(-1)?.body ?? "";
  assertStringIncludes(sent, "My card is [card].");
  assertEquals(sent.includes("1234"), false);
  assertEquals((await world.receipts(accountId))[0]?.tags, [{ key: "masked", value: "card" }]);
});

Deno.test("models that an organisation does not allow are refused for keys that name none, and are not listed", async () => {
  await using world = await open();
  const { key } = await customerWith(world, { allowedModels: ["two"] });
  for (const style of preferringStyles) {
    assertEquals((await world.ask(key, requestOf(style, "one"))).status, 403);
    assertEquals((await world.ask(key, requestOf(style, "two"))).status, 200);
  }
  const listed = await world.gateway.fetch(
    new Request("http://gateway/v1/models", { headers: { authorization: `Bearer ${key}` } }),
  );
  const { data } = await listed.json();
  assertEquals(data.map(({ id }: { id: string }) => id), ["two"]);
});

Deno.test("a key of whose settings no marks are wanted has none but the client's on Messages routes", async () => {
  const routes = [{ provider: "a", style: "messages", model: "up" }];
  await using world = await PreferringWorld.open(["a"], [{
    id: "marked",
    kind: "chat",
    family: "test",
    price,
    routes,
  } as { readonly id: string }]);
  world.faults.set("a", "invalid");
  const long = "Some instructions. ".repeat(1_000);
  const prompts = {
    chat: { messages: [{ role: "system", content: long }, { role: "user", content: "Hi" }] },
    messages: { system: long },
    responses: { instructions: long },
    gemini: { systemInstruction: { parts: [{ text: long }] } },
  };
  for (const autoCache of [undefined, true, false]) {
    const { key } = await customerWith(world, { sort: "price", ...defined({ autoCache }) });
    for (const style of preferringStyles) {
      world.asked.length = 0;
      await world.ask(key, requestOf(style, "marked", prompts[style]));
      const isMarked = world.asked[0]?.body.includes("cache_control");
      assertEquals(isMarked, style !== "messages" && autoCache !== false, `${style} ${autoCache}`);
    }
  }
});
