/** Announcements: whole on the page of the status, in short at the top of every page. */
import type { Announcement } from "../../../kv/people/operators/announcements.ts";
import { Badge, Notice, Time } from "../components/mod.ts";
import { definePairs, type Locale } from "../text/i18n.ts";

const texts = definePairs({
  kinds: { incident: ["Incident", "Sự cố"], maintenance: ["Maintenance", "Bảo trì"] },
  open: ["open", "đang diễn ra"],
  planned: ["planned", "dự kiến"],
  over: ["over", "đã xong"],
  from: ["From", "Từ"],
  until: ["until", "đến"],
  more: ["More", "Xem thêm"],
});

function State({ announcement, nowMs, locale }: {
  announcement: Announcement;
  nowMs: number;
  locale: Locale;
}) {
  const t = texts[locale];
  if (announcement.endedAtMs !== undefined) return <Badge tone="good">{t.over}</Badge>;
  const isPlanned = announcement.startsAtMs > nowMs;
  return isPlanned
    ? <Badge tone="neutral">{t.planned}</Badge>
    : <Badge tone="busy">{t.open}</Badge>;
}

/** One announcement with all its updates, the newest first. */
export function AnnouncementView({ announcement, nowMs, locale }: {
  announcement: Announcement;
  nowMs: number;
  locale: Locale;
}) {
  const t = texts[locale];
  const { kind, title, startsAtMs, endedAtMs, updates } = announcement;
  return (
    <div class="announcement" id={announcement.id}>
      <h3>
        {t.kinds[kind]}: {title} <State announcement={announcement} nowMs={nowMs} locale={locale} />
      </h3>
      <p class="muted">
        {t.from} <Time atMs={startsAtMs} locale={locale} />
        {endedAtMs !== undefined && (
          <>
            {" "}
            {t.until} <Time atMs={endedAtMs} locale={locale} />
          </>
        )}
      </p>
      <dl class="announcement-updates">
        {[...updates].reverse().map(({ atMs, text }) => (
          <>
            <dt>
              <Time atMs={atMs} locale={locale} />
            </dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}

/** The latest word of an announcement, for the top of every page. */
export function AnnouncementNotice({ announcement, locale }: {
  announcement: Announcement;
  locale: Locale;
}) {
  const t = texts[locale];
  const { kind, title, startsAtMs, updates, id } = announcement;
  return (
    <Notice
      tone={kind === "incident" ? "warning" : "info"}
      title={`${t.kinds[kind]}: ${title}`}
    >
      <p>
        {kind === "maintenance" && (
          <>
            {t.from} <Time atMs={startsAtMs} locale={locale} />.{" "}
          </>
        )}
        {updates.at(-1)?.text} <a href={`/status#${id}`}>{t.more}</a>
      </p>
    </Notice>
  );
}
