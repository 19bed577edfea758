/**
 * Takes secrets out of text that is about to be logged or stored. Values that the process knows to be secret
 * are registered when they are read; the patterns catch tokens of well-known shapes that were never
 * registered, such as one inside a provider's error message.
 */
export interface Redactor {
  /** Values under 8 characters are ignored: blanking them would blank ordinary words. */
  register(secret: string | undefined): void;
  scrub(text: string): string;
}

const blank = "[redacted]";

const tokenShapes =
  /\b(?:rc[kw]_[0-9A-Za-z]{36}|whsec_[\w+/=-]{16,}|gh[pousr]_[\w.-]{20,}|github_pat_\w{20,}|xox[abeoprs]-[\w-]{10,}|sk-[\w-]{16,}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)|(?<=\bBearer\s)[\w.~+/-]{8,}=*/g;

export function createRedactor(): Redactor {
  const secrets = new Set<string>();
  let known: RegExp | undefined;

  return {
    register(secret) {
      if (secret === undefined || secret.length < 8 || secrets.has(secret)) return;
      // The JSON form differs for values with quotes, backslashes or line ends, as a private key has.
      secrets.add(secret).add(JSON.stringify(secret).slice(1, -1));
      const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
      known = new RegExp(longestFirst.map((value) => RegExp.escape(value)).join("|"), "g");
    },
    scrub(text) {
      const scrubbed = known ? text.replace(known, blank) : text;
      return scrubbed.replace(tokenShapes, blank);
    },
  };
}
