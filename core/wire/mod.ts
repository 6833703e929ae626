/**
 * Wire styles: conversion, native pipes, readings, errors. Usable as a library without the gateway.
 *
 * - Folder `core/wire/`: the wire styles of chat: conversion over one typed form, native
 *   pipes, readings of answers.
 * - In: requests, answers and stream bytes in one style, and the capabilities of the route.
 * - Out: the same in another style, with every field named that could not be carried.
 * - Never: reads a clock, keeps anything beyond its call, or converts through a third style. All of
 *   it is synchronous but `convertStream`, which waits for the stream that it reads.
 *
 * A client of one style is served by a model of another in three steps: {@linkcode convertRequest},
 * the request to the provider, and {@linkcode convertAnswer} or {@linkcode convertStream}. Read JSON
 * with {@linkcode parseExactly} and write it with {@linkcode stringifyExactly}: they keep numbers
 * outside double precision on every runtime.
 *
 * @example A Messages client on a Chat model
 * ```ts
 * import { convertAnswer, convertRequest, errorBody, parseExactly, stringifyExactly } from "./mod.ts";
 * import { isJsonObject, type JsonObject, type PipeContext } from "./mod.ts";
 *
 * function jsonObject(text: string): JsonObject {
 *   const value = parseExactly(text);
 *   if (!isJsonObject(value)) throw new SyntaxError("Not an object");
 *   return value;
 * }
 *
 * // 1. The client's request, in the style of the provider.
 * const asked = jsonObject(`{"model":"mine","max_tokens":100,"top_k":5,
 *   "messages":[{"role":"user","content":"Hello"}]}`);
 * const conversion = convertRequest("messages", "chat", asked, {
 *   capabilities: { max_tokens_field: "max_tokens" },
 *   upstreamModel: "vendor-1",
 *   maxOutputTokens: 4096,
 * });
 * if (!conversion.ok) throw new Error(JSON.stringify(errorBody(conversion.error, "messages", "req_1")));
 * const { body, dropped, memory } = conversion.request;
 * if (dropped.join() !== "top_k") throw new Error("Chat has no top_k");
 * if (stringifyExactly(body) !== '{"model":"vendor-1","messages":[{"role":"user","content":"Hello"}],' +
 *   '"max_tokens":100}') throw new Error(stringifyExactly(body));
 *
 * // 2. Send it: const answer = await fetch(url, { method: "POST", body: stringifyExactly(body) });
 * const answer = jsonObject(`{"id":"c1","object":"chat.completion","created":1,"model":"vendor-1","choices":
 *   [{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],
 *   "usage":{"prompt_tokens":9,"completion_tokens":1}}`);
 *
 * // 3. The answer, in the client's style.
 * const context: PipeContext = {
 *   clientModel: "mine", requestId: "req_1", clientWantsUsage: false, nowSeconds: 1_800_000_000,
 * };
 * const message = convertAnswer("chat", "messages", answer, context, memory);
 * if (message.stop_reason !== "end_turn" || message.model !== "mine") throw new Error("not converted");
 * ```
 */
export type * from "./contract/contract.ts";
export { readAnswer } from "./convert/answer_reading.ts";
export { convertAnswer, convertRequest, type RequestConversion } from "./convert/convert.ts";
export { type ConvertedStream, convertStream } from "./convert/convert_stream.ts";
export { createConvertingPipe } from "./convert/converting_pipe.ts";
export type { ProviderErrorOptions } from "./errors/provider_error.ts";
export { decodeProviderError } from "./convert/provider_errors.ts";
export {
  resolveCapabilities,
  type ResolvedCapabilities,
  routeCapabilitiesSchema,
} from "./contract/capabilities.ts";
export { createNativePipe, type NativePipeContext } from "./convert/dialects.ts";
export { withoutOwnReasoning } from "./chat/request/own_reasoning.ts";
export { withoutForeignSignatures, withReferenceNames } from "./gemini/request/field_names.ts";
export { unsignedCall, wrappedPrefix } from "./gemini/answer/thought_signatures.ts";
export { statelessAdvice } from "./fields/stateless_advice.ts";
export { isStoredFile } from "./gemini/request/decode_contents.ts";
export { hasPathMembers, withoutPathMembers } from "./contract/path_members.ts";
export { withoutForeignBlocks } from "./messages/request/decode_blocks.ts";
export { mixesStylesInLoop, thinkingOffInMixedLoop } from "./messages/request/encode_thinking.ts";
export { sealPrefix } from "./fields/reasoning_seal.ts";
export { withoutSealedReasoning } from "./responses/items/output_items.ts";
export { errorBody, GatewayError } from "../lib/errors/errors.ts";
export { parseExactly } from "../lib/json/exact_json.ts";
export { isJsonObject, type Json, type JsonObject } from "../lib/json/json.ts";
export { stringifyExactly } from "../lib/runtime/built_ins.ts";
