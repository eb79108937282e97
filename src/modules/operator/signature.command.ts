/** `signature check`: shows every step of a signature for a merchant's request. Needs no service and no database. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { nowMs } from '../../platform/support/clock.js';
import { hmacOf, linesToSign, readHmacHeaders, WINDOW_SEC } from '../auth/hmac-signature.js';
import { canonicalForms, signCanonical, verifySignature } from '../auth/signature.js';
import { mistakeOfHmac, mistakeOfMd5, type SignedRequest } from '../auth/signature-mistakes.js';
import { ApiError, messageOf } from '../../domain/errors.js';
import { OperatorError, usageError } from '../../domain/operator-error.js';
import { readStrictJson, StrictJsonError, type StrictBody } from '../../platform/http/body/strict-json.js';
import { apiKeyFrom } from './api-key-input.js';
import type { CliContext } from './cli-context.js';
import { fields } from './format.js';

const HELP = `
The API key is read from the variable API_KEY or from --key-file, and is neither
printed nor sent. --timestamp and --nonce default to new values. Pass the
signature that your code made as --signature to see its mistake, if it is a
common one.
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
    .description('debug request signatures')
    .command('check')
    .description('show each step of the signature of your request; works offline')
    .option('--md5', 'use MD5 over the body instead of HMAC')
    .option('--method <method>', 'default: POST with a body, GET without')
    .option('--path <path>', 'path and query exactly as sent')
    .option('--body <text>', 'body exactly as sent')
    .option('--body-file <file>', 'file with the body, read byte by byte')
    .option('--merchant <uuid>', 'Merchant header as sent')
    .option('--timestamp <seconds>', 'X-CC-Timestamp')
    .option('--nonce <nonce>', 'X-CC-Nonce')
    .option('--idempotency-key <key>', 'Idempotency-Key header, if sent')
    .option('--key-file <file>', 'file that contains only the API key')
    .option('--signature <signature>', 'signature that your code made, for comparison')
    .addHelpText('after', HELP)
    .action((options: Options) => {
      const apiKey = apiKeyFrom(options.keyFile, context.terminal);
      const body = bodyOf(options);
      const report = options.md5 === true ? checkMd5(options, body, apiKey) : checkHmac(options, body, apiKey);
      const { steps, remarks, isRight } = report;
      const verdict = isRight === undefined ? [] : [isRight ? 'The signature is correct.' : 'The signature is wrong.'];
      context.print([fields(steps), ...verdict, ...remarks].join('\n'), {
        steps: Object.fromEntries(steps.map(([name, value]) => [name.replaceAll(' ', '_'), value])),
        ...(isRight !== undefined && { isRight }),
        remarks,
      });
      if (isRight === false) throw new OperatorError('The signature does not match this request and key.', 1);
    });
}

function bodyOf({ body, bodyFile }: Options): Buffer {
  if (body !== undefined && bodyFile !== undefined) throw usageError('--body and --body-file cannot be combined.');
  if (bodyFile === undefined) return Buffer.from(body ?? '', 'utf8');
  try {
    return readFileSync(bodyFile);
  } catch (error) {
    throw usageError(`Failed to read the body: ${messageOf(error)}.`);
  }
}

function checkHmac(options: Options, body: Buffer, apiKey: string): Report {
  const { merchant, path: target, idempotencyKey = '', signature: given } = options;
  if (merchant === undefined || target === undefined)
    throw usageError('The request is incomplete. Pass --merchant and --path, or --md5.');
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
  if (timestamp.length >= 13) return ['X-CC-Timestamp is in milliseconds. Send and sign whole seconds.'];
  const offSec = Number(timestamp) - nowSec;
  if (Math.abs(offSec) <= WINDOW_SEC) return [];
  const side = offSec < 0 ? 'behind' : 'ahead of';
  return [
    `X-CC-Timestamp is ${Math.abs(offSec).toString()} s ${side} this machine’s clock; the service accepts ${WINDOW_SEC.toString()} s.`,
  ];
}

function mistakeIn(request: SignedRequest, given: string, digest: Buffer, apiKey: string): string {
  const hex = /^(?:v1=)?([0-9a-f]{64})$/i.exec(given)?.[1];
  if (hex === undefined) {
    return given.replace(/^v1=/, '') === digest.toString('base64')
      ? 'The signature is correct but in base64. Write it in hex.'
      : 'The signature must be v1= followed by 64 hex digits.';
  }
  const claimed = Buffer.from(hex, 'hex');
  if (claimed.equals(digest)) return 'The signature is correct but must begin with v1= in lower case.';
  return mistakeOfHmac(request, claimed, [apiKey]) ?? noKnownMistake(request.timestamp);
}

function noKnownMistake(timestamp: string): string {
  const of = timestamp.length >= 13 ? 'the timestamp' : 'the key';
  return `The signature matches no known mistake. Compare each line above with the text that your code signs, starting with ${of}.`;
}

function checkMd5({ signature: given }: Options, body: Buffer, apiKey: string): Report {
  const read = body.length === 0 ? undefined : readJson(body);
  const [canonical = ''] = canonicalForms(read);
  const right = signCanonical(canonical, apiKey);
  const isRight = given === undefined ? undefined : verifySignature(read, given, apiKey);
  const known = given === undefined || isRight === true ? undefined : mistakeOfMd5(read, given, apiKey);
  const remarks = [
    ...(read !== undefined && read.text !== canonical ? ['Send the canonical body: the signature covers it.'] : []),
    ...(isRight === false
      ? [
          known ??
            'The signature matches no known mistake. Compare each step above with your code, starting with the key.',
        ]
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
