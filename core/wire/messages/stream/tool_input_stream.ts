/** Streams the input of one tool call to a Messages client, as an object whatever the model wrote. */
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import { GatewayError } from "../../../lib/errors/errors.ts";
import { bufferedBlockBytes } from "../../contract/limits.ts";
import { answerArguments } from "../../tools/tool_arguments.ts";

const openBrace = 0x7b;
const notBlank = /[^ \t\n\r]/;

/**
 * Pieces of an object pass at once. Anything else (arguments encoded twice, a list, `null`) is buffered until the call
 * ends, and converted as in a whole answer: client libraries throw on a string or a list, or pass it to a caller that
 * could not send the call back.
 *
 * @example
 * ```ts
 * import { ToolInputStream } from "./tool_input_stream.ts";
 * const twice = new ToolInputStream();
 * if (twice.take(JSON.stringify('"{\\"x\\":1}"')) !== undefined) throw new Error("a string went out");
 * if (twice.end() !== JSON.stringify('{"x":1}')) throw new Error("not decoded");
 * ```
 */
export class ToolInputStream {
  /** `blank`: nothing but white space so far. */
  #kind: "blank" | "object" | "other" = "blank";
  #held: string[] = [];
  #bufferedChars = 0;

  /**
   * The next piece, as a JSON string literal. Returns the literal that goes out now, if any.
   *
   * @throws {GatewayError} `upstream_unreachable` when more than `bufferedBlockBytes` would be kept
   */
  take(json: string): string | undefined {
    if (this.#kind === "object") return json;
    if (this.#bufferedChars === 0 && json.charCodeAt(1) === openBrace) {
      this.#kind = "object";
      return json;
    }
    const text: string = JSON.parse(json);
    this.#hold(text);
    if (this.#kind === "blank") {
      const at = text.search(notBlank);
      if (at >= 0) this.#kind = text.charCodeAt(at) === openBrace ? "object" : "other";
    }
    return this.#kind === "object" ? stringifyExactly(this.#release()) : undefined;
  }

  /** Nothing follows. Returns what goes out instead of what was kept; blank text is no input, as none at all is. */
  end(): string | undefined {
    if (this.#kind !== "other") return undefined;
    const input = answerArguments({ kind: "json_text", text: this.#release() });
    return stringifyExactly(stringifyExactly(input));
  }

  #hold(text: string): void {
    this.#held.push(text);
    this.#bufferedChars += text.length;
    if (this.#bufferedChars > bufferedBlockBytes) {
      throw new GatewayError("upstream_unreachable", "The model's tool call is too long");
    }
  }

  #release(): string {
    const text = this.#held.join("");
    this.#held = [];
    this.#bufferedChars = 0;
    return text;
  }
}
