/** The session query and its updates. */
import { useQuery, type Query, type QueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
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

/** The session under which the page was opened. It outlasts the session itself, as the page does. */
export const SignedIn = createContext<SessionAnswer | undefined>(undefined);

/** Returns the session. For pages that only signed-in users see. */
export function useSignedIn(): SessionAnswer {
  const session = useContext(SignedIn);
  if (!session) throw new Error('a page without a session');
  return session;
}

export function keepSession(client: QueryClient, session: SessionAnswer | null): void {
  const before = client.getQueryData<SessionAnswer | null>(KEY);
  // Avoids a loop: clearing the other queries would re-read them, each would fail with 401, and the failure would lead
  // here again.
  if (session === null && before === null) return;
  const others = { predicate: ({ queryKey }: Query) => queryKey[0] !== KEY[0] };
  // The open page keeps its data: without it, the page would unmount its forms, and their input would be lost.
  if (session === null) client.removeQueries({ ...others, type: 'inactive' });
  else noteSignIn();
  client.setQueryData(KEY, session);
  if (session?.stage === 'signed_in' && before?.stage !== 'signed_in') void client.invalidateQueries(others);
}
