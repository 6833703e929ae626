/** The form of a model: every member of the schema has a field, which shows what is written and takes what is typed. */
import { z } from "zod";
import { assert, assertEquals } from "../../../../../support/assert.ts";
import { gatewayFileSchema, modelSchema } from "../../../../../../core/catalog/schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../../../core/lib/json/json.ts";
import type { PostedForm } from "../../../../../../routes/dashboard/page/form_data.ts";
import {
  fieldAt,
  listOf,
  objectOf,
  plainText,
  readShape,
} from "../../../../../../routes/operator/pages/catalogue/fields/reading.ts";
import {
  modelMembers,
  modelShape,
  settingsMembers,
  settingsShape,
  type Shape,
} from "../../../../../../routes/operator/pages/catalogue/fields/shapes.ts";
import { MemberFields } from "../../../../../../routes/operator/pages/catalogue/fields/views.tsx";
import { ModelForm } from "../../../../../../routes/operator/pages/catalogue/model_form.tsx";
import {
  parsedEntry,
  readEdit,
} from "../../../../../../routes/operator/pages/catalogue/entry_form.ts";
import { buildCatalog, type Catalog } from "../../../../../../core/catalog/catalog.ts";
import { editedCatalog } from "../../../../../../core/catalog/diff.ts";
import type { Visitor } from "../../../../../../routes/dashboard/page/visitor.ts";
import { costedFile } from "../../../../../support/worlds/costed_calls.ts";
import { storedKeyCatalogue } from "../../../../../support/worlds/stored_key_world.ts";
import { testConfig } from "../../../../../support/gateways/gateway_in_process.ts";

/** Members that are edited as JSON only. */
const jsonOnly = ["routes.capabilities.videoAdapter", "routes.facts.videoAdapter"];

/** Lists the leaves of a schema, with `*` for names that people choose. */
function schemaPaths(schema: unknown, path = ""): string[] {
  if (typeof schema !== "object" || schema === null) return [path];
  const at = (name: string) => path === "" ? name : `${path}.${name}`;
  const below: string[] = [];
  for (const member of ["anyOf", "oneOf", "allOf"] as const) {
    const parts: unknown = Object.entries(schema).find(([name]) => name === member)?.[1];
    if (Array.isArray(parts)) below.push(...parts.flatMap((part) => schemaPaths(part, path)));
  }
  for (const [name, value] of Object.entries(schema)) {
    if (name === "properties") {
      for (const [own, part] of Object.entries(value)) below.push(...schemaPaths(part, at(own)));
    }
    if (name === "items") below.push(...schemaPaths(value, path));
    if (name === "additionalProperties" && typeof value === "object") {
      // Records of known names, and factors under any name.
      const names = Object.entries(schema).find(([other]) => other === "propertyNames")?.[1];
      const known: unknown = names?.enum;
      const own = Array.isArray(known) ? known.map(String) : ["*"];
      below.push(...own.flatMap((one) => schemaPaths(value, at(one))));
    }
  }
  return below.length > 0 ? [...new Set(below)] : [path];
}

/** Lists the leaves that have fields. */
function fieldPaths(shape: Shape, path = ""): string[] {
  const inside = (members: Readonly<Record<string, Shape>>) =>
    Object.entries(members).flatMap(([name, own]) =>
      fieldPaths(own, path === "" ? name : `${path}.${name}`)
    );
  switch (shape.kind) {
    case "group":
      return inside(shape.members);
    case "cases":
      return [
        ...new Set([
          `${path}.${shape.by}`,
          ...Object.values(shape.cases).flatMap((m) => inside(m)),
        ]),
      ];
    case "rows":
      return inside(shape.row);
    case "factors":
      return [`${path}.*`];
    default:
      return [path];
  }
}

