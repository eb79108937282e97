// Checks of the format that every API answer shares.
import { HTTP_STATUS, type ErrorCode } from '../../../src/domain/errors.js';
import type { Answer } from './client.js';

const REQUEST_ID = /^[A-Za-z0-9_-]{1,128}$/;

/** Expects the common error body: code, message, request id and documentation, with the code's HTTP status. */
export function expectError(answer: Answer, code: ErrorCode): void {
  const { ok, error, msg, request_id: requestId, doc_url: docUrl, ...rest } = answer.body;
  expect({ status: answer.status, error, ok }).toEqual({ status: HTTP_STATUS[code], error: code, ok: false });
  expect(typeof msg).toBe('string');
  expect(docUrl).toBe(`/docs/errors#${code}`);
  expect(requestId).toMatch(REQUEST_ID);
  expect(requestId).toBe(answer.headers['x-request-id']);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  const { key, server_time: serverTime, ...members } = rest;
  expect(Number.isInteger(serverTime)).toBe(code === 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE');
  if (key !== undefined) expect([answer.status >= 500, answer.headers['idempotency-key']]).toEqual([true, key]);
  const more: Partial<Record<ErrorCode, string[]>> = {
    INVALID_REQUEST: ['details'],
    EVENTS_EXPIRED: ['oldest_position'],
    INSUFFICIENT_CREDITS: ['needed_credits', 'available_credits'],
    SPEND_CAP_REACHED: ['needed_credits', 'available_credits'],
  };
  expect(Object.keys(members)).toEqual(more[code] ?? []);
  if (answer.status === 429 || answer.status === 503) expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
}

/** Parses a raw HTTP response. */
export function answerIn(raw: string): Answer {
  const [head = '', text = ''] = raw.split('\r\n\r\n', 2);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ')[1]]));
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: text === '' ? undefined : JSON.parse(text) };
}
