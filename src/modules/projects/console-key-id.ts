import { hash } from 'node:crypto';

/**
 * Returns the id of the key that pays for a project's purchases in the console. It follows from the project's id, as
 * the database functions compute it, so that a project has one such key.
 */
export function consoleKeyId(projectId: string): string {
  const hex = hash('md5', `console purchases of ${projectId}`);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
