/** The parts of a provider that only clouds have: credentials behind tokens or signatures, and the form of requests. */
import { z } from "zod";

/** A part of a host name or of a path, such as a region or the name of a project. */
const label = z.string().regex(/^[a-z0-9][a-z0-9.:-]*$/i).max(128);

const entraAuth = z.strictObject({
  kind: z.literal("entra"),
  tenant: label.describe("Directory (tenant) id."),
  clientId: label.describe(
    "Application (client) id; its secret is in the variable of `apiKeyEnv`.",
  ),
  scope: z.string().regex(/^[\x21-\x7e]+$/).default("https://cognitiveservices.azure.com/.default"),
  authority: z.url({ protocol: /^https?$/ }).default("https://login.microsoftonline.com"),
}).describe("Azure: client credentials of Microsoft Entra ID.");

const entraFederatedAuth = z.strictObject({
  kind: z.literal("entra-federated"),
  tenant: entraAuth.shape.tenant,
  clientId: label.describe("Application (client) id, or that of a managed identity."),
  scope: entraAuth.shape.scope,
  authority: entraAuth.shape.authority,
}).describe(
  "Azure: a federated identity of Microsoft Entra ID; the variable of `apiKeyEnv` holds the path of the file with its " +
    "token (`AZURE_FEDERATED_TOKEN_FILE`).",
);

const googleAuth = z.strictObject({
  kind: z.literal("google"),
  scope: z.string().regex(/^[\x21-\x7e]+$/).default(
    "https://www.googleapis.com/auth/cloud-platform",
  ),
}).describe("Google: the variable of `apiKeyEnv` holds the JSON key of a service account.");

const googleMetadataAuth = z.strictObject({
  kind: z.literal("google-metadata"),
  scope: googleAuth.shape.scope,
  metadata: z.url({ protocol: /^https?$/ }).default("http://metadata.google.internal"),
}).describe(
  "Google: the service account that is attached to the machine or workload; the variable of `apiKeyEnv` holds its " +
    "email, or `default`.",
);

const awsAuth = z.strictObject({
  kind: z.literal("aws"),
  region: label,
  service: label.default("bedrock"),
}).describe(
  "AWS Signature Version 4: the variable of `apiKeyEnv` holds `ACCESS_KEY_ID:SECRET_ACCESS_KEY`, and `:SESSION_TOKEN` " +
    "if there is one.",
);

const roleArn = z.string().regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/);

const awsWebIdentityAuth = z.strictObject({
  kind: z.literal("aws-web-identity"),
  region: label,
  service: awsAuth.shape.service,
  role: roleArn.describe("ARN of the role (`AWS_ROLE_ARN`)."),
  sessionName: z.string().regex(/^[\w+=,.@-]{2,64}$/).default("gateway"),
  sts: z.url({ protocol: /^https?$/ }).optional().describe("Default: that of the region."),
}).describe(
  "AWS: temporary keys of a role for a web identity; the variable of `apiKeyEnv` holds the path of the file with its " +
    "token (`AWS_WEB_IDENTITY_TOKEN_FILE`).",
);

const awsContainerAuth = z.strictObject({
  kind: z.literal("aws-container"),
  region: label,
  service: awsAuth.shape.service,
  tokenFile: z.string().min(1).max(1024).optional()
    .describe("Path of the file with the token for it (`AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`)."),
}).describe(
  "AWS: temporary keys that the platform gives; the variable of `apiKeyEnv` holds their address " +
    "(`AWS_CONTAINER_CREDENTIALS_FULL_URI`), or at ECS its path (`AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`).",
);

/** The schema of credentials from which a token or a signature is made. */
export const cloudAuthSchema = z.discriminatedUnion("kind", [
  entraAuth,
  entraFederatedAuth,
  googleAuth,
  googleMetadataAuth,
  awsAuth,
  awsWebIdentityAuth,
  awsContainerAuth,
]);

/** The schema of `cloud` of a provider. */
export const cloudSchema = z.discriminatedUnion("name", [
  z.strictObject({
    name: z.literal("azure"),
    apiVersion: z.string().regex(/^[A-Za-z0-9.-]{1,32}$/).describe(
      "Sent as `api-version`. Routes name deployments as their `model`.",
    ),
  }),
  z.strictObject({ name: z.literal("vertex"), project: label, location: label }),
  z.strictObject({ name: z.literal("bedrock") }),
]).describe(
  "The provider is a cloud whose requests have a form of their own: paths with the name of the model, other bodies, " +
    "other errors. Not needed for endpoints in the plain form of a style, such as the `v1` paths of Azure.",
);

/** A credential from which a token or a signature is made. */
export type CloudAuth = Readonly<z.infer<typeof cloudAuthSchema>>;
/** The cloud of a provider. */
export type Cloud = Readonly<z.infer<typeof cloudSchema>>;

// The ways in which a provider's key is sent: `auth` in `gateway.json`.
//
// The schema, its description and the requests to providers follow from the table of headers here, and from
// `cloud_schema.ts` for credentials from which a token or a signature is made.

interface AuthKindRow {
  /** The value of `auth`. */
  readonly name: string;
  /** The header that carries the key, lower-case. */
  readonly header: string;
  /** The authentication scheme before the key (RFC 9110, section 11.4); absent: the key alone. */
  readonly scheme?: string;
}

/** All kinds of authentication by a key in a header, one row each. */
export const authKinds = [
  { name: "bearer", header: "authorization", scheme: "Bearer" },
  { name: "x-api-key", header: "x-api-key" },
  { name: "api-key", header: "api-key" },
  { name: "x-goog-api-key", header: "x-goog-api-key" },
] as const satisfies readonly AuthKindRow[];

/** The name of a kind of authentication by a key in a header. */
export type AuthKind = typeof authKinds[number]["name"];

/** `auth` of a provider: a key in a header, or a credential of a cloud. */
export type ProviderAuth = AuthKind | CloudAuth;

const rows: ReadonlyMap<string, AuthKindRow> = new Map(authKinds.map((row) => [row.name, row]));

function rowOf(kind: AuthKind): AuthKindRow {
  return rows.get(kind)!;
}

/** Returns the name, lower-case, of the header that carries the key of a provider. */
export function credentialHeaderName(auth: ProviderAuth): string {
  return typeof auth === "string" ? rowOf(auth).header : "authorization";
}

/**
 * Builds the header, name and value, that carries a provider's key.
 *
 * @example
 * ```ts
 * import { credentialHeader } from "./cloud_schema.ts";
 * if (credentialHeader("bearer", "k-1").join() !== "authorization,Bearer k-1") throw new Error();
 * if (credentialHeader("x-api-key", "k-1").join() !== "x-api-key,k-1") throw new Error();
 * ```
 */
export function credentialHeader(kind: AuthKind, secret: string): [string, string] {
  const { header, scheme } = rowOf(kind);
  return [header, scheme === undefined ? secret : `${scheme} ${secret}`];
}

/** Describes `auth` for the schema: every kind with its header. */
export function describeAuthKinds(): string {
  const names = [...rows.values()].map(({ header, scheme }) =>
    scheme === undefined
      ? `\`${header}\``
      : `\`${header[0]?.toUpperCase()}${header.slice(1)}: ${scheme}\``
  );
  return `How the key travels: ${names.join(", ")}, or the credential of a cloud.`;
}
