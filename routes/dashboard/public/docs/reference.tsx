/** The reference, rendered from the OpenAPI document: an index for each group of operations, a page for each of them. */
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { exampleModels } from "../../../openapi/example_models.ts";
import type { Locale } from "../../text/i18n.ts";
import { CodeBlock, TableFrame, Tag } from "../../components/mod.ts";
import { docsTexts, operationPath } from "./docs_frame.tsx";
import { Marked } from "./guide_view.tsx";
import { fieldRows, memberSchemas, resolve, typeText } from "./llms_text.ts";

// One operation of the reference: its parameters, fields, answers and a call to copy.

/** Levels of members that are shown: deeper ones are in the document itself. */
const shownLevels = 3;

/** An operation as the reference shows it. */
export interface ReferenceOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: JsonObject;
}

interface OperationProps extends ReferenceOperation {
  readonly document: JsonObject;
  readonly server: string;
  readonly locale: Locale;
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function Fields({ document, schema, level, locale }: {
  document: JsonObject;
  schema: Json | undefined;
  level: number;
  locale: Locale;
}) {
  const t = docsTexts[locale];
  return (
    <dl class="api-fields">
      {fieldRows(document, schema).map((row) => {
        const members = level >= shownLevels ? [] : memberSchemas(document, row.schema);
        return (
          <>
            <dt>
              <code>{row.name}</code> <small class="muted" lang="en">{row.type}</small>{" "}
              {row.isRequired && <Tag isBusy>{t.required}</Tag>}
            </dt>
            <dd>
              {row.description !== "" && (
                <p lang="en">
                  <Marked text={row.description} />
                </p>
              )}
              {members.length > 0 && (
                <details>
                  <summary>{t.members}</summary>
                  {members.map((member) => (
                    <Fields document={document} schema={member} level={level + 1} locale={locale} />
                  ))}
                </details>
              )}
            </dd>
          </>
        );
      })}
    </dl>
  );
}

function Parameters({ document, operation, locale }: OperationProps) {
  const { parameters } = operation;
  const t = docsTexts[locale];
  if (!Array.isArray(parameters) || parameters.length === 0) return null;
  return (
    <>
      <h3>{t.parameters}</h3>
      <dl class="api-fields">
        {parameters.filter(isJsonObject).map((parameter) => (
          <>
            <dt>
              <code>{textOf(parameter["name"])}</code>{" "}
              <small class="muted" lang="en">
                {textOf(parameter["in"])}, {typeText(document, parameter["schema"])}
              </small>{" "}
              {parameter["required"] === true && <Tag isBusy>{t.required}</Tag>}
            </dt>
            <dd>
              <p lang="en">
                <Marked text={textOf(parameter["description"])} />
              </p>
            </dd>
          </>
        ))}
      </dl>
    </>
  );
}

/** The first media type of a content, with its entry. */
function firstContent(holder: JsonObject): [type: string, media: JsonObject] | undefined {
  const { content } = holder;
  if (!isJsonObject(content)) return undefined;
  const [type, media] = Object.entries(content)[0] ?? [];
  return type !== undefined && isJsonObject(media) ? [type, media] : undefined;
}

function Body({ document, operation, locale }: OperationProps) {
  const t = docsTexts[locale];
  const { requestBody } = operation;
  const [type, media] = isJsonObject(requestBody) ? firstContent(requestBody) ?? [] : [];
  if (media === undefined) return null;
  return (
    <>
      <h3>
        {t.body} <small class="muted" lang="en">{type}</small>
      </h3>
      <Fields document={document} schema={media["schema"]} level={1} locale={locale} />
    </>
  );
}

function Answers({ document, method, path, operation, locale }: OperationProps) {
  const t = docsTexts[locale];
  const { responses } = operation;
  if (!isJsonObject(responses)) return null;
  return (
    <>
      <h3>{t.answers}</h3>
      <TableFrame label={`${t.answers}: ${endpointOf({ method, path })}`}>
        <table class="answers">
          <tbody>
            {Object.entries(responses).map(([status, given]) => {
              const answer = resolve(document, given);
              const { content } = answer;
              const types = isJsonObject(content) ? Object.keys(content).join(", ") : "";
              return (
                <tr>
                  <th scope="row">
                    <code>{status}</code>
                  </th>
                  <td lang="en">
                    <Marked text={textOf(answer["description"])} />{" "}
                    {status.startsWith("2") && <small class="muted">{types}</small>}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </TableFrame>
    </>
  );
}

/** The keys that an operation takes. */
function keysOf({ security }: JsonObject): "api" | "management" | "either" | "none" {
  if (!Array.isArray(security)) return "api";
  const schemes = security.filter(isJsonObject).flatMap((scheme) => Object.keys(scheme));
  if (!schemes.includes("managementKey")) return schemes.length === 0 ? "none" : "api";
  return schemes.length === 1 ? "management" : "either";
}

/** The placeholders of keys in examples. */
const keyPlaceholders = {
  api: "YOUR_KEY",
  either: "YOUR_KEY",
  management: "YOUR_MANAGEMENT_KEY",
  none: undefined,
} as const;

/**
 * Writes a call of an operation for a shell.
 *
 * @example
 * ```ts
 * import { curlOf } from "./reference.tsx";
 * const call = curlOf({ method: "get", path: "/v1/balance", operation: {} }, "https://gw.example");
 * if (call !== 'curl https://gw.example/v1/balance \\\n  -H "authorization: Bearer YOUR_KEY"') throw new Error(call);
 * ```
 */
export function curlOf({ method, path, operation }: ReferenceOperation, server: string): string {
  const { parameters, requestBody } = operation;
  const own = Array.isArray(parameters) ? parameters.filter(isJsonObject) : [];
  const filled = own.reduce(
    (text, parameter) =>
      text.replace(`{${textOf(parameter["name"])}}`, textOf(parameter["example"]) || "ID"),
    path,
  );
  const isUsual = method === (isJsonObject(requestBody) ? "post" : "get");
  const word = isUsual ? "curl" : `curl -X ${method.toUpperCase()}`;
  const lines = [`${word} ${server}${filled}`];
  const key = keyPlaceholders[keysOf(operation)];
  if (key !== undefined) lines.push(`-H "authorization: Bearer ${key}"`);
  const [type, media] = isJsonObject(requestBody) ? firstContent(requestBody) ?? [] : [];
  const example = media?.["example"];
  if (isJsonObject(example)) {
    if (type === "application/json") {
      lines.push('-H "content-type: application/json"');
      const text = JSON.stringify(example, undefined, 2).replaceAll("'", "'\\''");
      lines.push(`-d '${text}'`);
    } else if (type === "application/x-www-form-urlencoded") {
      const fields = Object.entries(example);
      lines.push(...fields.map(([name, value]) => `--data-urlencode ${name}=${textOf(value)}`));
    } else {
      const parts = Object.entries(example).map(([name, value]) =>
        `-F ${name}=${name === "file" ? "@" : ""}${textOf(value)}`
      );
      lines.push(...parts);
    }
  }
  return lines.join(" \\\n  ");
}

/** One operation. */
export function OperationView(props: OperationProps) {
  const { method, path, operation, server, locale } = props;
  const t = docsTexts[locale];
  return (
    <section class="operation">
      <p class="endpoint">
        <span class={`method ${method}`} translate="no">{method.toUpperCase()}</span>{" "}
        <code>{path}</code>
      </p>
      <p>
        <span lang="en">
          <Marked text={textOf(operation["description"])} />
        </span>{" "}
        {t.keys[keysOf(operation)]}
      </p>
      <div class="snippet">
        <CodeBlock
          code={curlOf(props, server)}
          name="curl"
          what={`${t.example}: ${endpointOf(props)}`}
          locale={locale}
        />
      </div>
      <Parameters {...props} />
      <Body {...props} />
      <Answers {...props} />
    </section>
  );
}

/**
 * Returns what builds the document of a service, once for each catalogue: its parts are loaded with the first page that
 * shows it.
 *
 * @param catalog the one in force, whose models the examples name
 */
export function documentSource(server: string, catalog: () => Catalog) {
  let built: { readonly of: Catalog; readonly document: Promise<JsonObject> } | undefined;
  const build = async (of: Catalog): Promise<JsonObject> => {
    const { openApiDocument } = await import("../../../openapi/document.ts");
    return openApiDocument({ server, models: exampleModels(of) });
  };
  return (): Promise<JsonObject> => {
    const of = catalog();
    if (built?.of !== of) built = { of, document: build(of) };
    return built.document;
  };
}

/** Builds the document, or returns the one of this catalogue. */
export type DocumentSource = ReturnType<typeof documentSource>;

/** Lists the operations of a group, in the order of the document. */
export function operationsOf(document: JsonObject, tag: string): ReferenceOperation[] {
  const { paths } = document;
  if (!isJsonObject(paths)) return [];
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(isJsonObject(methods) ? methods : {}).flatMap(([method, operation]) =>
      isJsonObject(operation) && Array.isArray(operation["tags"]) &&
        operation["tags"].includes(tag)
        ? [{ method, path, operation }]
        : []
    )
  );
}

/** The id of an operation, which is the last part of its page's path. */
export function idOf({ operation }: ReferenceOperation): string {
  return textOf(operation["operationId"]);
}

/** Writes the method and path of an operation. */
export function endpointOf({ method, path }: Pick<ReferenceOperation, "method" | "path">): string {
  return `${method.toUpperCase()} ${path}`;
}

/** The index of a group: every endpoint with its page. */
export function ReferenceIndex({ document, tag }: { document: JsonObject; tag: string }) {
  return (
    <ul class="doc-list">
      {operationsOf(document, tag).map((one) => (
        <li id={idOf(one)}>
          <span class={`method ${one.method}`} translate="no">{one.method.toUpperCase()}</span>{" "}
          <a href={operationPath(tag, idOf(one))}>
            <code>{one.path}</code>
          </a>{" "}
          <span class="muted" lang="en">{textOf(one.operation["summary"])}</span>
        </li>
      ))}
    </ul>
  );
}
