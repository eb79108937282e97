/** Writes answers of any length, as fast as the caller reads them. */
import type { ServerResponse } from 'node:http';
import { drained } from './drained.js';

/**
 * Writes the pages of an answer one by one, each after the one before was taken. Throws an error before the first page.
 * After a later error, or if the caller takes nothing for `slowMs`, the connection is closed, so that a partial answer
 * never seems complete.
 */
export async function writePages(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  pages: AsyncGenerator<string, void, undefined>,
  slowMs: number,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => {
    gone.abort();
  });
  for await (const page of pages) {
    if (gone.signal.aborted) return;
    if (!response.headersSent) response.writeHead(200, headers);
    if (response.write(page) || (await drained(response, slowMs, gone.signal))) continue;
    response.destroy();
    return;
  }
  response.end();
}
