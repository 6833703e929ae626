/** The providers at which customers may sign in, by the variables that configure them. */
import { z } from "zod";
import { type Environment, secretText } from "../lib/environment/environment.ts";
import { problemLines, readBySchema, type SchemaReading } from "../lib/environment/schema_words.ts";

/** The kinds of providers, in the order of their buttons. `openid`: any OpenID provider. */
export const providerIds = ["google", "github", "openid"] as const;

/** A kind of provider, of which each can be configured once. */
export type ProviderId = typeof providerIds[number];

/** A provider at which customers may sign in. */
export interface SignInProvider {
  readonly id: ProviderId;
  /** Of an OpenID provider its issuer; of GitHub its address. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The word on the button. */
  readonly label: string;
}

/**
 * Path to which a provider sends people back: one of its own, so that no answer of one is taken for that of another.
 */
export function callbackPathOf(id: ProviderId): string {
  return `/auth/${id}/callback`;
}

const address = z.url({ protocol: /^https?$/ });

/** The variables of each provider, and what they mean. */
const readers: {
  readonly [Id in ProviderId]: {
    /** One of them means that the provider is wanted. */
    readonly wanted: readonly string[];
    readonly read: (
      environment: Environment,
    ) => SchemaReading<Omit<SignInProvider, "id">>;
  };
} = {
  google: {
    wanted: ["GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET"],
    read: (environment) =>
      readBySchema(
        z.object({ GOOGLE_CLIENT_ID: z.string().min(1), GOOGLE_CLIENT_SECRET: secretText(1) })
          .transform((data) => ({
            issuer: "https://accounts.google.com",
            clientId: data.GOOGLE_CLIENT_ID,
            clientSecret: data.GOOGLE_CLIENT_SECRET,
            label: "Google",
          })),
        environment,
      ),
  },
  github: {
    wanted: ["GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET"],
    read: (environment) =>
      readBySchema(
        z.object({
          GITHUB_CLIENT_ID: z.string().min(1),
          GITHUB_CLIENT_SECRET: secretText(1),
          GITHUB_URL: address.default("https://github.com"),
        }).transform((data) => ({
          issuer: new URL(data.GITHUB_URL).origin,
          clientId: data.GITHUB_CLIENT_ID,
          clientSecret: data.GITHUB_CLIENT_SECRET,
          label: "GitHub",
        })),
        environment,
      ),
  },
  openid: {
    wanted: ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"],
    read: (environment) =>
      readBySchema(
        z.object({
          OIDC_ISSUER: address,
          OIDC_CLIENT_ID: z.string().min(1),
          OIDC_CLIENT_SECRET: secretText(1),
          OIDC_LABEL: z.string().min(1).default("OpenID"),
        }).transform((data) => ({
          issuer: data.OIDC_ISSUER,
          clientId: data.OIDC_CLIENT_ID,
          clientSecret: data.OIDC_CLIENT_SECRET,
          label: data.OIDC_LABEL,
        })),
        environment,
      ),
  },
};

/** Reads the configured providers. Half a configuration is a mistake. */
export function readSignInProviders(
  environment: Environment,
  problems: string[],
): readonly SignInProvider[] {
  return providerIds.flatMap((id) => {
    const { wanted, read } = readers[id];
    if (wanted.every((name) => environment[name] === undefined)) return [];
    const found = read(environment);
    if (found.ok) return [{ id, ...found.value }];
    problems.push(...problemLines("environment", found.problems));
    return [];
  });
}
