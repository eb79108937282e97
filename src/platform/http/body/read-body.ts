/**
 * Receives a request's body: checks size, type and form, in that order (docs/interface.md §1). Reads the bytes itself,
 * so that no lenient framework parser sees them.
 */
import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { StrictJsonError, readStrictJson, type StrictBody } from './strict-json.js';
import { ApiError } from '../../../domain/errors.js';
import { headerValues } from '../pipeline/headers.js';
import { requestContextOf } from '../pipeline/request-context.js';

/** The caller disconnected before the body was complete, so no answer can be sent. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

/** A body declared larger than this is not drained: the connection closes after the answer. */
const DRAIN_BYTES_MAX = 1024 * 1024;

const NO_MEMBERS = Buffer.from('{}');

export interface BodyLimits {
  readonly limitBytes: number;
  readonly timeoutMs: number;
}

/**
 * Returns the strictly read body of a POST; undefined for a GET, and for a DELETE without one. Throws 400 for a
 * missing, forbidden or unreadable body, 413, 415, 408 if it takes longer than `timeoutMs`, and ClientGoneError.
 */
export async function receiveBody(request: IncomingMessage, limits: BodyLimits): Promise<StrictBody | undefined> {
  if (request.method === 'GET') {
    if (hasBody(request)) throw invalidBody('A GET request must not have a body.');
    return undefined;
  }
  if (!hasBody(request)) {
    if (request.method === 'DELETE') return undefined;
    throw invalidBody('The body is missing. Send a JSON object.');
  }
  refuseDeclared(request, limits);
  requireJson(request);
  return parse(await readBytes(request, limits));
}

/** Returns true if the headers announce a body. */
export function hasBody(request: IncomingMessage): boolean {
  const declared = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (declared !== undefined && !/^0+$/.test(declared));
}

/** Returns the body's bytes, checked for size only; empty if there is none. Throws 413, 408 and ClientGoneError. */
export async function receiveBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  if (!hasBody(request)) return Buffer.alloc(0);
  refuseDeclared(request, limits);
  return readBytes(request, limits);
}

/**
 * Reads the bytes of `receiveBytes` as `receiveBody` would. Returns undefined for a GET, and an object without members
 * for an empty body if the route allows that. Throws 400 and 415.
 */
export function readBody(request: IncomingMessage, bytes: Buffer): StrictBody | undefined {
  if (request.method === 'GET') {
    if (bytes.length > 0) throw invalidBody('A GET request must not have a body.');
    return undefined;
  }
  if (bytes.length > 0) requireJson(request);
  else if (requestContextOf(request as Request)?.route?.mayBeEmpty === true) return parse(NO_MEMBERS);
  return parse(bytes);
}

function refuseDeclared(request: IncomingMessage, limits: BodyLimits): void {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limits.limitBytes) throw tooLarge(limits, declared);
}

function parse(bytes: Buffer): StrictBody {
  if (bytes.length === 0) throw invalidBody('The body is empty. Send a JSON object.');
  try {
    return readStrictJson(bytes);
  } catch (error) {
    if (error instanceof StrictJsonError) throw invalidBody(error.message);
    throw error;
  }
}

function invalidBody(msg: string): ApiError {
  return new ApiError('INVALID_REQUEST', msg, { details: [{ field: 'body', msg }] });
}

function tooLarge({ limitBytes }: BodyLimits, declared: number): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', `The body is too large. Send at most ${limitBytes.toString()} bytes.`, {
    ...(declared > DRAIN_BYTES_MAX && { headers: { Connection: 'close' } }),
  });
}

function requireJson(request: IncomingMessage): void {
  const types = headerValues(request.rawHeaders, 'content-type');
  if (types.length !== 1 || !isJson(types[0] ?? '')) {
    throw new ApiError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The Content-Type is not accepted. Send the body as application/json, in UTF-8.',
    );
  }
  if (request.headers['content-encoding'] !== undefined) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The Content-Encoding is not accepted. Send the body without one.');
  }
}

/** Accepts `application/json` in any case, with charset absent or utf-8. Ignores other parameters. */
function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  if (type.trim() !== 'application/json') return false;
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=', 2);
    return name.trim() !== 'charset' || /^"?utf-8"?$/.test(value.trim());
  });
}

function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (act: () => void) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      // A late error of an abandoned connection must not end the process.
      request.on('error', () => undefined);
      act();
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limits.limitBytes) chunks.push(chunk);
      else
        settle(() => {
          // Drain the rest without reading it, so that the caller can read the answer. The server's request timeout
          // bounds this.
          request.resume();
          reject(tooLarge(limits, length));
        });
    };
    const onEnd = () =>
      settle(() => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
    const onClose = () => settle(() => reject(new ClientGoneError('The caller disconnected while sending the body.')));
    const timer = setTimeout(
      () =>
        settle(() =>
          reject(
            new ApiError('REQUEST_TIMEOUT', 'The body did not arrive in time. Send the request again.', {
              headers: { Connection: 'close' },
            }),
          ),
        ),
      limits.timeoutMs,
    );
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
