/** The card that tests the routes of a model in force, and what a test found. */
import type { Model } from "../../../../core/catalog/catalog.ts";
import { formatDuration } from "../../../dashboard/text/format.ts";
import { Card, Money, Notice, PostForm, SubmitButton } from "../../../dashboard/components/mod.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { testPath } from "./texts.ts";

const testTexts = defineTexts({
  both: {
    title: ["Test a route", "Thử tuyến"],
    test: ["Test this route", "Thử tuyến này"],
    refused: ["The route was not tested", "Tuyến chưa được thử"],
    status: ["Status of the provider", "Mã trạng thái của nhà cung cấp"],
    noStatus: ["no answer", "không có trả lời"],
    firstByte: ["Time to first byte", "Thời gian tới byte đầu"],
    duration: ["Duration", "Tổng thời gian"],
    cost: ["Cost", "Chi phí"],
    unknown: ["not known", "chưa rõ"],
  },
  en: {
    lead:
      "Sends one small call through the route in force, whatever its health. Nobody is charged; what the provider charges counts as a cost.",
    works: (route: string) => `${route} works`,
    fails: (route: string) => `${route} does not work`,
  },
  vi: {
    lead:
      "Gửi một lượt gọi nhỏ qua tuyến đang áp dụng, bất kể tình trạng của nó. Không ai bị tính tiền; phần nhà cung cấp tính được ghi vào chi phí.",
    works: (route) => `${route} hoạt động`,
    fails: (route) => `${route} không hoạt động`,
  },
});

/** Result of a test, as the operation answers. */
export interface ShownRouteTest {
  readonly route: string;
  readonly result:
    | { readonly refusal: string }
    | {
      readonly ok: boolean;
      readonly status: number | null;
      readonly first_byte_ms: number | null;
      readonly duration_ms: number;
      readonly error: { readonly code: string; readonly message: string } | null;
      readonly cost_vnd: string | null;
    };
}

/** Result of a test. */
export function RouteTestResult({ test: { route, result }, locale }: {
  readonly test: ShownRouteTest;
  readonly locale: Locale;
}) {
  const t = testTexts[locale];
  if ("refusal" in result) {
    return <Notice tone="warning" title={t.refused}>{result.refusal}</Notice>;
  }
  const { ok, status, error, cost_vnd: cost } = result;
  const costMicroVnd = cost === null ? undefined : parseVnd(cost);
  const time = (ms: number | null) => ms === null ? "–" : formatDuration(ms, locale);
  return (
    <Notice tone={ok ? "success" : "danger"} title={ok ? t.works(route) : t.fails(route)}>
      {error !== null && <p>{error.message}</p>}
      <p>
        {t.status}: {status ?? t.noStatus} · {t.firstByte}: {time(result.first_byte_ms)} ·{" "}
        {t.duration}: {time(result.duration_ms)} · {t.cost}:{" "}
        {costMicroVnd === undefined ? t.unknown : <Money microVnd={costMicroVnd} locale={locale} />}
      </p>
    </Notice>
  );
}

/** The card; nothing for models whose routes cannot be tested by a chat call. */
export function RouteTests({ model, visitor }: {
  readonly model: Model | undefined;
  readonly visitor: Visitor;
}) {
  if (model?.kind !== "chat") return null;
  const t = testTexts[visitor.locale];
  return (
    <Card>
      <details>
        <summary>{t.title}</summary>
        <p class="muted">{t.lead}</p>
        <ul class="lines advice side-by-side">
          {model.routes.map(({ id }) => (
            <li key={id}>
              <code>{id}</code>
              <PostForm visitor={visitor} action={testPath}>
                <input type="hidden" name="model" value={model.id} />
                <input type="hidden" name="route" value={id} />
                <SubmitButton tone="plain" small>{t.test}</SubmitButton>
              </PostForm>
            </li>
          ))}
        </ul>
      </details>
    </Card>
  );
}
