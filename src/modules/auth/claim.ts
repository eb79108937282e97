/**
 * Reads the identity that a request claims and the signature that should prove it: HMAC, or the older MD5 over the
 * body.
 */
import type { Request } from 'express';
import { ApiError } from '../../domain/errors.js';
import { hasBody, readBody, receiveBody, receiveBytes, type BodyLimits } from '../../platform/http/body/read-body.js';
import type { StrictBody } from '../../platform/http/body/strict-json.js';
import { headerValues } from '../../platform/http/pipeline/headers.js';
import { monotonicMs } from '../../platform/support/clock.js';
import type { Entry, KnownKey, Secret } from '../projects/project-directory.js';
import { claimsHmac, isHmac, readHmacHeaders, requireJsonType, stringToSign, WINDOW_SEC } from './hmac-signature.js';
import { outOfRange, secondNow } from './nonces.js';
import { mistakeOfHmac, mistakeOfMd5 } from './signature-mistakes.js';
import { verifySignature } from './signature.js';

export interface Claim {
  /** The project's id as sent, in lower case. */
  readonly merchant: string;
  /** Only of a request signed by HMAC. */
  readonly nonce: { readonly value: string; readonly timestampSec: number } | undefined;
  /** Returns the project's secret that made the signature. Without a match, the work depends on the request alone. */
  readonly secretIn: (entry: Entry) => KnownSecret | undefined;
  /**
   * Returns a sentence on why no key of the project made the signature, if that can be found out. Takes many checks.
   */
  readonly explain: (entry: Entry) => string | undefined;
  /** Returns the strictly parsed body; undefined for a GET. Throws 400 and 415. */
  readonly readBody: () => StrictBody | undefined;
}

/**
 * Reads the claim in the order of docs/interface.md §1. Any HMAC header makes it an HMAC claim: an incomplete set never
 * falls back to MD5. Throws 400, 413, 415, 408, 401 SIGNATURE_TIMESTAMP_OUT_OF_RANGE and ClientGoneError.
 */
export async function readClaim(request: Request, limits: BodyLimits): Promise<Claim> {
  return claimsHmac(request.rawHeaders) ? readHmacClaim(request, limits) : readMd5Claim(request, limits);
}

async function readHmacClaim(request: Request, limits: BodyLimits): Promise<Claim> {
  const headers = readHmacHeaders(request.rawHeaders);
  // A chunked body may be empty, and then it has no type.
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  if (hasBody(request) && !isChunked) requireJsonType(request.rawHeaders);
  const bytes = await receiveBytes(request, limits);
  if (isChunked && bytes.length > 0) requireJsonType(request.rawHeaders);
  // The target as it was sent: the front of the pipeline rewrites `url` for the router.
  const target = request.originalUrl.replace(/^https?:\/\/[^/?#]*/i, '');
  const message = stringToSign(headers, { method: request.method, target, body: bytes });
  const timestampSec = Number(headers.timestamp);
  const nowSec = secondNow();
  if (Math.abs(nowSec - timestampSec) > WINDOW_SEC) throw outOfRange(nowSec);
  return {
    merchant: headers.merchant.toLowerCase(),
    nonce: { value: headers.nonce, timestampSec },
    secretIn: ({ secrets }) => firstMatch(secrets, ({ hmac }) => isHmac(message, hmac, headers.signature)),
    explain: (entry) => {
      const own = entry.secrets.filter(({ key }) => key !== undefined);
      if (own.some(({ hmac }) => isHmac(message, hmac, headers.signature))) return ofProject(entry);
      if (bytes.length > EXPLAINED_BYTES_MAX) return undefined;
      const { method } = request;
      return mistakeOfHmac({ ...headers, method, target, body: bytes }, headers.signature, textsOf(own));
    },
    readBody: () => readBody(request, bytes),
  };
}

async function readMd5Claim(request: Request, limits: BodyLimits): Promise<Claim> {
  const merchant = singleHeader(request, 'Merchant').toLowerCase();
  const signature = singleHeader(request, 'Signature');
  const body = await receiveBody(request, limits);
  return {
    merchant,
    nonce: undefined,
    secretIn: ({ primary }) => firstMatch([...primary], ({ text }) => verifySignature(body, signature, text)),
    explain: (entry) => {
      const own = textsOf(entry.secrets.filter(({ key }) => key !== undefined));
      if (own.some((text) => verifySignature(body, signature, text))) return BY_FURTHER_KEY;
      const primary = textsOf(entry.primary.filter(({ key }) => key !== undefined));
      return primary.map((text) => mistakeOfMd5(body, signature, text)).find((mistake) => mistake !== undefined);
    },
    readBody: () => body,
  };
}

/** Exceeds most bodies. Mistakes in larger ones are not explained, because only their answer is kept. */
const EXPLAINED_BYTES_MAX = 16 * 1024;

const BY_FURTHER_KEY = 'This is not the current primary API key. Sign MD5 requests with the primary key.';

/** Explains the refusal of a signature that a secret of the project does make. */
function ofProject({ project }: Entry): string {
  return project?.record.signatureSchemes === 'md5'
    ? 'The project accepts only MD5. Run `project options --signatures either` to accept HMAC as well.'
    : 'The secret was replaced, and its overlap has ended. Sign with the new secret.';
}

const textsOf = (secrets: readonly Secret[]): string[] => secrets.map(({ text }) => text);

/**
 * Returns the first matching secret and moves it to the front: a caller mostly repeats its key, which then costs one
 * check. A mismatch costs all checks, and every project has the same number of secrets.
 */
function firstMatch(secrets: Secret[], matches: (secret: Secret) => boolean): KnownSecret | undefined {
  const index = secrets.findIndex(matches);
  const [found] = index < 0 ? [] : secrets.splice(index, 1);
  if (found === undefined) return undefined;
  secrets.unshift(found);
  return isInUse(found) ? found : undefined;
}

/** The secret of a key. */
export interface KnownSecret extends Secret {
  readonly key: KnownKey;
}

/** Returns true if the secret belongs to a key and is not expired. */
export function isInUse(secret: Secret): secret is KnownSecret {
  return secret.key !== undefined && secret.expiresMs > monotonicMs();
}

function singleHeader(request: Request, name: string): string {
  const [value, ...more] = headerValues(request.rawHeaders, name.toLowerCase());
  if (value === undefined || value === '' || more.length > 0) {
    throw new ApiError(
      'BAD_AUTH_HEADERS',
      `The header ${name} is missing or repeated. Send the headers Merchant and Signature once each.`,
    );
  }
  return value;
}
