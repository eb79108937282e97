/** Who is signed in: one query, and what changes it. */
import { useQuery, type Query, type QueryClient } from '@tanstack/react-query';
import type { SessionAnswer } from '../../../../src/console/api-shapes.js';
import { get, noteSignIn } from './client.js';
import { Refusal } from './failure.js';

const KEY = ['session'] as const;

/** `null`: nobody is signed in. */
async function readSession(): Promise<SessionAnswer | null> {
  try {
    return await get<SessionAnswer>('/api/session', {}, { isBackground: true });
  } catch (failure) {
    if (failure instanceof Refusal && failure.status === 401) return null;
    throw failure;
  }
}

export function useSession() {
  return useQuery({ queryKey: KEY, queryFn: readSession, staleTime: 60_000, refetchInterval: 60_000 });
}

/** Of a page that is shown to who is signed in alone. */
export function useSignedIn(): SessionAnswer {
  const { data } = useSession();
  if (!data) throw new Error('a page without a session');
  return data;
}

export function keepSession(client: QueryClient, session: SessionAnswer | null): void {
  const before = client.getQueryData<SessionAnswer | null>(KEY);
  // Known already: what is read beneath would be read again, refused again, and so on.
  if (session === null && before === null) return;
  const others = { predicate: ({ queryKey }: Query) => queryKey[0] !== KEY[0] };
  if (session === null) client.removeQueries(others);
  else noteSignIn();
  client.setQueryData(KEY, session);
  if (session?.stage === 'signed_in' && before?.stage !== 'signed_in') void client.invalidateQueries(others);
}
