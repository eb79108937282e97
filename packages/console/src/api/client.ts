/** HTTP requests to the console process: typed refusals, and handling of an ended session. */
import { Refusal, Unreachable, type FieldFault } from './failure.js';
import { reached } from './reach.js';

/** Longer than any request to the process takes. */
const LIMIT_MS = 20_000;

type Method = 'GET' | 'POST';
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface Handlers {
  /** Called when the session has ended. */
  readonly onSignedOut: () => void;
  /** Asks for password and code again; resolves to false if the user declines. */
  readonly onSignInAgain: () => Promise<boolean>;
}
let handlers: Handlers = { onSignedOut: () => undefined, onSignInAgain: () => Promise.resolve(false) };

export function handle(given: Handlers): void {
  handlers = given;
}

/** Number of sign-ins so far. A 401 to a request from an earlier sign-in does not end the current session. */
let signIns = 0;

export function noteSignIn(): void {
  signIns += 1;
}

export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
}

let isByHand = false;

/** Counts the next read as user activity, even if the page already has the data. */
export function byHand(): void {
  isByHand = true;
}

interface ReadOptions {
  readonly signal?: AbortSignal;
  /** True for reads that the page makes by itself, such as polling: they do not extend the session. */
  readonly isBackground?: boolean;
}

export async function get<T>(path: string, query: Query = {}, options: ReadOptions = {}): Promise<T> {
  const isBackground = options.isBackground === true && !isByHand;
  isByHand = false;
  return request<T>('GET', withQuery(path, query), undefined, { ...options, isBackground });
}

export async function post<T>(path: string, body: object = {}): Promise<T> {
  return again(() => request<T>('POST', path, body));
}

/** Runs an action, and repeats it once after a fresh sign-in if the process demands one. */
async function again<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (failure) {
    if (!(failure instanceof Refusal) || failure.code !== 'SIGN_IN_AGAIN') throw failure;
    if (!(await handlers.onSignInAgain())) throw failure;
    return act();
  }
}

async function request<T>(method: Method, path: string, body?: object, options: ReadOptions = {}): Promise<T> {
  const { signal, isBackground = false } = options;
  const limit = AbortSignal.timeout(LIMIT_MS);
  const askedUnder = signIns;
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(isBackground && { 'x-background': '1' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    text = await answer.text();
  } catch (failure) {
    if (signal?.aborted === true) throw failure;
    reached(false);
    throw new Unreachable();
  }
  reached(true);
  const parsed = parse(text);
  if (answer.ok) return parsed as T;
  const refusal = refusalOf(answer, parsed);
  if (refusal.status === 401 && refusal.code === 'SIGN_IN' && askedUnder === signIns) handlers.onSignedOut();
  throw refusal;
}

function parse(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function refusalOf(answer: Response, parsed: unknown): Refusal {
  const body = (parsed ?? {}) as {
    error?: string;
    msg?: string;
    message?: string;
    request_id?: string;
    details?: FieldFault[];
  };
  const wait = /^\d{1,6}$/.exec(answer.headers.get('retry-after') ?? '')?.[0];
  return new Refusal(
    answer.status,
    body.error ?? '',
    body.msg ?? body.message ?? '',
    body.request_id ?? answer.headers.get('x-request-id') ?? undefined,
    body.details ?? [],
    wait === undefined ? undefined : secondsOf(wait),
  );
}

function secondsOf(text: string): number {
  return JSON.parse(text.replace(/^0+(?=\d)/, '')) as number;
}
