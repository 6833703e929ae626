import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { countPrompt } from "../base/prompt_tokens.ts";
import {
  anyObject,
  commonFields,
  objects,
  requiredList,
  stopList,
  textOf,
  tokenBound,
  toolOf,
} from "../base/read_fields.ts";
import {
  emptyTurn,
  type OutputFormat,
  type SandboxRequest,
  type SandboxTool,
  type ToolChoice,
  type Turn,
} from "../base/request.ts";

/** Reads a Gemini request. @throws {SandboxRefusal} */
export function readGeminiRequest(body: JsonObject): SandboxRequest {
  const contents = requiredList(body, "contents").filter(isJsonObject);
  const config = objectOf(body["generationConfig"]);
  const tools = objects(body["tools"]).flatMap((tool) => objects(tool["functionDeclarations"]));
  const { choice, allowed } = choiceOf(body["toolConfig"]);
  return {
    ...commonFields(body, lastTurn(contents)),
    includeUsage: true,
    choices: tokenBound(config, "candidateCount", 1) ?? 1,
    tools: tools.flatMap(toolFrom).filter(({ name }) => allowed?.includes(name) !== false),
    toolChoice: choice,
    parallelTools: true,
    maxTokens: tokenBound(config, "maxOutputTokens", 1) ?? Infinity,
    stopSequences: stopList(config["stopSequences"]),
    reasoning: wantsThoughts(config["thinkingConfig"]),
    format: formatOf(config),
    prompt: countPrompt(tools, body["systemInstruction"] ?? null, contents),
  };
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function wantsThoughts(config: Json | undefined): boolean {
  const { includeThoughts, thinkingBudget } = objectOf(config);
  return includeThoughts === true && thinkingBudget !== 0;
}

function lastTurn(contents: readonly JsonObject[]): Turn {
  const turn = emptyTurn();
  const isAnswer = (content: JsonObject) => content["role"] === "model";
  const last = contents.findLastIndex(isAnswer);
  const before = last === contents.length - 1
    ? contents.slice(0, last).findLastIndex(isAnswer)
    : last;
  for (const content of contents.slice(before + 1)) {
    if (isAnswer(content)) continue;
    const parts = objects(content["parts"]);
    const text = textOf(parts.filter((part) => typeof part["text"] === "string"));
    if (text !== "") turn.texts.push(text);
    for (const part of parts) {
      if (isJsonObject(part["functionResponse"])) {
        turn.toolResults.push(resultText(part["functionResponse"]["response"]));
      } else if (part["text"] === undefined) turn.attachments++;
    }
  }
  return turn;
}

function resultText(response: Json | undefined): string {
  const { output, error } = objectOf(response);
  const said = output ?? error ?? response ?? null;
  return typeof said === "string" ? said : JSON.stringify(said);
}

function toolFrom(tool: JsonObject): readonly SandboxTool[] {
  return toolOf(tool["name"], lowerTypes(tool["parametersJsonSchema"] ?? tool["parameters"] ?? {}));
}

/** The vendor's own form of a schema has types in upper case. */
function lowerTypes(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(lowerTypes);
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]): [string, Json] => [
      name,
      name === "type" && typeof value === "string"
        ? value.toLowerCase()
        : lowerTypes(value ?? null),
    ]),
  );
}

function choiceOf(
  config: Json | undefined,
): { readonly choice: ToolChoice; readonly allowed?: readonly Json[] } {
  const calling = objectOf(objectOf(config)["functionCallingConfig"]);
  const names = calling["allowedFunctionNames"];
  const allowed = Array.isArray(names) && names.length > 0 ? { allowed: names } : {};
  if (calling["mode"] === "NONE") return { choice: { type: "none" } };
  return { choice: { type: calling["mode"] === "ANY" ? "any" : "auto" }, ...allowed };
}

function formatOf(config: JsonObject): OutputFormat {
  if (config["responseMimeType"] !== "application/json") return { type: "text" };
  const schema = lowerTypes(config["responseJsonSchema"] ?? config["responseSchema"] ?? anyObject);
  return { type: "json", schema: isJsonObject(schema) ? schema : anyObject };
}
