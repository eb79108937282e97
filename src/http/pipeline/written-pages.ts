/** Answers of any length, written as fast as the caller takes them. */
import type { ServerResponse } from 'node:http';
import { drained } from './drained.js';

/**
 * Writes the pages of an answer one by one, each when the one before was taken. What goes wrong before the first is thrown; afterwards, and
 * when nothing is taken for `slowMs`, the connection is closed, so that nobody takes a part for the whole.
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
