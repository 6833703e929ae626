/** A real SMTP server on this machine, and the mails it got. */
import { SMTPServer } from "smtp-server";

/** A mail as it arrived. */
export interface Received {
  readonly from: string;
  readonly to: string[];
  readonly raw: string;
}

export interface SmtpWorld extends AsyncDisposable {
  readonly port: number;
  readonly received: Received[];
}

/** A real SMTP server; `refusals` answers that many mails with a temporary failure first. */
export async function openSmtp(
  options: { user?: string; password?: string; refusals?: number } = {},
): Promise<SmtpWorld> {
  const received: Received[] = [];
  let refusals = options.refusals ?? 0;
  const server = new SMTPServer({
    disabledCommands: options.user === undefined ? ["AUTH", "STARTTLS"] : ["STARTTLS"],
    allowInsecureAuth: true,
    authOptional: options.user === undefined,
    onAuth(auth, _session, done) {
      const fits = auth.username === options.user && auth.password === options.password;
      done(fits ? null : new Error("wrong"), fits ? { user: auth.username } : undefined);
    },
    onData(stream, session, done) {
      const chunks: Uint8Array[] = [];
      stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      stream.on("end", async () => {
        if (refusals > 0) {
          refusals--;
          return done(Object.assign(new Error("try later"), { responseCode: 451 }));
        }
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: await new Blob(chunks.map((chunk) => new Uint8Array(chunk))).text(),
        });
        done();
      });
    },
  });
  const port = await new Promise<number>((resolve) => {
    const listening = server.listen(0, "127.0.0.1", () => {
      const address = listening.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  return {
    port,
    received,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The readable text of a mail: its first text part, quoted-printable undone. */
export function textOf({ raw }: Received): string {
  const start = raw.indexOf("Content-Type: text/plain");
  const body = raw.slice(raw.indexOf("\r\n\r\n", start) + 4);
  const bytes = body.replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
}
