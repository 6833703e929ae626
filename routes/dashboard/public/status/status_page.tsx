/**
 * `/status`: how the service and each model do, now and over 90 days, for anybody; `/status.atom` and `/status.rss`:
 * incidents and maintenance as a feed (RFC 4287, RSS 2.0), newest first.
 *
 * - Folder `routes/dashboard/public/status/`: how the service and its models did, for pages that anybody may see.
 * - In: counts of calls by model and day, announcements, the last signed day.
 * - Out: the status page, sums by day, and strips of bars.
 * - Never: shows a number of calls, a provider or a route.
 */
import { type Context, Hono } from "hono";
import type { Model } from "../../../../core/catalog/catalog.ts";
import {
  type Announcement,
  listAnnouncements,
} from "../../../../kv/people/operators/announcements.ts";
import { sumOf } from "../../../../core/routing/history/availability.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  type Column,
  DataTable,
  Notice,
} from "../../components/mod.ts";
import type { DashboardDeps, ModelStatus } from "../../page/deps.ts";
import { renderPage } from "../../frame/layout.tsx";
import { formatDuration } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { AnnouncementView } from "../../frame/announcement_list.tsx";
import { LatestSignedDay, readShownDays } from "../proofs/signed_day_views.tsx";
import { formatShare, historyOf, HistoryStrip, PublicHistory } from "./history_strip.tsx";

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    // Characters that XML 1.0 has no form for; operators may have pasted them.
    // deno-lint-ignore no-control-regex
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/gu, "");
}

function lastAtMs({ updates, startsAtMs }: Announcement): number {
  return updates.at(-1)?.atMs ?? startsAtMs;
}

function entryOf(announcement: Announcement, baseUrl: string): string {
  const { id, title, updates } = announcement;
  const url = escapeXml(`${baseUrl}/status#${id}`);
  const at = (ms: number) => new Date(ms).toISOString();
  const text = updates.map((update) => `${at(update.atMs)}: ${update.text}`).toReversed();
  return `<entry><id>${url}</id><title>${escapeXml(title)}</title><link href="${url}"/>` +
    `<published>${at(updates[0]?.atMs ?? announcement.startsAtMs)}</published>` +
    `<updated>${at(lastAtMs(announcement))}</updated>` +
    `<content type="text">${escapeXml(text.join("\n\n"))}</content></entry>`;
}

/** Facts of a feed. */
interface FeedFacts {
  readonly baseUrl: string;
  readonly title: string;
  readonly locale: Locale;
}

function itemOf(announcement: Announcement, baseUrl: string): string {
  const { id, title, updates } = announcement;
  const url = escapeXml(`${baseUrl}/status#${id}`);
  const text = updates.map((update) => `${new Date(update.atMs).toISOString()}: ${update.text}`);
  return `<item><guid>${url}</guid><title>${escapeXml(title)}</title><link>${url}</link>` +
    `<pubDate>${new Date(lastAtMs(announcement)).toUTCString()}</pubDate>` +
    `<description>${escapeXml(text.toReversed().join("\n\n"))}</description></item>`;
}

/** Writes the same as {@linkcode statusFeed} in RSS 2.0, for readers and chats that know no other form. */
function statusRss(
  announcements: readonly Announcement[],
  { baseUrl, title, locale }: FeedFacts,
): string {
  const items = announcements.map((one) => itemOf(one, baseUrl)).join("");
  return `<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>` +
    `<title>${escapeXml(title)}</title><link>${escapeXml(baseUrl)}/status</link>` +
    `<description>${escapeXml(title)}</description><language>${locale}</language>` +
    `${items}</channel></rss>\n`;
}

/** Writes the feed of some announcements in Atom, newest first. */
function statusFeed(
  announcements: readonly Announcement[],
  { baseUrl, title, locale }: FeedFacts,
): string {
  const updatedAtMs = Math.max(0, ...announcements.map(lastAtMs));
  const self = escapeXml(`${baseUrl}/status.atom`);
  return `<?xml version="1.0" encoding="utf-8"?>\n` +
    `<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="${locale}"><id>${self}</id>` +
    `<title>${escapeXml(title)}</title><author><name>${
      escapeXml(new URL(baseUrl).hostname)
    }</name></author>` +
    `<link rel="self" href="${self}"/><link href="${escapeXml(baseUrl)}/status"/>` +
    `<updated>${new Date(updatedAtMs).toISOString()}</updated>` +
    `${announcements.map((one) => entryOf(one, baseUrl)).join("")}</feed>\n`;
}

const texts = defineTexts({
  both: {
    title: ["Status", "Trạng thái"],
    good: ["All models are available", "Mọi mô hình đều sẵn sàng"],
    history: ["Answered calls, 90 days", "Lượt gọi được trả lời, 90 ngày"],
    announcements: ["Incidents and maintenance", "Sự cố và bảo trì"],
    nothing: ["None.", "Không có."],
    subscribe: ["Get emails about incidents", "Nhận thư về sự cố"],
    feed: ["Atom feed", "Nguồn cấp Atom"],
    models: ["Models", "Mô hình"],
    model: ["Model", "Mô hình"],
    now: ["Now", "Hiện tại"],
    uptime: ["Answered", "Được trả lời"],
    speed: ["First token", "Token đầu tiên"],
    json: ["The same for programs", "Dành cho chương trình"],
  },
  en: {
    description: "State of every model now, and answered calls of 90 days.",
    lead: "What callers got, measured by the calls themselves.",
    incident: (title: string) => `Incident: ${title}`,
    some: (count: number) => count === 1 ? "1 model has issues" : `${count} models have issues`,
    down: (count: number) => count === 1 ? "1 model is down" : `${count} models are down`,
    statuses: { up: "Available", degraded: "Slow", down: "Down" },
  },
  vi: {
    description: "Trạng thái hiện tại của từng mô hình, và lượt gọi được trả lời trong 90 ngày.",
    lead: "Những gì người gọi thực sự nhận được, đo bằng chính các lượt gọi.",
    incident: (title) => `Sự cố: ${title}`,
    some: (count) => `${count} mô hình đang gặp sự cố`,
    down: (count) => `${count} mô hình đang ngừng`,
    statuses: { up: "Sẵn sàng", degraded: "Chậm", down: "Ngừng" },
  },
});

