/** The first page of the catalogue: what is in force, what waits, and the entries. */
import type { Catalog, Model } from "../../../../core/catalog/catalog.ts";
import type { RefusedVersion } from "../../../../kv/services/catalog/live_catalog.ts";
import type { CatalogVersion } from "../../../../kv/services/catalog/versions.ts";
import {
  Card,
  DataTable,
  Empty,
  Notice,
  PostForm,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { formatDateTime } from "../../../dashboard/text/format.ts";
import { priceLines } from "../../../dashboard/text/model_prices.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import type { CatalogState } from "../../operations/contract/editing.ts";
import {
  cataloguePath,
  catalogueTexts,
  declinePath,
  historyPath,
  modelPath,
  previewPath,
  providerPath,
  versionPath,
  withdrawPath,
} from "./texts.ts";

/** Models on the page; more are found by the search. */
const maxModels = 200;

/** Content of the page. */
export interface ListPageProps {
  readonly visitor: Visitor;
  readonly state: CatalogState;
  /** The catalogue in force here. */
  readonly catalog: Catalog;
  readonly refused: RefusedVersion | undefined;
  readonly current: CatalogVersion | undefined;
  readonly search: string;
}

function Base({ base }: { base: number }) {
  return <input type="hidden" name="base" value={String(base)} />;
}

function StateCard({ visitor, state: { head, version }, current }: ListPageProps) {
  const { locale } = visitor;
  const t = catalogueTexts[locale];
  const { scheduled } = head;
  return (
    <Card title={t.inForce} actions={<a href={historyPath}>{t.history}</a>}>
      <p>
        <a href={versionPath(version)}>
          <strong>{t.version(version)}</strong>
        </a>{" "}
        {current !== undefined && (
          <span class="muted">
            {t.by(current.author, formatDateTime(current.effectiveFromMs, locale))}
            {current.reason === "" ? "" : ` · ${current.reason}`}
          </span>
        )}
      </p>
      {scheduled !== undefined && (
        <Notice
          tone="info"
          title={t.waiting(scheduled.version, formatDateTime(scheduled.effectiveFromMs, locale))}
        >
          <PostForm visitor={visitor} action={withdrawPath} confirm={t.withdrawConfirm}>
            <Base base={head.newest} />
            <a href={versionPath(scheduled.version)}>{t.changes}</a>{" "}
            <SubmitButton tone="plain" small>{t.withdraw}</SubmitButton>
          </PostForm>
        </Notice>
      )}
    </Card>
  );
}

function RefusedNotice({ visitor, refused }: ListPageProps) {
  const t = catalogueTexts[visitor.locale];
  if (refused === undefined) return null;
  return (
    <Notice tone="danger" title={t.refused(refused.version)}>
      <ul>
        {refused.problems.map((problem) => <li key={problem}>{problem}</li>)}
      </ul>
      <p>{t.refusedText}</p>
    </Notice>
  );
}

function FileNotice({ visitor, state: { head, isFilePassedOver } }: ListPageProps) {
  const t = catalogueTexts[visitor.locale];
  if (!isFilePassedOver) return null;
  return (
    <Notice tone="warning" title={t.fileDiffers}>
      <p>{t.fileText}</p>
      <div class="actions">
        <PostForm visitor={visitor} action={previewPath}>
          <Base base={head.newest} />
          <input type="hidden" name="edit" value="file" />
          <SubmitButton small>{t.fileShow}</SubmitButton>
        </PostForm>
        <PostForm visitor={visitor} action={declinePath}>
          <Base base={head.newest} />
          <SubmitButton tone="plain" small>{t.fileKeep}</SubmitButton>
        </PostForm>
      </div>
    </Notice>
  );
}

function fits({ id, family, displayName, aliases, routes }: Model, word: string): boolean {
  const names = [id, family, displayName, ...aliases, ...routes.map(({ provider }) => provider)];
  return names.some((name) => name.toLowerCase().includes(word));
}

function ModelList({ visitor, catalog, search }: ListPageProps) {
  const { locale } = visitor;
  const t = catalogueTexts[locale];
  const found = catalog.models.filter((model) => fits(model, search.toLowerCase()));
  const shown = found.slice(0, maxModels);
  return (
    <Card title={t.models} actions={<a href={modelPath("")}>{t.add}</a>}>
      <form method="get" action={cataloguePath} class="inline-form">
        <TextField
          name="search"
          type="search"
          label={t.search}
          placeholder={t.searchHint}
          value={search}
        />
        <SubmitButton tone="plain">{t.show}</SubmitButton>
      </form>
      <DataTable
        label={t.models}
        rows={shown}
        empty={
          <Empty title={t.none}>
            <p>{t.noneHint}</p>
          </Empty>
        }
        columns={[
          {
            head: t.model,
            kind: "long",
            cell: ({ id, displayName }) => (
              <>
                <a href={modelPath(id)}>{id}</a>
                <br />
                <span class="muted">{displayName}</span>
              </>
            ),
          },
          {
            head: t.kind,
            wideOnly: true,
            cell: ({ kind }) => <code>{kind}</code>,
          },
          {
            head: t.price,
            cell: ({ price }) =>
              priceLines(price, catalog.listRate, locale).map(({ amount, unit }) => (
                <div>
                  {amount} <span class="muted">{unit}</span>
                </div>
              )),
          },
          {
            head: t.routes,
            kind: "long",
            wideOnly: true,
            cell: ({ routes }) =>
              [
                ...new Set(
                  routes.map(({ provider, upstreamModel }) => `${provider}/${upstreamModel}`),
                ),
              ]
                .map((route) => <div key={route}>{route}</div>),
          },
        ]}
      />
      {found.length > shown.length && <p class="muted">{t.more(found.length - shown.length)}</p>}
    </Card>
  );
}

function ProviderList({ visitor, catalog }: ListPageProps) {
  const t = catalogueTexts[visitor.locale];
  return (
    <Card title={t.providers} actions={<a href={providerPath("")}>{t.addProvider}</a>}>
      <DataTable
        label={t.providers}
        rows={Object.entries(catalog.providers)}
        columns={[
          { head: t.provider, cell: ([name]) => <a href={providerPath(name)}>{name}</a> },
          {
            head: t.address,
            kind: "long",
            cell: ([, provider]) => provider.kind === "http" ? provider.baseUrl : provider.kind,
          },
          {
            head: t.secret,
            kind: "long",
            wideOnly: true,
            cell: ([, provider]) =>
              provider.kind === "http"
                ? [...provider.apiKeyEnv, ...provider.apiKeyVault].map((name) => (
                  <div>
                    <code>{name}</code>
                  </div>
                ))
                : "",
          },
        ]}
      />
    </Card>
  );
}

/** The page. */
export function ListPage(props: ListPageProps) {
  return (
    <>
      <RefusedNotice {...props} />
      <FileNotice {...props} />
      <StateCard {...props} />
      <ProviderList {...props} />
      <ModelList {...props} />
    </>
  );
}
