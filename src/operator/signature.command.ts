/** `signature check`: shows every step of a signature for a merchant's request. Needs no service and no database. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { nowMs } from '../base/clock.js';
import { hmacOf, linesToSign, readHmacHeaders, WINDOW_SEC } from '../auth/hmac-signature.js';
import { canonicalForms, signCanonical, verifySignature } from '../auth/signature.js';
import { mistakeOfHmac, mistakeOfMd5, type SignedRequest } from '../auth/signature-mistakes.js';
import { ApiError, messageOf } from '../domain/errors.js';
import { OperatorError, usageError } from '../domain/operator-error.js';
import { readStrictJson, StrictJsonError, type StrictBody } from '../http/body/strict-json.js';
import { apiKeyFrom } from './api-key-input.js';
import type { CliContext } from './cli-context.js';
import { fields } from './format.js';

const HELP = `
The API key is read from the variable API_KEY or from --key-file, and is neither
printed nor sent. Without --timestamp and --nonce new ones are made. With
--signature, the one that your code made, a known mistake is named.
  export API_KEY
  npm run -s cli -- signature check --merchant UUID \\
    --path /v1/orders --body '{"energy":65000}' --signature v1=…`;

interface Options {
  readonly md5?: boolean;
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly merchant?: string;
  readonly timestamp?: string;
  readonly nonce?: string;
  readonly idempotencyKey?: string;
  readonly keyFile?: string;
  readonly signature?: string;
}

/** The output: the named steps, faults of the request, and the verdict on the given signature. */
interface Report {
  readonly steps: readonly (readonly [string, string])[];
  readonly remarks: readonly string[];
  /** Undefined if no signature was given. */
  readonly isRight: boolean | undefined;
}

export function addSignatureCommands(program: Command, context: CliContext): void {
  program
    .command('signature')
    .description('how requests are signed')
    .command('check')
    .description('every step of a signature for a request of your own; offline')
    .option('--md5', 'by MD5 over the body, in the place of HMAC')
    .option('--method <method>', 'default: POST with a body, GET without')
    .option('--path <path>', 'path and query as they are sent')
    .option('--body <text>', 'the body as it is sent')
    .option('--body-file <file>', 'the same from a file, byte by byte')
    .option('--merchant <uuid>', 'as it is sent')
    .option('--timestamp <seconds>', 'X-CC-Timestamp')
    .option('--nonce <nonce>', 'X-CC-Nonce')
    .option('--idempotency-key <key>', 'Idempotency-Key, when it is sent')
    .option('--key-file <file>', 'a file that holds the API key alone')
    .option('--signature <signature>', 'the signature that you made, to compare')
    .addHelpText('after', HELP)
    .action((options: Options) => {
      const apiKey = apiKeyFrom(options.keyFile, context.terminal);
      const body = bodyOf(options);
      const report = options.md5 === true ? checkMd5(options, body, apiKey) : checkHmac(options, body, apiKey);
      const { steps, remarks, isRight } = report;
      const verdict = isRight === undefined ? [] : [isRight ? 'The signature is right.' : 'The signature is wrong.'];
      context.print([fields(steps), ...verdict, ...remarks].join('\n'), {
        steps: Object.fromEntries(steps.map(([name, value]) => [name.replaceAll(' ', '_'), value])),
        ...(isRight !== undefined && { isRight }),
        remarks,
      });
      if (isRight === false) throw new OperatorError('The signature is not the one of this request and key.', 1);
    });
}

function bodyOf({ body, bodyFile }: Options): Buffer {
  if (body !== undefined && bodyFile !== undefined) throw usageError('--body and --body-file exclude each other.');
  if (bodyFile === undefined) return Buffer.from(body ?? '', 'utf8');
  try {
    return readFileSync(bodyFile);
  } catch (error) {
    throw usageError(`The body cannot be read: ${messageOf(error)}.`);
  }
}

