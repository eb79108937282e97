/**
 * Common signing mistakes, each with the signature that it produces, so that a wrong signature can be explained. Pure.
 * It makes many checks, so it explains stored refusals to people and never runs while a request is answered.
 */
import { createHash, createHmac } from 'node:crypto';
import { linesToSign, type HmacHeaders, type SignedLines, type SignedParts } from './hmac-signature.js';
import { canonicalForms, signCanonical } from './signature.js';
import { readStrictJson, StrictJsonError, type StrictBody } from '../../platform/http/body/strict-json.js';

export type SignedRequest = Omit<HmacHeaders, 'signature'> & SignedParts;

/** A wrong string to sign, and the mistake behind it. */
interface Misreading {
  readonly lines: string;
  readonly mistake: string;
}

const PLACES = { timestamp: 1, method: 3, path: 4, query: 5, merchant: 6, key: 7, body: 8 } as const;

/** Returns the mistake that produces `claimed` under one of the keys, as a sentence; undefined for no known mistake. */
export function mistakeOfHmac(request: SignedRequest, claimed: Buffer, apiKeys: readonly string[]): string | undefined {
  const lines = linesToSign(request, request);
  const right = lines.join('\n');
  for (const apiKey of apiKeys) {
    const makes = (text: string, key: string | Buffer = apiKey) =>
      createHmac('sha256', key).update(text, 'utf8').digest().equals(claimed);
    for (const { lines: other, mistake } of misreadings(request, lines)) if (makes(other)) return mistake;
    for (const end of ['\n', '\r\n', ' ']) {
      if (makes(right, apiKey + end)) return 'The key ends with a space or line break. Remove it.';
    }
    if (makes(right, Buffer.from(apiKey, 'hex'))) {
      return 'The key was decoded from hex. Use its text as it is.';
    }
  }
  return undefined;
}

function* misreadings(request: SignedRequest, lines: SignedLines): Generator<Misreading> {
  const [path = '', ...rest] = request.target.split('?');
  const query = rest.join('?');
  const replaced = (place: keyof typeof PLACES, text: string): string =>
    lines.map((line, index) => (index === PLACES[place] ? text : line)).join('\n');
  const of = (place: keyof typeof PLACES, text: string, mistake: string): Misreading => ({
    lines: replaced(place, text),
    mistake,
  });
  yield of('path', path, 'The encoded path was signed. Sign it percent-decoded.');
  yield of('path', path.replace(/^\/v1/, ''), 'The path was signed without /v1. Include /v1.');
  yield of('method', request.method.toLowerCase(), 'The method was signed in lower case. Sign it in upper case.');
  yield of('query', '', 'The query was not signed. Sign it as sent, without the question mark.');
  yield of('query', `?${query}`, 'The query was signed with its question mark. Omit the question mark.');
  yield of('query', decoded(query), 'The decoded query was signed. Sign it as sent.');
  const target = [...lines.slice(0, PLACES.path), request.target, '', ...lines.slice(PLACES.merchant)].join('\n');
  yield { lines: target, mistake: 'Path and query were signed on one line. Sign them on two lines.' };
  for (const merchant of [request.merchant.toLowerCase(), request.merchant.toUpperCase()]) {
    yield of('merchant', merchant, 'Merchant was signed in another case than sent. Sign it as sent.');
  }
  yield of('key', '', 'The Idempotency-Key was sent but not signed. Sign it as well.');
  for (const { bytes, mistake } of otherBodies(request.body)) yield of('body', sha256(bytes).toString('hex'), mistake);
  const digest = sha256(request.body);
  yield of(
    'body',
    digest.toString('hex').toUpperCase(),
    'The SHA-256 of the body was signed in upper case. Sign it in lower case.',
  );
  yield of('body', digest.toString('base64'), 'The SHA-256 of the body was signed in base64. Sign it in hex.');
  yield of('body', request.body.toString('utf8'), 'The body itself was signed. Sign its SHA-256 in hex.');
  yield {
    lines: `${lines.join('\n')}\n`,
    mistake: 'The signed text ends with a line break. Remove it after the last line.',
  };
  yield { lines: lines.join('\r\n'), mistake: 'The lines were joined by CR LF. Join them by LF only.' };
  yield {
    lines: lines.join(String.raw`\n`),
    mistake: 'The lines were joined by a backslash and an n. Join them by line breaks.',
  };
  yield { lines: lines.slice(1).join('\n'), mistake: 'The first line, the version, is missing from the signed text.' };
}

function* otherBodies(body: Buffer): Generator<{ readonly bytes: string; readonly mistake: string }> {
  if (body.length === 0) {
    yield { bytes: '{}', mistake: 'The body {} was signed, but no body was sent.' };
    return;
  }
  yield { bytes: '', mistake: 'An empty body was signed. Sign the body that is sent.' };
  const text = body.toString('utf8');
  const again = 'The body was serialized again after it was signed. Send exactly the signed bytes. ';
  for (const edges of [text.trim(), `${text}\n`])
    yield { bytes: edges, mistake: `${again}A line break or space differs.` };
  // An invalid body (above all one nested too deep) is not re-encoded: the result could be a thousand times as long.
  const read = readBody(body);
  if (read === undefined) return;
  const value: unknown = JSON.parse(text);
  yield { bytes: JSON.stringify(value), mistake: `${again}The signed body has no whitespace.` };
  for (const indent of [2, 4, '\t']) {
    yield { bytes: JSON.stringify(value, null, indent), mistake: `${again}The signed body is indented.` };
  }
  yield { bytes: spaced(text), mistake: `${again}The signed body has a space after each comma and colon.` };
  for (const form of canonicalForms(read)) yield { bytes: form, mistake: `${again}The signed body has sorted keys.` };
}

/** Formats like Python's json.dumps. */
function spaced(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|[,:]\s*/gs, (part) => (part.startsWith('"') ? part : `${part.charAt(0)} `));
}

function readBody(body: Buffer): StrictBody | undefined {
  try {
    return readStrictJson(body);
  } catch (error) {
    if (error instanceof StrictJsonError) return undefined;
    throw error;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function sha256(bytes: string | Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** Does the same as `mistakeOfHmac` for an MD5 signature over `body`. */
export function mistakeOfMd5(body: StrictBody | undefined, claimed: string, apiKey: string): string | undefined {
  const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
  const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
  const [canonical = ''] = canonicalForms(body);
  if (claimed.toLowerCase() === signCanonical(canonical, apiKey))
    return 'The signature is in upper case. Write it in lower case.';
  const sent = body?.text ?? '';
  const others: readonly (readonly [string, string])[] = [
    [
      signCanonical(sent, apiKey),
      'The keys of the signed body are not sorted, or it has whitespace. Sign its canonical form.',
    ],
    [
      signCanonical('{}', apiKey),
      'The body {} was signed. Sign the body that is sent, or the empty string without a body.',
    ],
    [signCanonical('', apiKey), 'No body was signed. Sign the body that is sent.'],
    [md5(canonical + apiKey), 'The body was signed without base64. Encode it first.'],
    [md5(apiKey + base64(canonical)), 'The key was put before the body. Put it after the body.'],
    [
      md5(base64(canonical + apiKey)),
      'The key was encoded together with the body. Append the key to the base64 of the body.',
    ],
    [signCanonical(canonical, `${apiKey}\n`), 'The key ends with a line break. Remove it.'],
    [md5(`${base64(canonical)}\n${apiKey}`), 'The base64 ends with a line break. Remove it.'],
  ];
  return others.find(([signature]) => signature === claimed)?.[1];
}
