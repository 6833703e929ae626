/**
 * Keeps the views of a person: filters of the list of calls with names, of each organisation its own. They are the
 * person's alone: nobody else sees or changes them, and they grant nothing.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { accountKey, savedViewsKey, savedViewsPrefix } from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, hasOnlyBooks } from "./accounts.ts";

/** Views of a person in one organisation: as many as a row of links holds. */
export const maxSavedViews = 20;

/** Characters of a name, which is a link among others, and of a query, which names a few parts of a filter. */
export const maxViewNameChars = 40;
export const maxViewQueryChars = 1_000;

/** A filter with a name. */
export interface SavedView {
  readonly name: string;
  /** As in the address of the page, without the question mark. */
  readonly query: string;
}

/** Owner and place of views. */
export interface ViewsOf {
  readonly personId: AccountId;
  readonly organisationId: AccountId;
}

/** Attempts of a check-and-set: a person competes only with another window. */
const saveAttempts = 5;

/** Reads the views of a person in one organisation, in the order in which they were saved. */
export async function listSavedViews(
  kv: KeyValueStore,
  { personId, organisationId }: ViewsOf,
): Promise<readonly SavedView[]> {
  const { value } = await kv.get<readonly SavedView[]>(savedViewsKey(personId, organisationId));
  return value ?? [];
}

/** Reads the views of a person in all organisations. */
export async function listAllSavedViews(
  kv: KeyValueStore,
  personId: AccountId,
): Promise<SavedView[]> {
  const rows = kv.list<readonly SavedView[]>({ prefix: savedViewsPrefix(personId) });
  return (await Array.fromAsync(rows)).flatMap(({ value }) => value);
}

/**
 * Changes the views of a person in one organisation.
 *
 * @returns `false` if there would be too many, or another window kept changing them
 */
async function changeViews(
  kv: KeyValueStore,
  { personId, organisationId }: ViewsOf,
  change: (views: readonly SavedView[]) => readonly SavedView[],
): Promise<boolean> {
  const outcome = await compareAndSet<boolean>(async () => {
    const [person, entry] = await kv.getMany<[Account, readonly SavedView[]]>([
      accountKey(personId),
      savedViewsKey(personId, organisationId),
    ]);
    const views = change(entry.value ?? []);
    if (person.value === null || hasOnlyBooks(person.value)) return { done: false };
    if (views.length > maxSavedViews) return { done: false };
    // Without the check of the account, views of a person deleted in between would stay.
    const operation = kv.atomic().check(person, entry);
    if (views.length === 0) operation.delete(entry.key);
    else operation.set(entry.key, views);
    return (await operation.commit()).ok ? { done: true } : "again";
  }, { attempts: saveAttempts });
  return outcome !== "conflict" && outcome.done;
}

/** Saves a view; one of the same name is replaced. */
export function saveView(kv: KeyValueStore, of: ViewsOf, view: SavedView): Promise<boolean> {
  return changeViews(kv, of, (views) => [...views.filter(({ name }) => name !== view.name), view]);
}

/** Removes a view; one that is gone already is what was wanted. */
export function removeView(kv: KeyValueStore, of: ViewsOf, name: string): Promise<boolean> {
  return changeViews(kv, of, (views) => views.filter((view) => view.name !== name));
}
