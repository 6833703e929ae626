/** What operators write is stored as it can be shown: no blank texts, control characters, halves of characters. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import { campaignFieldNames } from "../../../../core/trade/credits/campaign_form.ts";
import { operations } from "../../../../routes/operator/operations/operations.ts";
import {
  type OperationName,
  operationNames,
  operationPaths,
} from "../../../../routes/operator/operations/contract/paths.ts";
import { day } from "../../../../routes/operator/operations/contract/texts.ts";
import { operatorApi } from "../../../support/worlds/operator_api.ts";
import { operatorWorld } from "../../../support/worlds/operator_world.ts";
import { notice } from "../../../support/worlds/topup_world.ts";

/** Texts of bodies whose form is checked elsewhere: moments, names, secrets, and what campaigns read as it is typed. */
const formsOfTheirOwn: Partial<Record<OperationName, readonly string[]>> = {
  "accounts.adjust": ["vnd", "operationId", "seen"],
  "announcements.publish": ["startsAt"],
  "approvals.decide": ["seen"],
  "catalog.apply": ["effective_from"],
  "catalog.rollback": ["effective_from"],
  "campaigns.make": campaignFieldNames,
  "notices.assign": ["notice", "target", "seen"],
  "notices.resolve": ["notice", "of"],
  "notices.set_aside": ["hash"],
  "provider_keys.add": ["name", "secret"],
  "provider_keys.replace": ["secret"],
};

/** Never stored, whatever the field is. */
const never = ["a\u0000b", "a\u001bb", "a\ud83d", "\ude00a", "a\u202eb"];

function inputOf(name: OperationName): { properties: JsonObject; fields: readonly string[] } {
  const json: unknown = JSON.parse(
    JSON.stringify(
      z.toJSONSchema(operations[name].schemas.input, { io: "input", unrepresentable: "any" }),
    ),
  );
  const properties = isJsonObject(json) && isJsonObject(json["properties"])
    ? json["properties"]
    : {};
  const inPath = Array.from(operationPaths[name].path.matchAll(/:(\w+)/g), ([, field]) => field);
  const fields = Object.keys(properties).filter((field) => {
    const schema = properties[field];
    return !inPath.includes(field) && isJsonObject(schema) && schema["type"] === "string" &&
      schema["enum"] === undefined && schema["format"] === undefined;
  });
  return { properties, fields };
}

Deno.test("each text of each act has a bound, and refuses what cannot be shown", () => {
  let texts = 0;
  for (const name of operationNames.filter((name) => operations[name].effect === "acts")) {
    const { properties, fields } = inputOf(name);
    for (const field of fields.filter((one) => formsOfTheirOwn[name]?.includes(one) !== true)) {
      texts++;
      const schema = properties[field];
      assert(isJsonObject(schema) && typeof schema["maxLength"] === "number", `${name} ${field}`);
      const isTaken = (text: string) => {
        const read = operations[name].schemas.input.safeParse({ [field]: text });
        return read.error?.issues.every(({ path }) => path[0] !== field) !== false;
      };
      for (const text of never) assert(!isTaken(text), `${name} ${field} ${JSON.stringify(text)}`);
      assertEquals(isTaken(" \t "), schema["minLength"] === 0, `${name} ${field}: blank`);
      assert(isTaken("Tết 🎉"), `${name} ${field}`);
      assert(!isTaken("x".repeat(schema["maxLength"] + 1)), `${name} ${field}: long`);
    }
  }
  assert(texts > 12, String(texts));
});

Deno.test("texts lose the blanks at their ends, and a browser's ends of lines count once", async () => {
  await using w = await operatorApi();
  const text = `${"x".repeat(998)}\r\n${"y".repeat(1_001)}\r\n`;
  const told = { kind: "incident", title: "  Slow ", text };
  const { title, updates } = await w.done("announcements.publish", "/api/announcements", told);
  assertEquals([title, updates[0].text], ["Slow", text.replaceAll("\r\n", "\n").trim()]);
});

Deno.test("a campaign has a name of one line", async () => {
  await using w = await operatorApi();
  for (const name of [" ", ...never, "a\nb"]) {
    const terms = { kind: "voucher", name, amount: "20k", budget: "100k" };
    const refused = await w.send("POST", "/api/campaigns", terms);
    assertEquals([refused.status, refused.body.error.param], [400, "name"], JSON.stringify(name));
  }
});

Deno.test("days that are none, or have no day after them, are refused wherever days are asked for", async () => {
  await using w = await operatorApi();
  for (const text of ["9999-12-31", "3000-01-01", "1999-12-31", "0001-01-01", "2026-02-30", "x"]) {
    assert(!day.safeParse(text).success, text);
    for (const path of ["margins", "provider-sheet", "calls"]) {
      for (const query of [`from=${text}`, `from=2026-11-01&to=${text}`]) {
        const { status, body } = await w.send("GET", `/api/${path}?${query}`);
        assertEquals(status, 400, `${path}?${query}`);
        assertStringIncludes(body.error.message, "must be a da");
      }
    }
  }
  assert(day.safeParse("2999-12-31").success);
});

Deno.test("a reason that a person gives for money is bounded and can be shown", () =>
  operatorWorld(async ({ world, operator }) => {
    const staff = await operator("staff");
    const ann = await world.customer("ann");
    const event = notice("khong ma");
    await world.intake.take(event, "{}");
    await world.intake.keepUnreadable("sepay", "field id", "{}");
    const unreadable = "/operator/review/unreadable";
    const [, hash = ""] = /name="hash" value="([^"]+)"/.exec((await staff.get(unreadable)).text) ??
      [];
    const wallet = `/operator/accounts/${ann.id}/adjust`;
    const movement = `/operator/notices/sepay/${event.id}`;
    const form = crypto.randomUUID();
    for (const text of ["", " ", "a\u0000b", "x".repeat(501), "x".repeat(70_000)]) {
      const sent = [
        [wallet, { amount: "5000", reason: text, form }],
        [`${movement}/assign`, { target: ann.email ?? "", reason: text }],
        [`${movement}/resolve`, { verdict: "ignore", note: text }],
        [`${movement}/resolve`, { verdict: "start_refund", note: text }],
        [unreadable, { source: "sepay", hash, note: text }],
      ] as const;
      for (const [path, fields] of sent) {
        const { status, text: page } = await staff.post(path, fields);
        assertEquals(status, 400, `${path} ${text.length}`);
        assertStringIncludes(page, "Give a reason");
      }
    }
    assertEquals(await world.balanceVnd(ann.id), 0);
    assertEquals((await world.state(event))?.kind, "review");
  }));
