/** One command of `deno task admin`, made of the request that it sends: its operands, options and bounds are those of the input. */
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import { operationPaths } from "../operations/contract/paths.ts";
import type { Operation } from "../operations/contract/operation.ts";

/** A request to the admin app. */
export interface AdminRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** The operation id of a command that moves money: repeated with it, the command counts once. */
  readonly operationId?: string;
  /** `doctor`: looks at configuration, store and providers itself, and at the server only where that has the store. */
  readonly isLocal?: true;
  /** Creates the store if there is none: what an operator does before the first start. */
  readonly makesStore?: true;
  /** The file of JSON that is sent as `catalog` of the body. */
  readonly catalogFile?: string;
  /** The standard input is sent as `secret` of the body: arguments are seen by others on the machine, and kept by shells. */
  readonly readsSecret?: true;
  /** The file that the command writes or reads, encrypted; it writes also into a folder, and keeps some there. */
  readonly backup?: {
    readonly act: "save" | "restore";
    readonly path: string;
    readonly keep?: number;
    /** Writes sealed days to files of their own in the folder, once. */
    readonly since?: true;
  };
  /** Answers come in pages: the command asks again from the `next` of each, and sums up what they count. */
  readonly isPaged?: true;
  /** The fields of the input by what was typed for them, as errors name it: `--max-grants`, `ACCOUNT`. */
  readonly typed?: Readonly<Record<string, string>>;
  /** The folder or bucket to which the tables of the days of the answer are written. */
  readonly tablesPlace?: string;
}

/** An option of a command. */
export interface CommandOption {
  readonly name: string;
  /** The placeholder of the value in the help text; absent for an option without a value. */
  readonly value?: string;
  readonly needed?: true;
  /** Needed, unless this option is set. */
  readonly neededWithout?: string;
  /** The value is a number. */
  readonly isNumber?: true;
}

/** The syntax of one command. */
export interface CommandForm {
  readonly words: readonly string[];
  /** The operands after the words; all are required. */
  readonly operands: readonly string[];
  /** Options that are numbers. */
  readonly numbers: readonly string[];
  readonly options: readonly CommandOption[];
  readonly about: string;
  request(operands: readonly string[], options: Readonly<Record<string, string>>): AdminRequest;
}

/** Path of a request, and what is read of it there. */
export interface RequestForm {
  readonly method: AdminRequest["method"];
  /** As Hono writes it. */
  readonly path: string;
  /** Parameters of the path, of the query and of the body in one; absent: it has none. */
  readonly input?: z.ZodType;
}

/** Words of a command beside its input. */
export interface CommandWords {
  readonly about: string;
  /** The fields that are operands, by their placeholders; `null`: what the command itself takes. */
  readonly operands?: Readonly<Record<string, string | null>>;
  /** Fields that always have these values. */
  readonly given?: JsonObject;
  /** Fields that the command does not set. */
  readonly without?: readonly string[];
  /** Options that are not named like their fields. */
  readonly names?: Readonly<Record<string, string>>;
  /** Placeholders of options, by their fields; absent: `DAY`, `N`, or the first letter of the option. */
  readonly values?: Readonly<Record<string, string>>;
  /** Options of the command itself. */
  readonly own?: readonly CommandOption[];
  /** Members that the command itself makes of operands and options. */
  readonly also?: (
    operands: readonly string[],
    options: Readonly<Record<string, string>>,
  ) => Partial<AdminRequest>;
}

/** The field that comes from the standard input, and is never an option. */
const secretField = "secret";

/** A field of an input, as the command line sees it. */
interface Field {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isNeeded: boolean;
}

/** The fields of an input; parameters of the path that it does not name are texts. */
function fieldsOf(input: z.ZodType | undefined, inPath: ReadonlySet<string>): readonly Field[] {
  const written: unknown = input === undefined ? {} : JSON.parse(
    JSON.stringify(z.toJSONSchema(input, { io: "input", unrepresentable: "any" })),
  );
  const { properties, required } = isJsonObject(written) ? written : {};
  const named = isJsonObject(properties) ? properties : {};
  const texts = [...inPath].filter((name) => !Object.hasOwn(named, name))
    .map((name) => [name, { type: "string" }] as const);
  return [...texts, ...Object.entries(named)].map(([name, schema]) => ({
    name,
    schema: isJsonObject(schema) ? schema : {},
    isNeeded: Array.isArray(required) && required.includes(name),
  }));
}

function isNumber({ schema: { type } }: Field): boolean {
  return type === "integer" || type === "number";
}

/** Whether an option has no value: the field can only be set, or left out. */
function isSwitch({ schema }: Field): boolean {
  return schema["type"] === "boolean" || schema["const"] !== undefined;
}

function placeholderOf(field: Field, option: string): string {
  if (field.schema["format"] === "date") return "DAY";
  return isNumber(field) ? "N" : option.slice(0, 1).toUpperCase();
}

