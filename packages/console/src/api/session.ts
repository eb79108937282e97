/** The session query and its updates. */
import { useQuery, type Query, type QueryClient } from '@tanstack/react-query';
import type { SessionAnswer } from '../../../../src/modules/console/api-shapes.js';
import { get, noteSignIn } from './client.js';
import { Refusal } from './failure.js';

const KEY = ['session'] as const;

/** Returns `null` when signed out. */
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

/** Returns the session. For pages that only signed-in users see. */
export function useSignedIn(): SessionAnswer {
  const { data } = useSession();
  if (!data) throw new Error('a page without a session');
  return data;
}

export function keepSession(client: QueryClient, session: SessionAnswer | null): void {
  const before = client.getQueryData<SessionAnswer | null>(KEY);
  // Avoids a loop: clearing the other queries would re-read them, each would fail with 401, and the failure would lead
  // here again.
  if (session === null && before === null) return;
  const others = { predicate: ({ queryKey }: Query) => queryKey[0] !== KEY[0] };
  if (session === null) client.removeQueries(others);
  else noteSignIn();
  client.setQueryData(KEY, session);
  if (session?.stage === 'signed_in' && before?.stage !== 'signed_in') void client.invalidateQueries(others);
}
