/** `/operator/announcements`: what customers are told of incidents and planned maintenance. */
import { Hono } from "hono";
import {
  type Announcement,
  announcementKinds,
  listAnnouncements,
  maxAnnouncementTextChars,
  maxAnnouncementTitleChars,
} from "../../../../kv/people/operators/announcements.ts";
import {
  Card,
  Empty,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { defineTexts } from "../../../dashboard/text/i18n.ts";
import { AnnouncementView } from "../../../dashboard/frame/announcement_list.tsx";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import { addAnnouncementUpdate, announce } from "../../operations/announcements.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";

const path = "/operator/announcements";

const label = { en: "Announcements", vi: "Thông báo chung" };

/** Lines of the field for a text. */
const textRows = 3;

const texts = defineTexts({
  both: {
    make: ["New announcement", "Thông báo mới"],
    kind: ["Kind", "Loại"],
    title: ["Title", "Tiêu đề"],
    starts: ["Begins (Vietnam time; empty: now)", "Bắt đầu (giờ Việt Nam; để trống: ngay bây giờ)"],
    publish: ["Publish", "Đăng"],
    update: ["Update", "Cập nhật"],
    add: ["Add update", "Thêm cập nhật"],
    end: ["Add and end", "Thêm và kết thúc"],
    list: ["Latest", "Gần đây"],
    none: ["There are no announcements", "Chưa có thông báo nào"],
  },
  en: {
    lead: "Customers see them at the top of every page until they end, and under Status.",
    kinds: { incident: "Incident", maintenance: "Planned maintenance" },
    text: "What happens, and what customers should do",
    publishConfirm: "Every customer will see this. Publish it?",
    noneHint: "Incidents and planned maintenance appear here.",
    incomplete: "Give a title and a text, neither too long.",
    badTime: "The time must be a date with hours and minutes.",
    refusals: {
      missing: "It no longer exists.",
      full: "It has too many updates; end it, and publish another one.",
      conflict: "Another operator has changed it meanwhile. Look again.",
    },
  },
  vi: {
    lead: "Khách hàng thấy ở đầu mọi trang cho đến khi kết thúc, và trong Trạng thái.",
    kinds: { incident: "Sự cố", maintenance: "Bảo trì có kế hoạch" },
    text: "Chuyện gì xảy ra, và khách hàng nên làm gì",
    publishConfirm: "Mọi khách hàng sẽ thấy thông báo này. Đăng chứ?",
    noneHint: "Sự cố và bảo trì có kế hoạch sẽ hiện ở đây.",
    incomplete: "Hãy điền tiêu đề và nội dung, không quá dài.",
    badTime: "Thời gian phải là ngày kèm giờ và phút.",
    refusals: {
      missing: "Mục này không còn nữa.",
      full: "Đã có quá nhiều cập nhật; hãy kết thúc rồi đăng thông báo khác.",
      conflict: "Người vận hành khác vừa thay đổi. Hãy xem lại.",
    },
  },
});

function MakeForm({ visitor }: { visitor: Visitor }) {
  const t = texts[visitor.locale];
  return (
    <Card title={t.make}>
      <PostForm visitor={visitor} action={path} confirm={t.publishConfirm}>
        <SelectField
          name="kind"
          label={t.kind}
          value="incident"
          options={announcementKinds.map((value) => ({ value, label: t.kinds[value] }))}
        />
        <TextField name="title" label={t.title} required maxlength={maxAnnouncementTitleChars} />
        <TextField
          name="text"
          label={t.text}
          required
          rows={textRows}
          maxlength={maxAnnouncementTextChars}
        />
        <TextField name="starts" type="datetime-local" label={t.starts} />
        <SubmitButton>{t.publish}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function UpdateForm({ announcement, visitor }: { announcement: Announcement; visitor: Visitor }) {
  const t = texts[visitor.locale];
  const { id } = announcement;
  return (
    <PostForm visitor={visitor} action={`${path}/${id}`}>
      <TextField
        id={`text-${id}`}
        name="text"
        label={t.update}
        required
        rows={textRows}
        maxlength={maxAnnouncementTextChars}
      />
      <div class="actions">
        <SubmitButton tone="plain" name="ends" value="no">{t.add}</SubmitButton>
        <SubmitButton name="ends" value="yes">{t.end}</SubmitButton>
      </div>
    </PostForm>
  );
}

async function announcementsPage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = texts[locale];
  const list = await listAnnouncements(deps.kv);
  const nowMs = deps.clock.nowMs();
  return await renderOperatorPage(
    c,
    { lead: t.lead, problem },
    <>
      <MakeForm visitor={visitor} />
      <Card title={t.list}>
        {list.length === 0 && (
          <Empty title={t.none}>
            <p>{t.noneHint}</p>
          </Empty>
        )}
        {list.map((announcement) => (
          <>
            <AnnouncementView announcement={announcement} nowMs={nowMs} locale={locale} />
            {announcement.endedAtMs === undefined && (
              <UpdateForm announcement={announcement} visitor={visitor} />
            )}
          </>
        ))}
      </Card>
    </>,
  );
}

async function publish(c: OperatorContext, deps: OperatorDeps) {
  const t = texts[c.get("visitor").locale];
  const form = await readForm(c);
  const starts = form.text("starts");
  const kind = announcementKinds.find((one) => one === form.text("kind"));
  if (kind === undefined) return await notFoundPage(c);
  const published = await announce.run(deps, {
    kind,
    title: form.text("title"),
    text: form.text("text"),
    // The field has Vietnam time.
    ...(starts !== "" && { startsAt: `${starts}+07:00` }),
  }, actOf(c, deps));
  if (published.ok) return doneAt(c, path, "resolved");
  const problem = published.why === "startsAt" ? t.badTime : t.incomplete;
  return await announcementsPage(c, deps, problem);
}

async function update(c: OperatorContext, deps: OperatorDeps) {
  const t = texts[c.get("visitor").locale];
  const form = await readForm(c);
  const ends = form.yesOrNo("ends");
  if (ends === null) return await notFoundPage(c);
  const updated = await addAnnouncementUpdate.run(deps, {
    announcement: c.req.param("id") ?? "",
    text: form.text("text"),
    ends,
  }, actOf(c, deps));
  if (updated.ok) return doneAt(c, path, "resolved");
  const problem = updated.why === "input" ? t.incomplete : t.refusals[updated.why];
  return await announcementsPage(c, deps, problem);
}

function createAnnouncementPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(path, (c) => announcementsPage(c, deps))
    .post(path, (c) => publish(c, deps))
    .post(`${path}/:id`, (c) => update(c, deps));
}

export const announcementPages: OperatorPage = {
  link: { href: path, label },
  routes: createAnnouncementPages,
};
