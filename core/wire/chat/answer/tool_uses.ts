/** Tells from a Chat answer whether its provider searched: few servers of this style count their searches. */
import { isJsonObject, type Json } from "../../../lib/json/json.ts";

/** Whether `annotations` of a message or a delta cite a page of the web. */
export function hasSources(annotations: Json | undefined): boolean {
  return Array.isArray(annotations) &&
    annotations.some((one) => isJsonObject(one) && one["type"] === "url_citation");
}
