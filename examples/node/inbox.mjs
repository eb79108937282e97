// A folder with one file per event id. An event that arrives by webhook and by the event log is stored once.
import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Stores an event; false if it exists. The file is written completely before it gets its name. */
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

/** Replaces a file atomically: a reader sees the old or the new content. */
export function replace(folder, name, text) {
  mkdirSync(folder, { recursive: true });
  const draft = join(folder, `.${randomUUID()}`);
  writeFileSync(draft, text, { flush: true });
  renameSync(draft, join(folder, name));
}
