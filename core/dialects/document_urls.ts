/** Documents that a client names by URL, and routes that take only their data. */
import { GatewayError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { RouteFacts, Style } from "./contract.ts";
import type { Block, Conversation, DocumentBlock, Turn } from "./conversation/mod.ts";
import { dialectOf } from "./dialects.ts";
import { resolveFacts } from "./facts.ts";

/** What was behind a URL. */
export interface FetchedDocument {
  readonly mediaType: string;
  readonly base64: string;
}

/** What was fetched for a route, by URL. */
export interface FetchedDocuments {
  readonly get: (url: string) => FetchedDocument | undefined;
}

/** A document of a request. */
export interface DocumentUrl {
  readonly url: string;
  /** Where it stands in the client's request. */
  readonly path: string;
}

/** Whether a route takes documents, but cannot fetch them itself. */
export function takesDocumentData(style: Style, given: RouteFacts): boolean {
  const facts = resolveFacts(style, given);
  return facts.files && (style === "chat" || (style === "messages" && facts.images === "base64"));
}

/**
 * The documents of a request that are named by URL, each URL once. None in a request that cannot be read: its
 * conversion tells what is wrong.
 */
export function documentUrls(style: Style, body: JsonObject): readonly DocumentUrl[] {
  const found = new Map<string, DocumentUrl>();
  try {
    for (const { blocks } of dialectOf(style).decodeRequest(body).turns) {
      for (const block of documentsOf(blocks)) {
        const { source, path } = block;
        if (source.kind === "url" && !found.has(source.url)) {
          found.set(source.url, { url: source.url, path });
        }
      }
    }
  } catch (error) {
    if (error instanceof GatewayError) return [];
    throw error;
  }
  return [...found.values()];
}

function documentsOf(blocks: readonly Block[]): DocumentBlock[] {
  return blocks.flatMap((block) =>
    block.type === "tool_result"
      ? block.content.filter((inner) => inner.type === "document")
      : block.type === "document"
      ? [block]
      : []
  );
}

/** The conversation with the data of what was fetched in the place of its URLs. */
export function withFetchedDocuments(
  conversation: Conversation,
  documents: FetchedDocuments,
): Conversation {
  const turns = conversation.turns.map((turn): Turn => ({
    ...turn,
    blocks: turn.blocks.map((block): Block => {
      if (block.type === "document") return filled(block, documents);
      if (block.type !== "tool_result") return block;
      const content = block.content.map((inner) =>
        inner.type === "document" ? filled(inner, documents) : inner
      );
      return { ...block, content };
    }),
  }));
  return { ...conversation, turns };
}

function filled(block: DocumentBlock, documents: FetchedDocuments): DocumentBlock {
  const fetched = block.source.kind === "url" ? documents.get(block.source.url) : undefined;
  if (fetched === undefined) return block;
  const { mediaType, base64 } = fetched;
  return { ...block, source: { kind: "base64", mediaType, data: base64 } };
}
