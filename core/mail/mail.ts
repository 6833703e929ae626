/** A mail, and whatever sends it. */
export interface Mail {
  /** The same for every attempt to send the same mail: receivers and providers may drop repeats by it. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface Mailer {
  /** Resolves when somebody else has taken the responsibility for the mail; rejects when it should be tried again. */
  send(mail: Mail): Promise<void>;
}
