// Searches logs, answers, metrics and Redis for secrets. A find names the secret's label, never its value.

/** Shorter than any key or signature, and long enough to be unique. */
const BEGINNING_CHARS = 16;
/** Characters of text before a find that a report shows. */
const BEFORE_CHARS = 120;
/** Characters of secrets and of their base64 and hex forms. */
const RUNS = /[A-Za-z0-9+/_-]{16,}/g;

export class Canary {
  /** Indexed by prefix, so that one pass over a text finds any of very many secrets. */
  private readonly forms = new Map<string, Map<string, string>>();

  /**
   * Watches for `secret` and for its base64 and hex forms. Throws when it is too short to be distinguished from other
   * text.
   */
  watch(label: string, secret: string | Buffer): void {
    const bytes = Buffer.from(secret);
    if (bytes.length < BEGINNING_CHARS) throw new Error(`${label} is too short to be looked for`);
    const forms = [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), bytes.toString('hex')];
    if (typeof secret === 'string') forms.push(secret);
    for (const form of forms) {
      const beginning = form.slice(0, BEGINNING_CHARS);
      const known = this.forms.get(beginning) ?? new Map<string, string>();
      this.forms.set(beginning, known.set(form, label));
    }
  }

  /** Returns the labels of the secrets in `text`, each once. */
  findIn(text: string): string[] {
    return [...new Set([...this.matches(text)].map(({ label }) => label))];
  }

  /** Returns each label once, with the text before its first find, which helps to locate the leak. */
  placesIn(text: string): Map<string, string> {
    const places = new Map<string, string>();
    for (const { label, at } of this.matches(text)) {
      // Masks text that looks like a secret, so that the report leaks none.
      const before = text.slice(Math.max(0, at - BEFORE_CHARS), at).replaceAll(RUNS, '…');
      if (!places.has(label)) places.set(label, before);
    }
    return places;
  }

  private *matches(text: string): Generator<{ label: string; at: number }> {
    for (const { 0: run, index } of text.matchAll(RUNS)) {
      for (let at = 0; at + BEGINNING_CHARS <= run.length; at += 1) {
        for (const [form, label] of this.forms.get(run.slice(at, at + BEGINNING_CHARS)) ?? []) {
          if (text.startsWith(form, index + at)) yield { label, at: index + at };
        }
      }
    }
  }
}