function checkHmac(options: Options, body: Buffer, apiKey: string): Report {
  const { merchant, path: target, idempotencyKey = '', signature: given } = options;
  if (merchant === undefined || target === undefined) throw usageError('Say --merchant and --path, or --md5.');
  const nowSec = Math.floor(nowMs() / 1000);
  const timestamp = options.timestamp ?? nowSec.toString();
  const nonce = options.nonce ?? randomBytes(16).toString('hex');
  const method = options.method ?? (body.length === 0 ? 'GET' : 'POST');
  const request = { merchant, timestamp, nonce, idempotencyKey, method, target, body };
  const lines = linesOf(request);
  const digest = hmacOf(lines.join('\n'), createSecretKey(apiKey, 'utf8'));
  const right = `v1=${digest.toString('hex')}`;
  const names = [
    'version',
    'timestamp',
    'nonce',
    'method',
    'path',
    'query',
    'merchant',
    'idempotency key',
    'body sha256',
  ];
  const steps: [string, string][] = [
    ...names.map((name, index): [string, string] => [name, lines[index] ?? '']),
    ['signature', right],
  ];
  const isRight = given === undefined ? undefined : given.startsWith('v1=') && given.toLowerCase() === right;
  const remarks = [
    ...formFaults(request, given ?? right),
    ...timeRemarks(timestamp, nowSec),
    ...(given === undefined || isRight === true ? [] : [mistakeIn(request, given, digest, apiKey)]),
  ];
  return { steps, remarks, isRight };
}

function linesOf(request: SignedRequest): readonly string[] {
  try {
    return linesToSign(request, request);
  } catch (error) {
    if (error instanceof ApiError) throw new OperatorError(error.message, 1, error.code);
    throw error;
  }
}

/** Returns the faults for which the service refuses the request before it checks the signature. */
function formFaults({ merchant, timestamp, nonce, idempotencyKey }: SignedRequest, signature: string): string[] {
  const headers = ['Merchant', merchant, 'X-CC-Timestamp', timestamp, 'X-CC-Nonce', nonce, 'X-CC-Signature', signature];
  try {
    readHmacHeaders(idempotencyKey === '' ? headers : [...headers, 'Idempotency-Key', idempotencyKey]);
    return [];
  } catch (error) {
    return [messageOf(error)];
  }
}

function timeRemarks(timestamp: string, nowSec: number): string[] {
  if (!/^\d+$/.test(timestamp)) return [];
  if (timestamp.length >= 13) return ['X-CC-Timestamp is in milliseconds: send and sign whole seconds.'];
  const offSec = Number(timestamp) - nowSec;
  if (Math.abs(offSec) <= WINDOW_SEC) return [];
  const side = offSec < 0 ? 'behind' : 'ahead of';
  return [
    `X-CC-Timestamp is ${Math.abs(offSec).toString()} s ${side} this machine’s clock; the service takes ${WINDOW_SEC.toString()} s.`,
  ];
}

function mistakeIn(request: SignedRequest, given: string, digest: Buffer, apiKey: string): string {
  const hex = /^(?:v1=)?([0-9a-f]{64})$/i.exec(given)?.[1];
  if (hex === undefined) {
    return given.replace(/^v1=/, '') === digest.toString('base64')
      ? 'It is right, but in base64: write it in hex.'
      : 'It is not v1= and 64 hex digits.';
  }
  const claimed = Buffer.from(hex, 'hex');
  if (claimed.equals(digest)) return 'It is right, but does not begin with v1= in lower case.';
  return mistakeOfHmac(request, claimed, [apiKey]) ?? noKnownMistake(request.timestamp);
}

function noKnownMistake(timestamp: string): string {
  const of = timestamp.length >= 13 ? 'the timestamp' : 'the key';
  return `No known mistake makes it: compare each line above with what your code signs, and ${of} first.`;
}

function checkMd5({ signature: given }: Options, body: Buffer, apiKey: string): Report {
  const read = body.length === 0 ? undefined : readJson(body);
  const [canonical = ''] = canonicalForms(read);
  const right = signCanonical(canonical, apiKey);
  const isRight = given === undefined ? undefined : verifySignature(read, given, apiKey);
  const known = given === undefined || isRight === true ? undefined : mistakeOfMd5(read, given, apiKey);
  const remarks = [
    ...(read !== undefined && read.text !== canonical ? ['Send the canonical body: it is what is signed.'] : []),
    ...(isRight === false
      ? [known ?? 'No known mistake makes it: compare each step above with your code, the key first.']
      : []),
  ];
  const base64 = Buffer.from(canonical, 'utf8').toString('base64');
  return {
    steps: [
      ['canonical body', canonical],
      ['base64', base64],
      ['signature', right],
    ],
    remarks,
    isRight,
  };
}

function readJson(body: Buffer): StrictBody {
  try {
    return readStrictJson(body);
  } catch (error) {
    if (error instanceof StrictJsonError) throw new OperatorError(`The body is refused: ${error.message}`, 1);
    throw error;
  }
}
