/** `/status.atom` and `/status.rss`: incidents and maintenance as a feed (RFC 4287, RSS 2.0), newest first. */
import type { Announcement } from "../../../../kv/people/operators/announcements.ts";
import type { Locale } from "../../text/i18n.ts";

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
export function statusRss(
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
export function statusFeed(
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