/** The fields of a page with their values, as a browser would send them. */
function sentFields(html: string): Map<string, string> {
  const fields = new Map<string, string>();
  const decoded = (text: string) => text.replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  for (const [tag] of html.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]+)"/.exec(tag)?.[1];
    if (name === undefined) continue;
    if (tag.includes('type="checkbox"') && !/\bchecked\b/.test(tag)) continue;
    fields.set(name, decoded(/value="([^"]*)"/.exec(tag)?.[1] ?? ""));
  }
  for (
    const [, name = "", body = ""] of html.matchAll(
      /<select[^>]*name="([^"]+)"[^>]*>(.*?)<\/select>/gs,
    )
  ) {
    const chosen = /<option value="([^"]*)" selected/.exec(body) ??
      /<option value="([^"]*)"/.exec(body);
    fields.set(name, decoded(chosen?.[1] ?? ""));
  }
  return fields;
}

function posted(fields: ReadonlyMap<string, string>): PostedForm {
  return {
    exact: (name) => fields.get(name) ?? "",
    text: (name) => (fields.get(name) ?? "").trim(),
    yesOrNo: (name) => fields.has(name) ? fields.get(name) === "yes" : null,
    all: (name) => [fields.get(name)].filter((value) => value !== undefined),
    file: () => undefined,
    formId: () => undefined,
  };
}

/** An operator, as far as forms ask. */
const visitor: Visitor = {
  locale: "en",
  theme: "light",
  csrfToken: undefined,
  path: "/",
  signedIn: undefined,
  sandbox: true,
  maintenance: undefined,
  announcements: [],
  suppliedPages: [],
  support: undefined,
  brand: { name: "Gateway", icon: "icon.svg" },
  company: undefined,
};

/** The fields of an entry. `more` is the list with an empty row more. */
function shown(entry: JsonObject, more = ""): Map<string, string> {
  const view = {
    locale: "en",
    kind: String(entry["kind"]),
    errors: {},
    extendedRows: more,
  } as const;
  return sentFields(
    String(MemberFields({ view, within: "", members: modelMembers, value: entry })),
  );
}

/** The fields of the form of a model. */
function formFields(entry: JsonObject, catalog = noCatalog): Map<string, string> {
  const html = String(ModelForm({
    visitor,
    base: 1,
    name: plainText(entry["id"]),
    entry,
    providers: [...Object.keys(catalog.providers), route.provider],
    catalog,
    margins: { routes: new Map() },
  }));
  // The forms behind it send the entry as JSON, or remove it.
  return sentFields(html.split("</form>")[0] ?? "");
}

const noCatalog: Pick<Catalog, "find" | "providers"> = { find: () => undefined, providers: {} };

function entryOf(fields: ReadonlyMap<string, string>, before: JsonObject): JsonObject {
  const read = readShape(posted(fields), "", modelShape, before);
  assert(read !== undefined && isJsonObject(read), "no entry");
  return read;
}

const route = { provider: "p" };
const chat = {
  id: "m",
  kind: "chat",
  family: "f",
  price: { unit: "token", vndPerMtok: 1 },
  routes: [route],
};

/** Returns an entry with something at a path. */
function withValue(entry: Json, path: readonly string[], value: Json): Json {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (Array.isArray(entry)) {
    return entry.map((one, i) => String(i) === first ? withValue(one, rest, value) : one);
  }
  const object = isJsonObject(entry) ? entry : {};
  return { ...object, [first]: withValue(object[first] ?? {}, rest, value) };
}

/** What is typed into a field of a kind, and what it says. */
function sampleOf(
  shape: Shape,
): { readonly typed: ReadonlyMap<string, string>; readonly value: Json } {
  const one = (typed: string, value: Json) => ({ typed: new Map([["", typed]]), value });
  switch (shape.kind) {
    case "whole":
      return one("12.000", 12_000);
    case "factor":
      return one("2.5", 2.5);
    case "vnd":
      return one("40.5", 40.5);
    case "cost":
      return one("0.075", 0.075);
    case "list":
      return one("one, two", ["one", "two"]);
    case "choice": {
      const last = shape.options.at(-1) ?? "";
      return one(last, last);
    }
    case "choices": {
      const [first = "", second = ""] = shape.options;
      return {
        typed: new Map([[`.${first}`, "yes"], [`.${second}`, "yes"]]),
        value: [first, second],
      };
    }
    case "check":
      return one("yes", true);
    default:
      return one("typed", "typed");
  }
}

