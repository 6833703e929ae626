/** Renders calls of hosted tools in the history for vendors that did not run them. */
import type { HostedCall, HostedCallBlock, WebSource } from "../conversation/mod.ts";
import type { Warnings } from "../warnings.ts";

/**
 * The mark in ids of hosted calls that the gateway wrote for a client of another style than the provider's. It has no
 * dot, which ids may not contain.
 */
export const hostedIdMark = "ugw1_";

/** Describes a hosted call and its result as text for another model; warns of both places. */
export function renderHostedCall(block: HostedCallBlock, warnings: Warnings): string {
  warnings.add(block.path);
  if (block.resultPath !== undefined) warnings.add(block.resultPath);
  return `${inWords(block.call)}\n\n`;
}

function inWords(call: HostedCall): string {
  const failed = call.failed ? " (failed)" : "";
  switch (call.tool) {
    case "web_search": {
      const { query, sources = [] } = call;
      if (sources.length > 0) return `Web search results:\n${sources.map(sourceLine).join("\n")}`;
      return `[Searched the web${query === "" ? "" : ` for: ${query}`}]${failed}`;
    }
    case "web_fetch":
      return `[Fetched ${call.url}]${failed}${below(call.text)}`;
    case "code_execution":
      return `[Ran code]${failed}\n${call.code}${below(labelled("Output:", call.output))}`;
    case "mcp": {
      const called = `[Called ${call.name} of ${call.server} with ${call.arguments}]`;
      return called + failed + below(call.output);
    }
  }
}

function sourceLine({ url, title = "" }: WebSource): string {
  return `- ${title} (${url})`;
}

function labelled(label: string, text: string | undefined): string | undefined {
  return text === undefined || text === "" ? undefined : `${label}\n${text}`;
}

function below(text: string | undefined): string {
  return text === undefined || text === "" ? "" : `\n${text}`;
}
