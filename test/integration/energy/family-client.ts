// A client that behaves like the published clients of this interface's family. It signs by HMAC and retries network
// failures and 5xx answers under the same Idempotency-Key. It throws a 4xx immediately, and reads the order from errors
// that carry one.
import { setTimeout as sleep } from 'node:timers/promises';
import { hmacHeaders, send, type Answer } from '../../support/api/client.js';

type Json = Answer['body'];

class FamilyError extends Error {
  constructor(
    /** 0 when the network failed. */
    readonly httpStatus: number,
    readonly code: string,
    message: string,
    readonly raw: Json,
  ) {
    super(message);
  }
}

const RETRIES = 3;
const BASE_MS = 200;
const CAP_MS = 5000;
/** Statuses of errors that may carry an order. */
const WITH_ORDER = [402, 409, 502];

export class FamilyClient {
  /** The number of times that the last call was sent. */
  attempts = 0;
  private offsetSec = 0;

  constructor(
    readonly baseUrl: string,
    readonly merchant: string,
    readonly apiKey: string,
  ) {}

  quote(params: object): Promise<Json> {
    return this.call('/v1/energy/quote', params);
  }

  async rent(params: object, idempotencyKey: string): Promise<Json> {
    try {
      return await this.call('/v1/energy/rent', params, idempotencyKey);
    } catch (error) {
      if (!(error instanceof FamilyError) || !WITH_ORDER.includes(error.httpStatus)) throw error;
      if (error.raw?.id === undefined || error.raw.status === undefined) throw error;
      return error.raw;
    }
  }

  order(key: string): Promise<Json> {
    return this.call('/v1/energy/order', { key });
  }

  balance(body?: object): Promise<Json> {
    return this.call('/v1/credits/balance', body);
  }

  topup(params: object): Promise<Json> {
    return this.call('/v1/credits/topup', params);
  }

  private async call(path: string, params?: object, idempotencyKey?: string): Promise<Json> {
    const body = params === undefined ? undefined : JSON.stringify(params);
    for (this.attempts = 1; ; this.attempts += 1) {
      try {
        return await this.once(path, body, idempotencyKey);
      } catch (error) {
        const isRetryable = error instanceof FamilyError && (error.httpStatus === 0 || error.httpStatus >= 500);
        if (!isRetryable || this.attempts > RETRIES) throw error;
        await sleep(Math.random() * Math.min(CAP_MS, BASE_MS * 2 ** (this.attempts - 1)));
      }
    }
  }

  /** Signs again once with the service's time after a refusal for its own. */
  private async once(path: string, body: string | undefined, idempotencyKey: string | undefined): Promise<Json> {
    const answer = await this.sendOnce(path, body, idempotencyKey);
    if (answer.status !== 401 || answer.body?.error !== 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE') return resultOf(answer);
    this.offsetSec = Number(answer.body.server_time) - Math.floor(Date.now() / 1000);
    return resultOf(await this.sendOnce(path, body, idempotencyKey));
  }

  private async sendOnce(path: string, body: string | undefined, key: string | undefined): Promise<Answer> {
    const timestamp = Math.floor(Date.now() / 1000) + this.offsetSec;
    const signed = hmacHeaders(this.merchant, this.apiKey, {
      method: 'POST',
      path,
      timestamp,
      ...(body !== undefined && { body }),
      ...(key !== undefined && { idempotencyKey: key }),
    });
    const headers = {
      ...signed,
      Accept: 'application/json',
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(key !== undefined && { 'Idempotency-Key': key }),
    };
    try {
      return await send(this.baseUrl, 'POST', path, headers, body);
    } catch (error) {
      throw new FamilyError(0, 'NETWORK_ERROR', String(error), undefined);
    }
  }
}

function resultOf({ status, body }: Answer): Json {
  if (status >= 200 && status < 300) return body;
  throw new FamilyError(status, codeOf(status, body), String(body?.msg ?? ''), body);
}

function codeOf(status: number, body: Json): string {
  if (body?.ok === false) return body.error === 'SERVICE_ERROR' ? body.msg : body.error;
  if (body?.msg === undefined && body?.error_code !== undefined) return body.error_code;
  return `HTTP_${status.toString()}`;
}
