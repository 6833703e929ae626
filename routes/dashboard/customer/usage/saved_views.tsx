/** `/usage/views`: filters that a person has saved with a name, as links above the filter. */
import type { Context } from "hono";
import {
  listSavedViews,
  maxViewNameChars,
  maxViewQueryChars,
  removeView,
  type SavedView,
  saveView,
  type ViewsOf,
} from "../../../../kv/people/accounts/saved_views.ts";
import { PostForm, TextField } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { type UsageFilter, usageQuery } from "./filter_bar.tsx";
import { usageTexts } from "./texts.ts";

function viewsOf(c: Context<DashboardEnv>): ViewsOf {
  const { person, account } = c.get("signedIn");
  return { personId: person.id, organisationId: account.id };
}

/** Reads the views of who looks at the page. */
export function readViews(
  c: Context<DashboardEnv>,
  { kv }: DashboardDeps,
): Promise<readonly SavedView[]> {
  return listSavedViews(kv, viewsOf(c));
}

/** The views as links, and a form that saves the filter of the page. */
export function SavedViews({ views, filter, visitor }: {
  views: readonly SavedView[];
  filter: UsageFilter;
  visitor: Visitor;
}) {
  const t = usageTexts[visitor.locale];
  const query = usageQuery(filter);
  const current = views.find((view) => view.query === query);
  return (
    <nav class="chips saved-views" aria-label={t.views}>
      {views.map((view) => (
        <a
          class="chip"
          href={`/usage?${view.query}`}
          aria-current={view === current ? "true" : undefined}
        >
          {view.name}
        </a>
      ))}
      {current !== undefined && (
        <PostForm visitor={visitor} action="/usage/views/remove">
          <input type="hidden" name="name" value={current.name} />
          <button type="submit" class="outline secondary small">{t.removeView}</button>
        </PostForm>
      )}
      {current === undefined && (
        <details class="menu chip-menu">
          <summary class="chip">{t.saveView}</summary>
          <PostForm visitor={visitor} action="/usage/views" class="chip-panel">
            <input type="hidden" name="query" value={query} />
            <TextField
              name="name"
              id="view-name"
              label={t.viewName}
              required
              maxlength={maxViewNameChars}
              autocomplete="off"
            />
            <button type="submit" class="small">{t.save}</button>
          </PostForm>
        </details>
      )}
    </nav>
  );
}

/** Leads back to the list with a filter. A query begins no other address. */
function backTo(c: Context<DashboardEnv>, query: string): Response {
  return c.redirect(query === "" ? "/usage" : `/usage?${new URLSearchParams(query)}`, 303);
}

/** Saves the filter of the page under a name. */
export async function saveViewForm(c: Context<DashboardEnv>, { kv }: DashboardDeps) {
  const form = await readForm(c);
  const name = form.text("name").slice(0, maxViewNameChars);
  const query = form.text("query");
  if (name !== "" && query.length <= maxViewQueryChars) {
    await saveView(kv, viewsOf(c), { name, query });
  }
  return backTo(c, query);
}

/** Removes a view. */
export async function removeViewForm(c: Context<DashboardEnv>, { kv }: DashboardDeps) {
  const name = (await readForm(c)).text("name");
  const view = (await listSavedViews(kv, viewsOf(c))).find((one) => one.name === name);
  await removeView(kv, viewsOf(c), name);
  return backTo(c, view?.query ?? "");
}
