/** Renders calls of hosted tools in the history for vendors that did not run them. */
import type {
  AnswerBlock,
  Citation,
  HostedCall,
  HostedCallBlock,
  StreamEvent,
  WebSource,
} from "../conversation/mod.ts";
import type { EventSink } from "../stream/dialect.ts";
import type { Warnings } from "../contract/warnings.ts";

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
    case "mcp_list":
      return `[Listed the tools of ${call.server}]`;
    case "mcp_approval":
      return `[Asked to call ${call.name} of ${call.server} with ${call.arguments}]`;
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

/** Sources of an answer that are shown as those of a search: a few pages of results. */
const maxShownSources = 50;

/** The id of a search whose provider shows only its sources. */
const unshownSearchId = "sources";

function searchOf(sources: ReadonlyMap<string, WebSource>): HostedCall {
  return { tool: "web_search", query: "", sources: [...sources.values()], failed: false };
}

/** Adds a source unless it is known. */
function addSource(sources: Map<string, WebSource>, { url, title }: Citation): void {
  if (sources.size >= maxShownSources || sources.has(url)) return;
  sources.set(url, { url, ...(title === "" ? {} : { title }) });
}

/**
 * Adds a search with the sources of an answer, if its provider shows no search: agents that asked for one read its
 * results, not the citations of the text.
 */
export function withSearchOfSources(blocks: readonly AnswerBlock[]): readonly AnswerBlock[] {
  const sources = new Map<string, WebSource>();
  for (const block of blocks) {
    if (block.type === "hosted_call" && block.call.tool === "web_search") return blocks;
    if (block.type !== "text") continue;
    for (const citation of block.citations ?? []) addSource(sources, citation);
  }
  if (sources.size === 0) return blocks;
  const call = searchOf(sources);
  return [...blocks, { type: "hosted_call", path: "", style: "chat", id: unshownSearchId, call }];
}

/** The same for the events of a stream: the search follows the last block. */
export function searchOfSourcesSink(emit: EventSink): EventSink {
  const sources = new Map<string, WebSource>();
  let showsSearch = false;
  let lastBlock = -1;
  return (event: StreamEvent) => {
    if ("block" in event) lastBlock = Math.max(lastBlock, event.block);
    if (event.type === "citation") addSource(sources, event.citation);
    else if (event.type === "hosted_call") showsSearch ||= event.call.tool === "web_search";
    else if (event.type === "end" && !showsSearch && sources.size > 0) {
      const block = lastBlock + 1;
      const call = searchOf(sources);
      emit({ type: "hosted_call", block, style: "chat", id: unshownSearchId, call });
      emit({ type: "block_end", block });
    }
    emit(event);
  };
}