/** Entries that together have every case of the schema. */
const bases: readonly JsonObject[] = [
  { ...chat, routes: [{ ...route, cost: { unit: "token", perMtok: 1 } }] },
  ...["request", "image", "search"].map((unit) => ({
    ...chat,
    kind: "image",
    price: { unit, vnd: 1 },
    routes: [{ ...route, cost: { unit, amount: 1 } }],
  })),
  {
    ...chat,
    price: { unit: "second", vndPerMinute: 1 },
    routes: [{ ...route, facts: {}, cost: { unit: "second", perMinute: 1 } }],
  },
  {
    ...chat,
    kind: "video",
    price: { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 2, vnd: 1 }] },
    videoRules: {
      seconds: [{ from: 1, to: 2 }],
      sizes: [{ size: "720x1280", ratio: "9:16" }],
      maxInputReferences: 1,
    },
    routes: [{
      ...route,
      cost: { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 2, amount: 1 }] },
    }],
  },
  { ...chat, kind: "video", videoRules: { profile: "A" } },
];

Deno.test("every member of the schema of models has a field, and no field is without a member", () => {
  const schema = z.toJSONSchema(modelSchema, { io: "input", unrepresentable: "any" });
  const members = schemaPaths(schema).filter((path) => !jsonOnly.includes(path)).sort();
  const fields = [...new Set(fieldPaths(modelShape))].sort();
  assertEquals(fields, members);
  assert(members.length > 150, String(members.length));
});

Deno.test("every member of the settings has a field, and settings are removed by emptying them", () => {
  const { models: _, providers: __, ...settings } = gatewayFileSchema.shape;
  const schema = z.toJSONSchema(z.strictObject(settings), { io: "input", unrepresentable: "any" });
  const own = ["$schema", "listRate", "defaultModel", "webSearchModel"];
  const members = schemaPaths(schema).filter((path) => !own.includes(path)).sort();
  assertEquals(fieldPaths(settingsShape).sort(), members);
  const before: JsonObject = {
    listRate: 1,
    currencies: { USD: 25_400 },
    wallet: { debtVnd: { others: 5 } },
  };
  const view = { locale: "vi", kind: "", errors: {}, extendedRows: "" } as const;
  const fields = sentFields(
    String(MemberFields({ view, within: "", members: settingsMembers, value: before })),
  );
  assertEquals(readShape(posted(fields), "", settingsShape, before), before);
  for (const name of ["currencies.0.name", "currencies.0.value", "wallet.debtVnd.others"]) {
    fields.set(name, "");
  }
  assertEquals(readShape(posted(fields), "", settingsShape, before), { listRate: 1 });
});

Deno.test("an entry that is shown and sent unchanged is the same", () => {
  for (const entry of bases) assertEquals(entryOf(shown(entry), entry), entry);
});

Deno.test("the form of a model has every field, wherever it stands", () => {
  for (const entry of bases) {
    const names = new Set(formFields(entry).keys());
    // Capabilities have one of two names, and some kinds of models have none.
    const missing = [...shown(entry).keys()].filter((name) =>
      !names.has(name) && !/^routes\.0\.(?:facts|capabilities)\./.test(name)
    );
    assertEquals(missing, []);
    assertEquals(entryOf(formFields(entry), entry), entry);
  }
});

