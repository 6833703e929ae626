/**
 * Wire styles: conversion, native pipes, readings, errors. Everything here is pure and synchronous.
 *
 * - Folder `core/wire/`: the three wire styles of chat: conversion over one typed form, native
 *   pipes, readings of answers.
 * - In: requests, answers and stream bytes in one style, and the capabilities of the route.
 * - Out: the same in another style, with every field named that could not be carried.
 * - Never: awaits, reads a clock, keeps anything beyond its call, or converts through a third
 *   style.
 */
export type * from "./contract.ts";
export { readAnswer } from "./answer_reading.ts";
export { convertAnswer, convertRequest, type RequestConversion } from "./convert.ts";
export { createConvertingPipe } from "./stream/converting_pipe.ts";
export { decodeProviderError, type ProviderErrorOptions } from "./errors/errors.ts";
export {
  resolveCapabilities,
  type ResolvedCapabilities,
  routeCapabilitiesSchema,
} from "./capabilities.ts";
export { createNativePipe, type NativePipeContext } from "./stream/native_pipe.ts";
export { withoutForeignBlocks } from "./messages/foreign_blocks.ts";
export { thinkingOffInMixedLoop } from "./messages/tool_loop.ts";
export { sealPrefix } from "./reasoning_seal.ts";
export { withoutSealedReasoning } from "./responses/reasoning_item.ts";
