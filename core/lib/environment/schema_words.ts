/** Says what a schema finds wrong with what somebody wrote, in a file, a variable or a request: which member, and what to write there. */
import { z } from "zod";

/** A member that is wrong. */
export interface SchemaProblem {
  /** From the root of what was read; empty: the whole. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Message about a member that nothing has. */
export const unknownMember = "is not known";

/** Values that are listed; longer lists are cut, since the reader needs the form and not a manual. */
const maxListed = 16;

/** Message where a schema does not say what fits. */
const wrongForm = "has the wrong form";

type JsonSchema = z.core.JSONSchema._JSONSchema;

function listed(values: readonly unknown[]): string {
  const shown = values.slice(0, maxListed).map((value) => JSON.stringify(value)).join(", ");
  return values.length > maxListed ? `${shown}, …` : shown;
}

/** Finds the member that distinguishes the forms of a union, with its values; `undefined` if there is none. */
function tellingMember(
  forms: readonly JsonSchema[],
): { readonly name: string; readonly values: readonly unknown[] } | undefined {
  const constants = forms.map((form) =>
    typeof form === "boolean" ? [] : Object.entries(form.properties ?? {}).flatMap(
      ([name, member]) =>
        typeof member !== "boolean" && member.const !== undefined
          ? [[name, member.const] as const]
          : [],
    )
  );
  const [first] = constants[0] ?? [];
  if (first === undefined) return undefined;
  const values = constants.flatMap((one) => one.filter(([name]) => name === first[0]));
  return values.length === forms.length
    ? { name: first[0], values: values.map(([, value]) => value) }
    : undefined;
}

function objectForm({ required = [] }: z.core.JSONSchema.BaseSchema): string {
  return required.length === 0
    ? "an object"
    : `an object with ${required.map((name) => `"${name}"`).join(", ")}`;
}

function unionForm(forms: readonly JsonSchema[]): string {
  const telling = tellingMember(forms);
  return telling === undefined
    ? [...new Set(forms.map(formOf))].filter((form) => form !== "").join(", or ")
    : `an object with "${telling.name}" (one of ${listed(telling.values)})`;
}

/** Describes in a few words what fits a schema; empty: anything does. */
function formOf(schema: JsonSchema): string {
  if (typeof schema === "boolean") return "";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return `one of ${listed(schema.enum)}`;
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) return unionForm(forms);
  switch (schema.type) {
    case "string":
      return schema.format === "uri" ? "a URL" : "a text";
    case "integer":
      return "a whole number";
    case "number":
      return "a number";
    case "boolean":
      return "true or false";
    case "array": {
      const items = Array.isArray(schema.items) ? undefined : schema.items;
      const form = items === undefined ? "" : formOf(items);
      return form === "" ? "a list" : `a list, each ${form}`;
    }
    case "object":
      return objectForm(schema);
    default:
      return "";
  }
}

/** Describes the value that fits the place of an issue. */
function expected(issue: z.core.$ZodRawIssue): string {
  if (!(issue.inst instanceof z.core.$ZodType)) return "";
  const json = z.toJSONSchema(issue.inst, { io: "input", unrepresentable: "any" });
  const { description } = json;
  // The issue is at the member that tells the forms apart, not at the object.
  const telling = issue.code === "invalid_union" && issue["discriminator"] !== undefined
    ? tellingMember(json.oneOf ?? json.anyOf ?? [])
    : undefined;
  if (telling !== undefined) return `one of ${listed(telling.values)}`;
  const form = formOf(json);
  return description === undefined || form === "" ? form : `${form} (${description})`;
}

const formats: Readonly<Record<string, string>> = {
  url: "must be a URL",
  email: "must be an email address",
};

/** Units of the size of a value, singular and plural. */
const sizeUnits: Readonly<Record<string, readonly [string, string]>> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
  map: ["member", "members"],
  object: ["member", "members"],
};

function sizeWords(
  { origin, inclusive }: { readonly origin: string; readonly inclusive?: boolean | undefined },
  bound: string,
  [least, beyond]: readonly [string, string],
): string {
  const unit = sizeUnits[origin];
  if (unit !== undefined) return `must have ${least} ${bound} ${unit[bound === "1" ? 0 : 1]}`;
  return `must be ${inclusive === false ? beyond : least} ${bound}`;
}

