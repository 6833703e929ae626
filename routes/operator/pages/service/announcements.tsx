/** `/operator/announcements`: what customers are told of incidents and planned maintenance. */
import { Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type Announcement,
  announcementKinds,
  listAnnouncements,
  maxAnnouncementTextChars,
  maxAnnouncementTitleChars,
  publishAnnouncement,
  updateAnnouncement,
} from "../../../../kv/people/operators/announcements.ts";
import {
  Card,
  Empty,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { defineTexts } from "../../../dashboard/text/i18n.ts";
import { AnnouncementView } from "../../../dashboard/frame/announcement_list.tsx";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import {
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  operatorOf,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";

const path = "/operator/announcements";

const label = { en: "Announcements", vi: "Thông báo chung" };

/** Lines of the field for a text. */
const textRows = 3;

const texts = defineTexts({
  en: {
    lead: "Customers see them at the top of every page until they end, and under Status.",
    make: "New announcement",
    kind: "Kind",
    kinds: { incident: "Incident", maintenance: "Planned maintenance" },
    title: "Title",
    text: "What happens, and what customers should do",
    starts: "Begins (Vietnam time; empty: now)",
    publish: "Publish",
    publishConfirm: "Every customer will see this. Publish it?",
    update: "Update",
    add: "Add update",
    end: "Add and end",
    list: "Latest",
    none: "There are no announcements",
    noneHint: "Incidents and planned maintenance appear here.",
    incomplete: "Give a title and a text.",
    badTime: "The time must be a date with hours and minutes.",
    refusals: {
      missing: "It no longer exists.",
      full: "It has too many updates; publish another one.",
      conflict: "Another operator has changed it meanwhile. Look again.",
    },
  },
  vi: {
    lead: "Khách hàng thấy ở đầu mọi trang cho đến khi kết thúc, và trong Trạng thái.",
    make: "Thông báo mới",
    kind: "Loại",
    kinds: { incident: "Sự cố", maintenance: "Bảo trì có kế hoạch" },
    title: "Tiêu đề",
    text: "Chuyện gì xảy ra, và khách hàng nên làm gì",
    starts: "Bắt đầu (giờ Việt Nam; để trống: ngay bây giờ)",
    publish: "Đăng",
    publishConfirm: "Mọi khách hàng sẽ thấy thông báo này. Đăng chứ?",
    update: "Cập nhật",
    add: "Thêm cập nhật",
    end: "Thêm và kết thúc",
    list: "Gần đây",
    none: "Chưa có thông báo nào",
    noneHint: "Sự cố và bảo trì có kế hoạch sẽ hiện ở đây.",
    incomplete: "Hãy điền tiêu đề và nội dung.",
    badTime: "Thời gian phải là ngày kèm giờ và phút.",
    refusals: {
      missing: "Mục này không còn nữa.",
      full: "Đã có quá nhiều cập nhật; hãy đăng thông báo khác.",
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

/** Reads the time of a field in Vietnam time; `undefined` if it is none. */
function momentOf(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/.test(text)) return undefined;
  const ms = Date.parse(`${text}+07:00`);
  return Number.isNaN(ms) ? undefined : ms;
}

async function publish(c: OperatorContext, deps: OperatorDeps) {
  const t = texts[c.get("visitor").locale];
  const form = await readForm(c);
  const [title, text, starts] = [form.text("title"), form.text("text"), form.text("starts")];
  const kind = announcementKinds.find((one) => one === form.text("kind")) ?? "incident";
  if (title === "" || text === "") return await announcementsPage(c, deps, t.incomplete);
  const nowMs = deps.clock.nowMs();
  const startsAtMs = starts === "" ? nowMs : momentOf(starts);
  if (startsAtMs === undefined) return await announcementsPage(c, deps, t.badTime);
  const act = { operator: operatorOf(c), nowMs };
  await publishAnnouncement(deps.kv, { kind, title, text, startsAtMs }, act);
  return doneAt(c, path, "resolved");
}

async function update(c: OperatorContext, deps: OperatorDeps) {
  const t = texts[c.get("visitor").locale];
  const id = parseId("announcement", c.req.param("id") ?? "");
  if (id === undefined) return await announcementsPage(c, deps, t.refusals.missing);
  const form = await readForm(c);
  const text = form.text("text");
  if (text === "") return await announcementsPage(c, deps, t.incomplete);
  const result = await updateAnnouncement(
    deps.kv,
    id,
    { text, ends: form.text("ends") === "yes" },
    {
      operator: operatorOf(c),
      nowMs: deps.clock.nowMs(),
    },
  );
  if (typeof result === "string") return await announcementsPage(c, deps, t.refusals[result]);
  return doneAt(c, path, "resolved");
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
