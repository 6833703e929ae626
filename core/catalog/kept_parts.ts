/**
 * Takes over the providers and routes of the former catalogue that a new one has unchanged.
 *
 * Routing keeps what it learned (breakers, speed, resting keys) by these objects, so what is the same keeps its object,
 * and what was changed begins without a history. A route is the same only if its provider is.
 */
import type { Model } from "./entries/model.ts";
import type { ProviderEntry } from "./schema.ts";

type Providers = Readonly<Record<string, ProviderEntry>>;

/** What is taken over of the catalogue before. */
export interface FormerCatalog {
  readonly providers: Providers;
  find(name: string): Model | undefined;
}

/** Writes what JSON has no form for: amounts, rates by name, sets of features. */
function written(_member: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one, written) === JSON.stringify(other, written);
}

/** Returns the providers, those that are as before with the objects of the former catalogue. */
export function keptProviders(providers: Providers, former: FormerCatalog | undefined): Providers {
  if (former === undefined) return providers;
  return Object.fromEntries(
    Object.entries(providers).map(([name, provider]) => {
      const before = Object.hasOwn(former.providers, name) ? former.providers[name] : undefined;
      return [name, before !== undefined && isSame(before, provider) ? before : provider];
    }),
  );
}

/** Returns the model, those of its routes that are as before with the objects of the former catalogue. */
export function withKeptRoutes(
  model: Model,
  providers: Providers,
  former: FormerCatalog | undefined,
): Model {
  const before = former?.find(model.id);
  if (former === undefined || before?.id !== model.id) return model;
  const routes = model.routes.map((route) => {
    const same = before.routes.find(({ id }) => id === route.id);
    return same !== undefined && providers[route.provider] === former.providers[route.provider] &&
        isSame(same, route)
      ? same
      : route;
  });
  return { ...model, routes };
}
