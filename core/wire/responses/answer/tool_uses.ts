/** Counts hosted tools in a Responses answer by its output items. */
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { maxToolCallsPerAnswer } from "../../contract/limits.ts";
import { ToolUseCount } from "../../tools/tool_uses.ts";

/**
 * Counts the items of one answer. Of the actions of a search only searches are billed, not the pages that it opens; a
 * code interpreter is billed by its container.
 */
export class ItemUses {
  readonly count = new ToolUseCount(true);
  readonly #containers = new Set<string>();

  /** Enters a finished output item. */
  item(item: JsonObject): void {
    if (item["status"] === "failed") return;
    switch (item["type"]) {
      case "web_search_call": {
        const { action } = item;
        const type = isJsonObject(action) ? action["type"] : undefined;
        if (type === undefined || type === null || type === "search") this.count.saw("web_search");
        return;
      }
      case "file_search_call":
        return this.count.saw("file_search");
      case "image_generation_call":
        return this.count.saw("image_generation");
      case "code_interpreter_call":
        return this.#code(item["container_id"]);
    }
  }

  #code(container: unknown): void {
    if (typeof container === "string") {
      if (this.#containers.has(container)) return;
      if (this.#containers.size < maxToolCallsPerAnswer) this.#containers.add(container);
    }
    this.count.saw("code_execution");
  }
}