const statusTones: Readonly<Record<ModelStatus, BadgeTone>> = {
  up: "good",
  degraded: "busy",
  down: "bad",
};

/** The state of all models in one sentence; an open incident comes first, since routes may not show it. */
function Overall({ states, incident, locale }: {
  states: readonly ModelStatus[];
  incident: Announcement | undefined;
  locale: Locale;
}) {
  const t = texts[locale];
  if (incident !== undefined) return <Notice tone="warning" title={t.incident(incident.title)} />;
  const count = (state: ModelStatus) => states.filter((one) => one === state).length;
  const [down, slow] = [count("down"), count("degraded")];
  if (down > 0) return <Notice tone="warning" title={t.down(down)} />;
  if (slow > 0) return <Notice tone="warning" title={t.some(slow)} />;
  return <Notice tone="success" title={t.good} />;
}

/** A model, its state now and its calls of the days that are shown. */
interface ModelRow {
  readonly model: Model;
  readonly state: ModelStatus;
  readonly sum: ReturnType<typeof sumOf>;
}

function columnsOf(locale: Locale): readonly Column<ModelRow>[] {
  const t = texts[locale];
  return [
    {
      head: t.model,
      cell: ({ model }) => (
        <a href={`/models/${encodeURIComponent(model.id)}`}>{model.displayName}</a>
      ),
    },
    {
      head: t.now,
      cell: ({ state }) => <Badge tone={statusTones[state]}>{t.statuses[state]}</Badge>,
    },
    {
      head: t.uptime,
      kind: "number",
      cell: ({ sum }) => sum === undefined ? "–" : formatShare(sum.uptime, locale),
    },
    {
      head: t.speed,
      kind: "number",
      wideOnly: true,
      cell: ({ sum }) =>
        sum?.p50FirstOutputMs === undefined
          ? "–"
          : `≤ ${formatDuration(sum.p50FirstOutputMs, locale)}`,
    },
  ];
}

async function statusPage(c: Context<DashboardEnv>, deps: DashboardDeps, history: PublicHistory) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const [rows, announced, { days: [signed] }] = await Promise.all([
    history.rows(),
    listAnnouncements(deps.kv),
    readShownDays(deps.kv, { limit: 1 }),
  ]);
  const nowMs = deps.clock.nowMs();
  const counts = rows.map((row) => row.counts);
  const { models } = deps.catalog;
  const states = models.map(({ id }) => deps.modelStatus?.(id) ?? "up");
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      description: t.description,
      styles: ["public.css"],
      feed: "/status.atom",
    },
    <>
      <Overall
        states={states}
        incident={announced.find(({ kind, endedAtMs }) =>
          kind === "incident" && endedAtMs === undefined
        )}
        locale={locale}
      />
      <Card title={t.history}>
        <HistoryStrip days={historyOf(rows, { today: history.today() })} locale={locale} />
      </Card>
      <Card title={t.announcements}>
        {announced.length === 0 && <p class="muted">{t.nothing}</p>}
        {announced.map((announcement) => AnnouncementView({ announcement, nowMs, locale }))}
        <p>
          <a href="/incident-mails">{t.subscribe}</a> · <a href="/status.rss">RSS</a> ·{" "}
          <a href="/status.atom">{t.feed}</a>
        </p>
      </Card>
      <LatestSignedDay day={signed} locale={locale} />
      <Card title={t.models}>
        <DataTable
          label={t.models}
          columns={columnsOf(locale)}
          rows={models.map((model, index): ModelRow => ({
            model,
            state: states[index] ?? "up",
            sum: sumOf(counts, model.id),
          }))}
        />
        <p>
          {t.json}: <a href="/v1/status">/v1/status</a>
        </p>
      </Card>
    </>,
  );
}

function createStatusPage(deps: DashboardDeps): Hono<DashboardEnv> {
  const history = new PublicHistory(deps);
  return new Hono<DashboardEnv>()
    .get("/status", (c) => statusPage(c, deps, history))
    .get("/status.atom", (c) => feed(c, deps, statusFeed, "application/atom+xml"))
    .get("/status.rss", (c) => feed(c, deps, statusRss, "application/rss+xml"));
}

async function feed(
  c: Context<DashboardEnv>,
  { kv, baseUrl }: DashboardDeps,
  write: typeof statusFeed,
  type: string,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const facts = { baseUrl, title: texts[locale].announcements, locale };
  return c.body(write(await listAnnouncements(kv), facts), 200, {
    "content-type": `${type}; charset=utf-8`,
  });
}

export const statusPages: PageDeclaration<DashboardDeps> = {
  isShared: true,
  navigation: {
    href: "/status",
    icon: "status",
    group: "observe",
    label: { en: "Status", vi: "Trạng thái" },
  },
  routes: createStatusPage,
};