/** Bounds of a value, as the help text says them; `undefined`: any text. */
function boundsOf({ schema }: Field): string | undefined {
  const { enum: choices, minLength, maxLength, minimum, maximum } = schema;
  if (Array.isArray(choices)) {
    return `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  }
  if (typeof maxLength === "number") {
    return `${minLength === undefined ? "at most" : `${minLength} to`} ${maxLength} characters`;
  }
  return typeof maximum === "number" && maximum < Number.MAX_SAFE_INTEGER
    ? `${minimum ?? 0} to ${maximum}`
    : undefined;
}

/** Adds what values must be to a help text, by their placeholders; a field without one has no value. */
function withBounds(
  about: string,
  places: readonly (readonly [place: string | null | undefined, field: Field])[],
): string {
  const bounds = places.flatMap(([place, field]) => {
    const form = boundsOf(field);
    return place === undefined || form === undefined ? [] : [`${place}: ${form}`];
  });
  return [about, ...(bounds.length === 0 ? [] : [bounds.join("; ")])].join("\n");
}

/** Fills the parameters of a path. */
function filledPath(path: string, values: ReadonlyMap<string, string>): string {
  return path.replaceAll(
    /:(\w+)(?:\{[^}]*\})?/g,
    (_, name: string) => encodeURIComponent(values.get(name) ?? ""),
  );
}

/** The value of a field, as it was typed. */
function sentValue(field: Field, text: string): string | number | true {
  if (field.schema["type"] === "boolean") return true;
  return isNumber(field) ? Number(text) : text;
}

/** An error as the admin app answers it. */
const errorAnswer = z.looseObject({
  error: z.looseObject({ message: z.string(), param: z.string().nullish() }),
});

/** Names the options and operands in an error in place of the fields that were sent; other answers stay as they are. */
export function asTyped(answer: unknown, { typed = {} }: Pick<AdminRequest, "typed">): unknown {
  const read = errorAnswer.safeParse(answer);
  if (!read.success) return answer;
  const { error, ...rest } = read.data;
  const named = (field: string) => Object.hasOwn(typed, field) ? typed[field] : field;
  // A problem begins with its field; several are joined.
  const message = error.message.replaceAll(
    /(^|; )(\w+)(?=: )/g,
    (_, before: string, field: string) => `${before}${named(field)}`,
  );
  return {
    ...rest,
    error: { ...error, message, ...(error.param != null && { param: named(error.param) }) },
  };
}

/** Makes a command of the request that it sends. */
export function command(
  words: string,
  { method, path, input }: RequestForm,
  { about, operands = {}, given = {}, without = [], names = {}, values = {}, ...self }:
    CommandWords,
): CommandForm {
  const placed = new Map(Object.entries(operands).map(([place, field]) => [field, place]));
  const inPath = new Set(Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => name));
  const fields = fieldsOf(input, inPath);
  const [typed, others] = [
    fields.filter(({ name }) => placed.has(name)),
    fields.filter(({ name }) =>
      !placed.has(name) && !Object.hasOwn(given, name) && name !== secretField &&
      !without.includes(name)
    ),
  ];
  const nameOf = ({ name }: Field) =>
    names[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const optional = others.map((field): CommandOption & { readonly field: Field } => {
    const name = nameOf(field);
    return {
      field,
      name,
      ...(!isSwitch(field) && { value: values[field.name] ?? placeholderOf(field, name) }),
      ...(field.isNeeded && { needed: true as const }),
      ...(isNumber(field) && { isNumber: true as const }),
    };
  });
  const typedNames: Readonly<Record<string, string>> = Object.fromEntries([
    ...typed.map(({ name }) => [name, placed.get(name) ?? name]),
    ...optional.map(({ field, name }) => [field.name, `--${name}`]),
  ]);
  const hasBody = method !== "GET" && fields.some(({ name }) => !inPath.has(name));
  return {
    words: words.split(" "),
    operands: Object.keys(operands),
    numbers: typed.filter(isNumber).flatMap(({ name }) => placed.get(name) ?? []),
    options: [...optional.map(({ field: _, ...option }) => option), ...self.own ?? []],
    about: withBounds(about, [
      ...typed.map((field) => [placed.get(field.name), field] as const),
      ...optional.map(({ field, value }) => [value, field] as const),
    ]),
    request(read, options) {
      const texts = new Map<string, string>();
      for (const [at, field] of Object.values(operands).entries()) {
        if (field !== null) texts.set(field, read[at] ?? "");
      }
      for (const { field, name } of optional) {
        const text = options[name];
        if (text !== undefined) texts.set(field.name, text);
      }
      const sent = fields.filter(({ name }) => texts.has(name) && !inPath.has(name))
        .map((field) => [field.name, sentValue(field, texts.get(field.name) ?? "")] as const);
      const query = new URLSearchParams(
        method === "GET" ? sent.map(([name, value]) => [name, String(value)]) : [],
      );
      return {
        method,
        typed: typedNames,
        path: filledPath(path, texts) + (query.size === 0 ? "" : `?${query}`),
        ...(hasBody && { body: { ...Object.fromEntries(sent), ...given } }),
        ...(fields.some(({ name }) => name === secretField) && { readsSecret: true as const }),
        ...self.also?.(read, options),
      };
    },
  };
}

/** Path at which an operation of operators is served. */
export function requestOf({ name, schemas: { input } }: Operation): RequestForm {
  return { ...operationPaths[name], input };
}