Deno.test("the form of every model of a catalogue, sent unchanged, leaves the catalogue unchanged", () => {
  for (const file of [testConfig().fileContents, costedFile(), storedKeyCatalogue(1)]) {
    const contents = parsedEntry(JSON.stringify(file));
    const built = buildCatalog(gatewayFileSchema.parse(file));
    assert(built.ok && contents !== undefined);
    for (const entry of listOf(contents["models"]).map(objectOf)) {
      const edit = readEdit(posted(formFields(entry, built.catalog)), contents);
      assert(typeof edit === "object" && "edit" in edit && edit.edit === "model");
      assertEquals(editedCatalog(contents, edit), contents);
    }
  }
});

Deno.test("what is typed into any field is in the entry, and is shown again", () => {
  const tested = new Set<string>();
  for (const base of bases) {
    const fields = shown(base);
    for (const path of fieldPaths(modelShape)) {
      const parts = path.split(".").flatMap((part) =>
        ["routes", "tiers", "seconds", "sizes"].includes(part) ? [part, "0"] : [part]
      );
      const name = parts.join(".");
      const found = fieldAt(name, modelShape, base);
      if (found === undefined || parts.at(-1) === "unit" || parts.at(-1) === "profile") continue;
      const { typed, value } = sampleOf(found.shape);
      const isShown = fields.has(name) || fields.has(`${name}.was`);
      if (!isShown) continue;
      tested.add(path);
      const sent = new Map(fields);
      for (const [suffix, text] of typed) sent.set(`${name}${suffix}`, text);
      const wanted = withValue(base, parts, value);
      const read = entryOf(sent, base);
      assertEquals(read, wanted, name);
      // Shown again, it says the same.
      assertEquals(entryOf(shown(read), read), read, name);
    }
  }
  const untested = fieldPaths(modelShape).filter((path) => !tested.has(path));
  assertEquals(untested.filter((path) => !/\.(?:unit|profile|\*)$/.test(path)), []);
});

Deno.test("a unit that is chosen instead of another brings its own members", () => {
  const [entry] = bases;
  assert(entry !== undefined);
  const sent = shown(entry).set("price.unit", "image");
  assertEquals(entryOf(sent, entry)["price"], { unit: "image" });
  const cost = shown(entry).set("routes.0.cost.unit", "");
  assertEquals(entryOf(cost, entry)["routes"], [route]);
});

Deno.test("rows are added, emptied and removed, and factors keep their names", () => {
  const entry: JsonObject = {
    ...chat,
    kind: "video",
    price: {
      unit: "video",
      tiers: [1, 2, 3].map((at) => ({ fromSeconds: at, toSeconds: at, vnd: at })),
    },
  };
  const sent = shown(entry, "price.tiers")
    .set("price.tiers.0.remove", "yes")
    .set("price.tiers.3.fromSeconds", "9")
    .set("price.tiers.3.toSeconds", "10")
    .set("price.tiers.3.vnd", "4");
  assertEquals(entryOf(sent, entry)["price"], {
    unit: "video",
    tiers: [
      { fromSeconds: 2, toSeconds: 2, vnd: 2 },
      { fromSeconds: 3, toSeconds: 3, vnd: 3 },
      { fromSeconds: 9, toSeconds: 10, vnd: 4 },
    ],
  });
  const tiers: JsonObject = { ...chat, price: { ...chat.price, serviceTiers: { flex: 0.5 } } };
  const factors = shown(tiers, "price.serviceTiers")
    .set("price.serviceTiers.1.name", "priority")
    .set("price.serviceTiers.1.value", "2");
  assertEquals(entryOf(factors, tiers)["price"], {
    ...chat.price,
    serviceTiers: { flex: 0.5, priority: 2 },
  });
});

Deno.test("amounts that are written as texts, and members without a field, stay", () => {
  const entry: JsonObject = {
    ...chat,
    price: { unit: "token", vndPerMtok: "40.125", outputVndPerMtok: 40.125 },
    routes: [{
      ...route,
      style: ["chat"],
      capabilities: { videoAdapter: { submit: 1 }, audio: true },
    }],
  };
  assertEquals(entryOf(shown(entry), entry), entry);
});
