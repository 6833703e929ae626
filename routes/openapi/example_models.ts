/** The models that the examples of the document name: one of each kind that the catalogue has. */
import type { Catalog, ModelKind } from "../../core/catalog/catalog.ts";

/** A model for each kind. */
export type ExampleModels = Readonly<Record<ModelKind, string>>;

/**
 * Chooses the models of the examples: the default model for chats, the first of every other kind. A kind that the
 * catalogue lacks has a name that says so.
 */
export function exampleModels({ models, defaultModel }: Pick<Catalog, "models" | "defaultModel">) {
  const first = (kind: ModelKind) => models.find((model) => model.kind === kind)?.id ?? `${kind}-1`;
  return {
    chat: defaultModel.id,
    image: first("image"),
    speech: first("speech"),
    video: first("video"),
    embedding: first("embedding"),
    transcription: first("transcription"),
    rerank: first("rerank"),
    moderation: first("moderation"),
    completion: first("completion"),
  } satisfies ExampleModels;
}
