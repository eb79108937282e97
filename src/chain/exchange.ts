/**
 * One HTTP exchange with a node: connections kept open, a limit on time and one on size, no redirects. undici's own
 * request, because the platform's `fetch` on top of it costs four times its CPU (bench/README.md).
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Agent, request, type Dispatcher } from 'undici';
import { DeadlineError } from '../clock.js';

export interface Exchange {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For all of it: connecting, sending, and the last byte of the answer. */
  readonly timeoutMs: number;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A block of java-tron holds at most 2 MB of transactions; as JSON several times that. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const CONNECTIONS_MAX = 128;
/** Longer than allowed, as sent or unzipped; or not gzip at all. */
const UNREADABLE = /^(UND_ERR_RES_EXCEEDED_MAX_SIZE|ERR_BUFFER_TOO_LARGE|Z_\w+)$/;
const unzipped = promisify(gunzip);

const agent = new Agent({ maxResponseSize: ANSWER_BYTES_MAX, connections: CONNECTIONS_MAX });

/** Thrown when there was an answer, but too long a one or not in the encoding it claims. */
export class UnreadableAnswerError extends Error {
  override readonly name = 'UnreadableAnswerError';
}

/** POSTs `body`. Throws UnreadableAnswerError, DeadlineError when the time was up, or what went wrong below HTTP. */
export async function post({ url, headers, body, timeoutMs }: Exchange): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await request(url, {
      method: 'POST',
      headers: { 'accept-encoding': 'gzip', ...headers },
      body,
      dispatcher: agent,
      signal,
    });
    return { status: answer.statusCode, text: await textOf(answer) };
  } catch (error) {
    if (signal.aborted) throw new DeadlineError(`no answer within ${timeoutMs.toString()} ms`);
    if (UNREADABLE.test(String((error as { code?: unknown }).code))) {
      throw new UnreadableAnswerError('the answer is too long or broken', { cause: error });
    }
    throw error;
  }
}

async function textOf({ headers, body }: Dispatcher.ResponseData): Promise<string> {
  if (headers['content-encoding'] !== 'gzip') return body.text();
  const bytes = await unzipped(await body.arrayBuffer(), { maxOutputLength: ANSWER_BYTES_MAX });
  return bytes.toString('utf8');
}
