/** `/models`: the list of models with their prices, also for visitors. */
import { type Context, Hono } from "hono";
import type { Model, ModelKind } from "../../core/catalog/catalog.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  CopyButton,
  Empty,
  SelectField,
  TableFrame,
  TextField,
} from "./components/mod.ts";
import type { DashboardDeps, ModelStatus } from "./deps.ts";
import { formatCount } from "./format.ts";
import { type PriceLine, priceLines } from "./model_prices.ts";
import { defineTexts, type Locale } from "./i18n.ts";
import { renderPage } from "./frame/layout.tsx";
import type { DashboardEnv } from "./visitor/visitor.ts";
import type { PageDeclaration } from "./page.ts";

const kinds: readonly ModelKind[] = [
  "chat",
  "image",
  "speech",
  "video",
  "embedding",
  "transcription",
  "rerank",
  "moderation",
  "completion",
];

const texts = defineTexts({
  en: {
    title: "Models and prices",
    lead:
      "Prices are in VND and final. The list price is the same figure in the unit it was published in.",
    description:
      "Every model with its price in VND, context and state: text, images, speech, video.",
    search: "Search",
    searchHint: "name or family",
    kind: "Kind",
    all: "All",
    apply: "Show",
    kinds: {
      chat: "Chat",
      image: "Images",
      speech: "Speech",
      video: "Video",
      embedding: "Embeddings",
      transcription: "Transcription",
      rerank: "Rerank",
      moderation: "Moderation",
      completion: "Completion",
    },
    model: "Model",
    price: "Price",
    listPrice: "List price",
    context: "Context",
    output: "Maximum output",
    status: "Status",
    statuses: { up: "Available", degraded: "Slow", down: "Down" },
    vision: "Vision",
    alsoKnownAs: "also",
    none: "No model matches",
    noneHint: "Try another word.",
    tokens: (count: string) => `${count} tokens`,
    found: (count: number) => count === 1 ? "1 model" : `${count} models`,
  },
  vi: {
    title: "Mô hình và giá",
    lead:
      "Giá tính bằng đồng và là giá cuối. Giá niêm yết là cùng con số đó theo đơn vị đã công bố.",
    description:
      "Mọi mô hình với giá bằng đồng, ngữ cảnh và trạng thái: văn bản, hình ảnh, giọng nói, video.",
    search: "Tìm",
    searchHint: "tên hoặc họ mô hình",
    kind: "Loại",
    all: "Tất cả",
    apply: "Xem",
    kinds: {
      chat: "Hội thoại",
      image: "Hình ảnh",
      speech: "Giọng nói",
      video: "Video",
      embedding: "Vector nhúng",
      transcription: "Chép lời",
      rerank: "Xếp hạng",
      moderation: "Kiểm duyệt",
      completion: "Hoàn thành văn bản",
    },
    model: "Mô hình",
    price: "Giá",
    listPrice: "Giá niêm yết",
    context: "Ngữ cảnh",
    output: "Đầu ra tối đa",
    status: "Trạng thái",
    statuses: { up: "Sẵn sàng", degraded: "Chậm", down: "Ngừng" },
    vision: "Đọc ảnh",
    alsoKnownAs: "còn gọi",
    none: "Không có mô hình phù hợp",
    noneHint: "Hãy thử từ khác.",
    tokens: (count) => `${count} token`,
    found: (count) => `${count} mô hình`,
  },
});

const statusTones: Readonly<Record<ModelStatus, BadgeTone>> = {
  up: "good",
  degraded: "busy",
  down: "bad",
};

