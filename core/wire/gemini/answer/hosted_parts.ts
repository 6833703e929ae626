/**
 * Reads the parts of tools that the vendor runs, which are a call and its result: `executableCode` with
 * `codeExecutionResult`, and `toolCall` with `toolResponse`, which come where hosted tools stand beside functions.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-answer.
 */
import { defined } from "../../../lib/base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { AnswerBlock, Block, HostedCall, HostedCallBlock } from "../../conversation/mod.ts";
import { readInlinePicture } from "../../fields/pictures.ts";
import { readInlineSound } from "../../fields/sound.ts";

/** Reads a part that is neither text nor a function's call; what no other style has is kept as foreign. */
export function otherParts(part: JsonObject, path: string): AnswerBlock[] {
  const code = isJsonObject(part.executableCode) ? part.executableCode.code : undefined;
  if (typeof code === "string") {
    return [blockOf(path, "", { tool: "code_execution", code, failed: false })];
  }
  const calls = isJsonObject(part.toolCall) ? toolCalls(part.toolCall, path) : [];
  if (calls.length > 0) return calls;
  // Pictures among the thoughts are drafts of the one that follows.
  const picture = part.thought === true ? undefined : readInlinePicture(part.inlineData);
  if (picture !== undefined) return [{ type: "picture", path, url: picture }];
  const sound = part.thought === true ? undefined : readInlineSound(part.inlineData);
  if (sound !== undefined) return [{ type: "sound", path, ...sound }];
  const media = part.thought === true ? undefined : mediaOf(part);
  const kind = media ?? Object.keys(part).find((name) => !besides.has(name)) ?? "thought";
  const isDraft = part.thought === true && mediaOf(part) !== undefined;
  const isQuiet = isDraft || besides.has(kind) || ranInside.has(kind);
  const otherwise = isQuiet ? "ignore" : "warn";
  return [{ type: "foreign", style: "gemini", path, kind, raw: part, otherwise }];
}

/** Members of a part that say nothing by themselves. */
const besides: ReadonlySet<string> = new Set(["text", "thought", "thoughtSignature"]);

/** Parts of tools that the vendor ran, whose results are in the text. */
const ranInside: ReadonlySet<string> = new Set([
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
  "functionResponse",
]);

/** The name of the member with sound, a film or a file, if the part has any. */
function mediaOf({ inlineData, fileData }: JsonObject): string | undefined {
  if (isJsonObject(inlineData) && inlineData.data !== undefined) return "inlineData";
  return isJsonObject(fileData) && fileData.fileUri !== undefined ? "fileData" : undefined;
}

function blockOf(path: string, id: string, call: HostedCall): HostedCallBlock {
  return { type: "hosted_call", style: "gemini", path, id, call };
}

/** Reads a call of one of the tools that other vendors have too. It may be for several queries or pages. */
function toolCalls({ toolType, args, id }: JsonObject, path: string): HostedCallBlock[] {
  const told = isJsonObject(args) ? args : {};
  const calls = toolType === "GOOGLE_SEARCH_WEB"
    ? textsOf(told.queries ?? told.query).map((query): HostedCall => ({
      tool: "web_search",
      query,
      failed: false,
    }))
    : toolType === "URL_CONTEXT"
    ? textsOf(told.urls ?? told.url).map((url): HostedCall => ({
      tool: "web_fetch",
      url,
      failed: false,
    }))
    : [];
  const first = typeof id === "string" ? id : "";
  return calls.map((call, i) => blockOf(path, i === 0 ? first : `${first}#${i + 1}`, call));
}

/** The texts of a member that is a list of texts or one of them. */
function textsOf(value: Json | undefined): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.flatMap((text) => typeof text === "string" && text !== "" ? [text] : []);
}

/**
 * Adds the result that a part has to its calls in `blocks`: that of code to the last block, any other by its id. Returns
 * whether there are such calls.
 *
 * @example
 * ```ts
 * import { addHostedResult, otherParts } from "./hosted_parts.ts";
 * const blocks = otherParts({ executableCode: { language: "PYTHON", code: "print(1)" } }, "");
 * const result = { outcome: "OUTCOME_OK", output: "1" };
 * if (!addHostedResult(blocks, { codeExecutionResult: result })) throw new Error("not its result");
 * if (!JSON.stringify(blocks).includes('"output":"1"')) throw new Error("the output is lost");
 * ```
 */
export function addHostedResult(
  blocks: (AnswerBlock | Block)[],
  part: JsonObject,
  resultPath?: string,
): boolean {
  let isAdded = false;
  blocks.forEach((block, i) => {
    if (block.type !== "hosted_call") return;
    const call = withResult(block, part, i === blocks.length - 1);
    if (call === undefined) return;
    blocks[i] = { ...block, call, ...defined({ resultPath }) };
    isAdded = true;
  });
  return isAdded;
}

/** Returns the call with the result that a part has; `undefined` if it has none of this call. */
function withResult(
  { id, call }: HostedCallBlock,
  { codeExecutionResult: printed, toolResponse: response }: JsonObject,
  isLast: boolean,
): HostedCall | undefined {
  if (isJsonObject(printed) && call.tool === "code_execution") {
    const { output, outcome } = printed;
    const failed = outcome !== "OUTCOME_OK";
    return isLast
      ? { ...call, ...(typeof output === "string" ? { output } : {}), failed }
      : undefined;
  }
  if (!isJsonObject(response) || typeof response.id !== "string" || response.id === "") {
    return undefined;
  }
  if (id !== response.id && !id.startsWith(`${response.id}#`)) return undefined;
  const result = isJsonObject(response.response) ? response.response : {};
  return { ...call, failed: result.error !== undefined || isUnread(call, result) };
}

/** Whether a page could not be read. */
function isUnread(call: HostedCall, { url_metadata: pages }: JsonObject): boolean {
  if (call.tool !== "web_fetch" || !Array.isArray(pages)) return false;
  return pages.filter(isJsonObject).some(({ retrieved_url: url, url_retrieval_status: status }) =>
    url === call.url && typeof status === "string" && status !== "URL_RETRIEVAL_STATUS_SUCCESS"
  );
}
