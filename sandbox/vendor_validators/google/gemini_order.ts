/**
 * Checks that span several fields: the order of calls and responses, and fields that need each other
 * (docs/internals/WIRE_FORMATS.md#gemini-contents). Each check returns the vendor's refusal or `undefined`.
 */
import type { GeminiRequest } from "./gemini_schema.ts";

type Check = (request: GeminiRequest) => string | undefined;
type Content = GeminiRequest["contents"][number];

function calls({ parts }: Content): string[] {
  return parts.flatMap((part) => part.functionCall === undefined ? [] : [part.functionCall.name]);
}

function responses({ parts }: Content): string[] {
  return parts.flatMap((part) =>
    part.functionResponse === undefined ? [] : [part.functionResponse.name]
  );
}

/**
 * Joins neighbouring contents of the model, which the vendor reads as one turn: its libraries keep each chunk of a stream
 * as a content of its own.
 */
function turnsOf({ contents }: GeminiRequest): Content[] {
  const turns: Content[] = [];
  for (const content of contents) {
    const last = turns.at(-1);
    if (content.role === "model" && last?.role === "model") {
      turns[turns.length - 1] = { ...last, parts: [...last.parts, ...content.parts] };
    } else turns.push(content);
  }
  return turns;
}

/** A turn with calls comes after a turn of the user, and the next turn has one response for each call. */
const callsInPlace: Check = (request) => {
  const turns = turnsOf(request);
  for (const [at, content] of turns.entries()) {
    const made = calls(content);
    const before = turns[at - 1];
    if (made.length > 0 && (before === undefined || before.role === "model")) {
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    }
    const given = responses(content);
    const open = before === undefined ? [] : calls(before);
    if (given.length !== open.length) {
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    }
    if (given.some((name) => !open.includes(name))) {
      return "Please ensure that function response turn comes immediately after a function call turn.";
    }
  }
  const last = turns.at(-1);
  return last !== undefined && calls(last).length > 0
    ? "Please ensure that single turn requests end with a user role or a function response."
    : undefined;
};

const rolesInPlace: Check = ({ contents }) =>
  contents.some((content) => content.role === "model" && responses(content).length > 0)
    ? "Function responses must have the role user."
    : undefined;

const choiceNamesTool: Check = ({ tools = [], toolConfig }) => {
  const calling = toolConfig?.functionCallingConfig;
  const names = tools.flatMap((tool) => tool.functionDeclarations ?? []).map(({ name }) => name);
  if (new Set(names).size < names.length) return "Duplicate function declaration found.";
  const allowed = calling?.allowedFunctionNames ?? [];
  if (calling?.mode === "ANY" && names.length === 0) {
    return "Function calling config is set without function_declarations.";
  }
  if (allowed.length > 0 && calling?.mode !== "ANY" && calling?.mode !== "VALIDATED") {
    return "allowed_function_names should only be set when mode is ANY or VALIDATED.";
  }
  const missing = allowed.find((name) => !names.includes(name));
  return missing === undefined ? undefined : `Function "${missing}" is not declared.`;
};

const schemaNeedsJson: Check = ({ generationConfig: config }) => {
  if (config === undefined) return undefined;
  const { responseJsonSchema, responseSchema, responseMimeType } = config;
  const hasSchema = responseJsonSchema !== undefined || responseSchema !== undefined;
  if (responseJsonSchema !== undefined && responseSchema !== undefined) {
    return "response_schema and response_json_schema are mutually exclusive.";
  }
  return hasSchema && responseMimeType !== "application/json" && responseMimeType !== "text/x.enum"
    ? "response_schema requires response_mime_type application/json or text/x.enum."
    : undefined;
};

/** All checks, in the order in which the vendor reports. */
export const geminiChecks: readonly Check[] = [
  rolesInPlace,
  callsInPlace,
  choiceNamesTool,
  schemaNeedsJson,
];
