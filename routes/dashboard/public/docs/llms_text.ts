/** `/llms.txt`: the documentation as plain text in Markdown, for programs that read (https://llmstxt.org). */
import { type Operation, tags } from "../../../openapi/operation.ts";
import { keyPlaceholder, recipes } from "../../customer/connect/recipes.ts";
import type { GuideFacts, GuideSection } from "./guides/guide.ts";
import { guides } from "./guides/guides.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";

// Reads schemas of the OpenAPI document for people: what a field is, and which members it has.

/** Names of a type that are written out; of longer lists the first ones. */
const writtenValues = 8;

/** Follows a reference inside of the document. */
export function resolve(document: JsonObject, schema: Json | undefined): JsonObject {
  if (!isJsonObject(schema)) return {};
  const { $ref: path } = schema;
  if (typeof path !== "string") return schema;
  let at: Json | undefined = document;
  for (const part of path.slice(2).split("/")) {
    at = isJsonObject(at) ? at[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  }
  return isJsonObject(at) ? at : {};
}

function alternatives(schema: JsonObject): Json[] {
  const list = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(list) ? list : [];
}

function boundsText({ minimum, maximum, maxLength, maxItems }: JsonObject): string {
  const [least, most] = [Number(minimum), Number(maximum)];
  // zod writes the bounds of exact whole numbers, which bound nothing.
  const from = Number.isFinite(least) && Math.abs(least) < Number.MAX_SAFE_INTEGER ? least : "";
  const to = Number.isFinite(most) && Math.abs(most) < Number.MAX_SAFE_INTEGER ? most : "";
  if (from !== "" && to !== "") return ` ${from}–${to}`;
  if (from !== "") return ` ≥ ${from}`;
  if (to !== "") return ` ≤ ${to}`;
  const items = maxLength ?? maxItems;
  return typeof items === "number" ? ` ≤ ${items}` : "";
}

/**
 * Names the type of a value.
 *
 * @example
 * ```ts
 * import { typeText } from "./llms_text.ts";
 * const schema = { anyOf: [{ type: "array", items: { type: "string" } }, { type: "null" }] };
 * if (typeText({}, schema) !== "list of string or null") throw new Error(typeText({}, schema));
 * ```
 */
export function typeText(document: JsonObject, given: Json | undefined): string {
  const schema = resolve(document, given);
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  if (Array.isArray(schema["enum"])) {
    const values = schema["enum"].map((value) => JSON.stringify(value));
    const more = values.length > writtenValues ? " …" : "";
    return values.slice(0, writtenValues).join(" or ") + more;
  }
  const options = alternatives(schema);
  if (options.length > 0) {
    return [...new Set(options.map((option) => typeText(document, option)))].join(" or ");
  }
  const { type } = schema;
  if (Array.isArray(type)) return type.join(" or ");
  if (type === "array") {
    return `list of ${typeText(document, schema["items"])}${boundsText(schema)}`;
  }
  return typeof type === "string" ? type + boundsText(schema) : "any";
}

/** A field of an object. */
export interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
  /** The schema, for its members. */
  readonly schema: JsonObject;
}

/** Lists the fields of an object, the required ones first. */
export function fieldRows(document: JsonObject, given: Json | undefined): readonly FieldRow[] {
  const schema = resolve(document, given);
  const { properties, required } = schema;
  if (!isJsonObject(properties)) return [];
  const needed: readonly Json[] = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, property]) => {
    const own = resolve(document, property);
    const { description } = own;
    return {
      name,
      type: typeText(document, property),
      isRequired: needed.includes(name),
      description: typeof description === "string" ? description : "",
      schema: own,
    };
  }).sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** Returns the objects that a value may be or contain, each with its own members. */
export function memberSchemas(document: JsonObject, given: Json | undefined): JsonObject[] {
  const schema = resolve(document, given);
  if (isJsonObject(schema["properties"])) return [schema];
  if (schema["items"] !== undefined) return memberSchemas(document, schema["items"]);
  return alternatives(schema).flatMap((option) => memberSchemas(document, option));
}

/** Options of the text. */
export interface LlmsTextOptions extends GuideFacts {
  /** The name of the service. */
  readonly brand: string;
  readonly operations: readonly Operation[];
  /** Ids of all models, with their kinds. */
  readonly models: readonly { readonly id: string; readonly kind: string }[];
}

function fenced(name: string, code: string): string {
  return `${name}:\n\n\`\`\`\n${code}\n\`\`\``;
}

function tableText(rows: readonly (readonly string[])[]): string {
  const [head = [], ...rest] = rows;
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rest.map(line)].join("\n");
}

function sectionText({ title, text, code = [], table }: GuideSection, baseUrl: string): string {
  const whole = text.map((paragraph) => paragraph.replaceAll("](/", `](${baseUrl}/`));
  return [
    `### ${title}`,
    ...whole,
    ...table === undefined ? [] : [tableText(table)],
    ...code.map((part) => fenced(part.name, part.code)),
  ].join("\n\n");
}

/** Writes the text, in English. */
export function llmsText(options: LlmsTextOptions): string {
  const { brand, baseUrl, model, operations, models } = options;
  const facts = { baseUrl, model };
  return [
    `# ${brand}`,
    "> One key for text, images, speech and video of many providers, behind the Messages, Chat " +
    "Completions, Responses and Gemini styles. Paid by the call from a prepaid wallet in VND.",
    `- [API reference](${baseUrl}/docs)\n- [OpenAPI 3.1 document](${baseUrl}/openapi.json)\n` +
    `- [Models and prices](${baseUrl}/models)\n- [Status](${baseUrl}/v1/status)`,
    ...guides.flatMap(({ texts }) => {
      const { title, lead, sections } = texts(facts).en;
      return [`## ${title}`, lead, ...sections.map((section) => sectionText(section, baseUrl))];
    }),
    "## Agents and tools",
    ...recipes({ ...facts, key: keyPlaceholder }).flatMap(({ name, text, code }) => [
      `### ${name}`,
      text.en,
      ...code.map((part) => fenced(part.name, part.code)),
    ]),
    "## Endpoints",
    ...Object.keys(tags).map((tag) =>
      [
        `### ${tag}`,
        operations.filter((operation) => operation.tag === tag).map(({ method, path, summary }) =>
          `- \`${method.toUpperCase()} ${path}\`: ${summary}`
        ).join("\n"),
      ].join("\n\n")
    ),
    "## Models",
    models.map(({ id, kind }) => `- \`${id}\` (${kind})`).join("\n"),
    "",
  ].join("\n\n");
}
