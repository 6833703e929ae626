/**
 * `/playground`: talks to chat models, makes pictures, speech and video. Calls go through the API with one of the
 * account's own keys, which never reaches the browser.
 *
 * - Folder `routes/dashboard/customer/playground/`: the page that tries models.
 * - In: requests of the API as the page writes them, and the choice of a key.
 * - Out: HTML, and the answers of the API as they arrive.
 * - Never: sends an API key to the browser, or keeps a prompt or an answer.
 */
import { type Context, Hono } from "hono";
import {
  type ApiKeyRecord,
  isActive,
  listApiKeys,
} from "../../../../kv/people/api_keys/api_keys.ts";
import { Empty } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { readCallSummary } from "./call_summary.ts";
import { type PlaygroundModel, playgroundModels } from "./models.ts";
import { PlaygroundForm } from "./page.tsx";
import { type PlainTurn, plainTurn } from "./plain_turn.tsx";
import { keyHeader, relay, relayedPaths } from "./relay.ts";
import { playgroundTexts } from "./texts.ts";

async function usableKeys(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<ApiKeyRecord[]> {
  const nowMs = deps.clock.nowMs();
  const keys = await listApiKeys(deps.kv, c.get("signedIn").account.id);
  return keys.filter((key) => key.sealed !== undefined && isActive(key, nowMs));
}

/** The model that was asked for, else the default one. */
function chosenModel(
  models: readonly PlaygroundModel[],
  id: string | undefined,
  { catalog }: DashboardDeps,
): PlaygroundModel | undefined {
  return models.find((model) => model.id === id) ??
    models.find((model) => model.id === catalog.defaultModel.id) ?? models[0];
}

async function playgroundPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  asked: string | undefined,
  turn?: PlainTurn & { readonly kind: "shown" },
) {
  const visitor = c.get("visitor");
  const t = playgroundTexts[visitor.locale];
  const keys = await usableKeys(c, deps);
  const models = playgroundModels(deps.catalog, visitor.locale);
  const model = chosenModel(models, asked, deps);
  const options = {
    title: t.title,
    lead: t.lead,
    status: turn?.status ?? 200,
    scripts: ["playground.js"],
    styles: ["playground.css"],
  } as const;
  if (keys.length === 0 || model === undefined) {
    return await renderPage(
      c,
      options,
      <Empty title={t.noKey}>
        <p>{t.noKeyHint}</p>
        <a class="button" href="/keys/new">{t.makeKey}</a>
      </Empty>,
    );
  }
  return await renderPage(
    c,
    options,
    <PlaygroundForm
      visitor={visitor}
      baseUrl={deps.baseUrl}
      models={models}
      keys={keys}
      model={model}
      answer={turn?.content}
    />,
  );
}

/** Answers the form of a browser without script. */
async function postForm(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const asked = (await readForm(c)).text("model");
  const models = playgroundModels(deps.catalog, c.get("visitor").locale);
  const model = chosenModel(models, asked, deps);
  if (model === undefined) return c.redirect("/playground", 303);
  const turn = await plainTurn(c, deps, model);
  return turn.kind === "file" ? turn.response : await playgroundPage(c, deps, model.id, turn);
}

/** Registers the endpoints of the API that the page's script calls. */
function relays(deps: DashboardDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  for (const path of relayedPaths) {
    app.post(`/playground/api${path}`, async (c) => {
      const keyId = c.req.header(keyHeader) ?? "";
      return await relay(c, deps, { method: "POST", path, keyId, body: await c.req.arrayBuffer() });
    });
  }
  // A player cannot send headers of its own, so here the key is named in the query.
  const videoOf = (file: "" | "/content") => async (c: Context<DashboardEnv>) => {
    const path = `/v1/videos/${encodeURIComponent(c.req.param("id") ?? "")}${file}`;
    return await relay(c, deps, { method: "GET", path, keyId: c.req.query("keyId") ?? "" });
  };
  return app
    .get("/playground/api/v1/videos/:id", videoOf(""))
    .get("/playground/api/v1/videos/:id/content", videoOf("/content"));
}

function createPlayground(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/playground/*", requireAccount)
    .get("/playground", (c) => playgroundPage(c, deps, c.req.query("model")))
    .post("/playground", (c) => postForm(c, deps))
    .get("/playground/calls/:id", async (c) => {
      const summary = await readCallSummary(c, deps, c.req.param("id"));
      return summary === undefined ? c.json({}, 404) : c.json(summary);
    })
    .route("/", relays(deps));
}

export const playgroundPages: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/playground",
    icon: "playground",
    group: "build",
    label: { en: "Playground", vi: "Chạy thử" },
  },
  routes: createPlayground,
};