/** The words for one issue; the messages that a schema has of its own come before them. */
const schemaWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
    case "invalid_value":
    case "invalid_union": {
      const form = expected(issue);
      return form === "" ? wrongForm : `must be ${form}`;
    }
    case "invalid_format":
      return formats[issue.format] ??
        (issue.pattern === undefined ? wrongForm : `must match ${issue.pattern}`);
    case "too_small":
      return sizeWords(issue, String(issue.minimum), ["at least", "more than"]);
    case "too_big":
      return sizeWords(issue, String(issue.maximum), ["at most", "less than"]);
    case "invalid_key":
      return "is no name that can stand here";
    default:
      return undefined;
  }
};

/** The distance of a value that is no object, list or text where the form asks for one. */
const wrongKind = 10_000;

/** Distance of a value from a form of a union: by unknown members, then by problems. */
function distance(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => {
    if (issue.code === "unrecognized_keys") return sum + 100 * issue.keys.length;
    return sum + (issue.path.length === 0 ? wrongKind : 1);
  }, 0);
}

/** Lists the members at fault: each unknown one by itself, and those of the form of a union that fits best. */
function problemsOf(
  issues: readonly z.core.$ZodIssue[],
  above: readonly string[] = [],
): SchemaProblem[] {
  return issues.flatMap((issue): SchemaProblem[] => {
    const path = [...above, ...issue.path.map(String)];
    switch (issue.code) {
      case "unrecognized_keys":
        return issue.keys.map((key) => ({ path: [...path, key], message: unknownMember }));
      case "invalid_union": {
        const [nearest, next] = [...issue.errors]
          .map((issues) => ({ issues, distance: distance(issues) }))
          .sort((one, other) => one.distance - other.distance);
        // Where no form is nearer than another, the reader has the choice.
        return nearest === undefined || nearest.distance >= wrongKind ||
            nearest.distance === next?.distance
          ? [{ path, message: issue.message }]
          : problemsOf(nearest.issues, path);
      }
      case "invalid_key": {
        const [why] = issue.issues;
        const message = why === undefined ? issue.message : `${issue.message}: ${why.message}`;
        return [{ path, message }];
      }
      default:
        return [{ path, message: issue.message }];
    }
  });
}

function isAbsent(written: unknown, path: readonly string[]): boolean {
  let value = written;
  for (const name of path) {
    if (typeof value !== "object" || value === null) return true;
    value = Object.entries(value).find(([member]) => member === name)?.[1];
  }
  return value === undefined;
}

/** Says of a member that is not there that it has to be. */
function withRequired({ path, message }: SchemaProblem, written: unknown): SchemaProblem {
  if (!isAbsent(written, path)) return { path, message };
  if (message === wrongForm) return { path, message: "is required" };
  return { path, message: message.replace(/^must be /, "is required: ") };
}

/** Result of reading a value by a schema. */
export type SchemaReading<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

/**
 * Reads a value by a schema.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 * import { readBySchema } from "./schema_words.ts";
 * const read = readBySchema(z.object({ kind: z.enum(["a", "b"]) }), {});
 * if (read.ok || read.problems[0]?.message !== 'is required: one of "a", "b"') throw new Error();
 * ```
 */
export function readBySchema<Schema extends z.ZodType>(
  schema: Schema,
  written: unknown,
): SchemaReading<z.output<Schema>> {
  const read = schema.safeParse(written, { error: schemaWords });
  return read.success ? { ok: true, value: read.data } : {
    ok: false,
    problems: problemsOf(read.error.issues).map((one) => withRequired(one, written)),
  };
}

/** Writes where a problem is, with dots; empty for the whole. */
export function memberPath({ path }: Pick<SchemaProblem, "path">): string {
  return path.join(".");
}

/** Writes one line per problem, without the values; `prefix` may be empty. */
export function problemLines(prefix: string, problems: readonly SchemaProblem[]): string[] {
  return problems.map((problem) => {
    const place = [prefix, memberPath(problem)].filter((part) => part !== "").join(" ");
    return place === "" ? problem.message : `${place}: ${problem.message}`;
  });
}
