// Searches for secrets where none may be: logs, answers, metrics, Redis. A find names the secret's label, never its value.

/** Shorter than any key or signature, and long enough that nothing else begins so. */
const BEGINNING_CHARS = 16;
/** Of a text before a find, in a report. */
const BEFORE_CHARS = 120;
/** What secrets and their base64 and hex forms consist of. */
const RUNS = /[A-Za-z0-9+/_-]{16,}/g;

export class Canary {
  /** By beginning, so that one pass over a text finds any of very many secrets. */
  private readonly forms = new Map<string, Map<string, string>>();

  /** Watches for `secret` and for its base64 and hex forms. Throws when it is too short to be told from other text. */
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

  /** The labels of the secrets that `text` holds, each once. */
  findIn(text: string): string[] {
    return [...new Set([...this.matches(text)].map(({ label }) => label))];
  }

  /** Each label once, with what stands before the first of its secrets: where to look for whoever let it out. */
  placesIn(text: string): Map<string, string> {
    const places = new Map<string, string>();
    for (const { label, at } of this.matches(text)) {
      // What looks like a secret itself is left out, so that a report of a find is none.
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
