/** Every member of `gateway.json` that has to be there, or has a wrong value, is named with what to write. */
import { z } from "zod";
import { assert, assertEquals } from "../../support/assert.ts";
import { readContents } from "../../../core/catalog/read_file.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";

type Schema = z.core.JSONSchema.BaseSchema;

/** Texts among which each pattern of the schema finds one that fits. */
const texts = [
  ..."a A USD AB 1 100 x.y 720x1280 720p /v1 {videos}/a https://api.example x-team".split(" "),
];

function branchesOf(schema: z.core.JSONSchema._JSONSchema | undefined): readonly Schema[] {
  if (schema === undefined || typeof schema === "boolean") return [{}];
  const forms = schema.anyOf ?? schema.oneOf;
  return forms === undefined ? [schema] : forms.flatMap(branchesOf);
}

function keyOf(schema: Schema): string {
  const names = typeof schema.propertyNames === "object" ? schema.propertyNames : {};
  return names.enum === undefined
    ? texts.find((text) => names.pattern === undefined || new RegExp(names.pattern).test(text)) ??
      ""
    : String(names.enum[0]);
}

function elementOf(schema: Schema): Schema {
  const { items } = schema;
  return branchesOf(Array.isArray(items) ? items[0] : items)[0] ?? {};
}

/** A value that fits, with every member that it may have. */
function sampleOf(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "object":
      return Object.fromEntries([
        ...Object.entries(schema.properties ?? {})
          .map(([name, member]) => [name, sampleOf(branchesOf(member)[0]!)] as const),
        ...(typeof schema.additionalProperties === "object"
          ? [[keyOf(schema), sampleOf(branchesOf(schema.additionalProperties)[0]!)] as const]
          : []),
      ]);
    case "array":
      return [sampleOf(elementOf(schema))];
    case "integer":
    case "number":
      return Math.max(1, schema.minimum ?? 1);
    case "boolean":
      return true;
    default: {
      const { pattern, format } = schema;
      if (format === "uri") return "https://api.example";
      return texts.find((text) => pattern === undefined || new RegExp(pattern).test(text)) ?? "a";
    }
  }
}

interface Mutant {
  readonly path: string;
  readonly what: string;
  readonly isRequired: boolean;
  readonly file: unknown;
}

const wrongValues: readonly unknown[] = [null, [], {}, "§ ", -1.5, true, [null]];

/** Every way to leave a required member out, and to write a wrong value, below a value of a schema. */
function* mutantsOf(
  schemas: readonly Schema[],
  path: readonly string[],
  within: (value: unknown) => unknown,
): Generator<Mutant> {
  for (const value of wrongValues) {
    const what = JSON.stringify(value);
    yield { path: path.join("."), what, isRequired: false, file: within(value) };
  }
  for (const schema of schemas) {
    const whole = sampleOf(schema);
    if (schema.type === "array") {
      const elements = branchesOf(Array.isArray(schema.items) ? schema.items[0] : schema.items);
      yield* mutantsOf(elements, [...path, "0"], (value) => within([value]));
    }
    if (schema.type !== "object" || typeof whole !== "object" || whole === null) continue;
    const members = { ...schema.properties };
    if (typeof schema.additionalProperties === "object") {
      members[keyOf(schema)] = schema.additionalProperties;
    }
    for (const [name, member] of Object.entries(members)) {
      const inside = [...path, name];
      const { [name]: _, ...without } = Object.fromEntries(Object.entries(whole));
      if (schema.required?.includes(name)) {
        yield { path: inside.join("."), what: "absent", isRequired: true, file: within(without) };
      }
      yield* mutantsOf(
        branchesOf(member),
        inside,
        (value) => within({ ...without, [name]: value }),
      );
    }
  }
}

const root = z.toJSONSchema(gatewayFileSchema, { io: "input" });

Deno.test("each problem of gateway.json names its member and what to write there", () => {
  let required = 0;
  for (const { path, what, isRequired, file } of mutantsOf([root], [], (value) => value)) {
    const { problems } = readContents(file, "gateway.json");
    for (const problem of problems) {
      const [, place = "", words = ""] = /^gateway\.json(.*?): (.+)$/s.exec(problem) ?? [];
      assert(words.length > 6, `${path} ${what}: ${problem}`);
      assert(!/Invalid|wrong form|Too (?:big|small)|undefined/.test(words), `${what}: ${problem}`);
      assert(place !== "" || path === "", `${path} ${what}: ${problem}`);
    }
    // Without a kind it is a provider of HTTP.
    if (!isRequired || path === "providers.a.kind") continue;
    required++;
    // A choice between forms is named as a whole, with their members.
    const choice = path.slice(0, path.lastIndexOf("."));
    const member = path.slice(choice.length + 1);
    const named = problems.some((problem) =>
      problem.startsWith(`gateway.json ${path}: is required`) ||
      problem.startsWith(`gateway.json ${choice}: must `) && problem.includes(member)
    );
    assert(named, `${path} is absent: ${problems.join("\n")}`);
  }
  assert(required > 60, String(required));
});

Deno.test("a video model without rules is told to name a profile, or to write rules", async () => {
  const file = JSON.parse(
    await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url)),
  );
  const at = file.models.findIndex(({ kind }: { kind: string }) => kind === "video");
  delete file.models[at].videoRules;
  const [problem, ...others] = readContents(file, "gateway.json").problems;
  assertEquals(others, []);
  assert(problem?.includes(`models.${at} (video-a).videoRules: is required`), problem);
  assert(problem?.includes('{ "profile": "A" }'), problem);
});
