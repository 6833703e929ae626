/** Finds documents and images that a request names by URL, and replaces the URLs by fetched data. */
import { GatewayError } from "../../lib/errors/errors.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { RemoteKind } from "../../net/remote/guarded_fetch.ts";
import type {
  FetchedDocuments,
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../contract/contract.ts";
import type { Block, Conversation, DocumentBlock, ImageBlock, Turn } from "../conversation/mod.ts";
import { dialectOf } from "./dialects.ts";
import { resolveCapabilities } from "../contract/capabilities.ts";

/** A document or an image of a request. */
export interface DocumentUrl {
  readonly kind: RemoteKind;
  readonly url: string;
  /** Its path in the client's request. */
  readonly path: string;
}

/** Whether a route takes the content of a URL, but cannot fetch it. */
export function takesData(
  style: ProviderStyle,
  given: RouteCapabilities,
  { kind, url }: DocumentUrl,
): boolean {
  if (kind === "document") return takesDocumentData(style, given);
  const { images } = resolveCapabilities(style, given);
  if (images === "base64") return style !== "responses";
  // The Messages vendor fetches over TLS only.
  return images === "url" && style === "messages" && /^http:/i.test(url);
}

/** Whether a route takes documents, but cannot fetch them. */
function takesDocumentData(style: ProviderStyle, given: RouteCapabilities): boolean {
  const capabilities = resolveCapabilities(style, given);
  return capabilities.files &&
    (style === "chat" || (style !== "responses" && capabilities.images === "base64"));
}

/**
 * Returns the documents and images that a request names by URL, each URL once; none if the request cannot be read,
 * since its conversion reports the error.
 */
export function documentUrls(style: Style, body: JsonObject): readonly DocumentUrl[] {
  const found = new Map<string, DocumentUrl>();
  try {
    for (const { blocks } of dialectOf(style).decodeRequest(body).turns) {
      for (const block of documentsOf(blocks)) {
        const { source, path } = block;
        if (source.kind === "url" && !found.has(source.url)) {
          const kind = block.type === "image" ? "picture" : "document";
          found.set(source.url, { kind, url: source.url, path });
        }
      }
    }
  } catch (error) {
    if (error instanceof GatewayError) return [];
    throw error;
  }
  return [...found.values()];
}

type Remote = DocumentBlock | ImageBlock;

function documentsOf(blocks: readonly Block[]): Remote[] {
  return blocks.flatMap((block): Remote[] =>
    block.type === "tool_result"
      ? block.content.filter((inner) => inner.type === "document" || inner.type === "image")
      : block.type === "document" || block.type === "image"
      ? [block]
      : []
  );
}

/** Replaces URLs in a conversation by the data fetched for them. */
export function withFetchedDocuments(
  conversation: Conversation,
  documents: FetchedDocuments,
): Conversation {
  const turns = conversation.turns.map((turn): Turn => ({
    ...turn,
    blocks: turn.blocks.map((block): Block => {
      if (block.type === "document" || block.type === "image") return filled(block, documents);
      if (block.type !== "tool_result") return block;
      const content = block.content.map((inner) =>
        inner.type === "document" || inner.type === "image" ? filled(inner, documents) : inner
      );
      return { ...block, content };
    }),
  }));
  return { ...conversation, turns };
}

function filled<Block extends Remote>(block: Block, documents: FetchedDocuments): Block {
  const kind = block.type === "image" ? "picture" : "document";
  const { source } = block;
  const fetched = source.kind === "url" ? documents.get(source.url, kind) : undefined;
  if (fetched === undefined) return block;
  const { mediaType, base64 } = fetched;
  return { ...block, source: { kind: "base64", mediaType, data: base64 } };
}
