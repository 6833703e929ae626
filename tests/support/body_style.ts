import type { Style } from "../../core/wire/contract/contract.ts";

/** A style whose requests name their model in the body, and whose streams have a last event: all but Gemini. */
export type BodyStyle = Exclude<Style, "gemini">;
