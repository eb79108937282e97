// A folder of events, each a file under its id: a webhook and the log of events may both bring one, and it is there once.
import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Keeps an event. False when it was there: written whole first, a file gets its name once. */
export function keep(inbox, id, text) {
  mkdirSync(inbox, { recursive: true });
  const draft = join(inbox, `.${randomUUID()}`);
  writeFileSync(draft, text, { flush: true });
  try {
    linkSync(draft, join(inbox, `${id}.json`));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft);
  }
}

/** Writes a file so that a reader sees what it was or what it is, and nothing between. */
export function replace(folder, name, text) {
  mkdirSync(folder, { recursive: true });
  const draft = join(folder, `.${randomUUID()}`);
  writeFileSync(draft, text, { flush: true });
  renameSync(draft, join(folder, name));
}