function fits(model: Model, words: readonly string[], kind: string): boolean {
  if (kind !== "" && model.kind !== kind) return false;
  const text = [model.id, model.displayName, model.family, ...model.aliases].join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

function listPriceLine({ list }: PriceLine) {
  return <div class="price-line">{list}</div>;
}

function ModelRow({ model, deps, locale }: { model: Model; deps: DashboardDeps; locale: Locale }) {
  const t = texts[locale];
  const status = deps.modelStatus?.(model.id) ?? "up";
  const lines = priceLines(model.price, deps.catalog.listRate, locale);
  const isChat = model.kind === "chat";
  return (
    <tr>
      <td>
        <div class="model-name">
          <a href={`/models/${encodeURIComponent(model.id)}`}>
            <code>{model.id}</code>
          </a>
          <CopyButton text={model.id} what={model.id} locale={locale} />
        </div>
        {model.aliases.length > 0 && (
          <small class="muted">{t.alsoKnownAs} {model.aliases.join(", ")}</small>
        )}
      </td>
      <td class="nowrap wide-only">
        {t.kinds[model.kind]} {model.vision && <Badge tone="neutral">{t.vision}</Badge>}
      </td>
      <td class="prices">
        {lines.map((line) => (
          <div class="price-line">
            <strong class="money">{line.amount}</strong> <small class="muted">{line.unit}</small>
          </div>
        ))}
      </td>
      <td class="number muted wide-only">
        {lines.map(listPriceLine)}
      </td>
      <td class="number wide-only">{isChat ? formatCount(model.contextWindow, locale) : "–"}</td>
      <td class="number wide-only">{isChat ? formatCount(model.maxOutputTokens, locale) : "–"}</td>
      <td>
        <Badge tone={statusTones[status]}>{t.statuses[status]}</Badge>
      </td>
    </tr>
  );
}

function ModelTable({ models, deps, locale }: {
  models: readonly Model[];
  deps: DashboardDeps;
  locale: Locale;
}) {
  const t = texts[locale];
  if (models.length === 0) {
    return (
      <Empty title={t.none}>
        <p>{t.noneHint}</p>
      </Empty>
    );
  }
  return (
    <TableFrame label={t.title}>
      <table class="models">
        <thead>
          <tr>
            <th scope="col">{t.model}</th>
            <th scope="col" class="wide-only">{t.kind}</th>
            <th scope="col">{t.price}</th>
            <th scope="col" class="number wide-only">{t.listPrice}</th>
            <th scope="col" class="number wide-only">{t.context}</th>
            <th scope="col" class="number wide-only">{t.output}</th>
            <th scope="col">{t.status}</th>
          </tr>
        </thead>
        <tbody>
          {models.map((model) => ModelRow({ model, deps, locale }))}
        </tbody>
      </table>
    </TableFrame>
  );
}

function modelsPage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const search = (c.req.query("q") ?? "").slice(0, 100);
  const kind = kinds.find((name) => name === c.req.query("kind")) ?? "";
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const models = deps.catalog.models.filter((model) => fits(model, words, kind));
  return renderPage(
    c,
    { title: t.title, lead: t.lead, description: t.description },
    <>
      <form
        method="get"
        action="/models"
        class="card inline-form"
        hx-get="/models"
        hx-trigger="input delay:200ms, change, submit"
        hx-target="#models"
        hx-select="#models"
        hx-swap="outerHTML"
      >
        <TextField
          name="q"
          type="search"
          label={t.search}
          value={search}
          placeholder={t.searchHint}
        />
        <SelectField
          name="kind"
          label={t.kind}
          value={kind}
          options={[
            { value: "", label: t.all },
            ...kinds.map((value) => ({ value, label: t.kinds[value] })),
          ]}
        />
        <button type="submit" class="outline secondary">{t.apply}</button>
      </form>
      <div id="models">
        <Card title={t.found(models.length)}>
          <ModelTable models={models} deps={deps} locale={locale} />
        </Card>
      </div>
    </>,
  );
}

function createModelPage(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>().get("/models", (c) => modelsPage(c, deps));
}

export const modelPage: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/models",
    icon: "models",
    group: "manage",
    label: { en: "Models and prices", vi: "Mô hình và giá" },
    publicLink: { label: { en: "Models", vi: "Mô hình" } },
  },
  routes: createModelPage,
};
