/** Root component: the session decides which page is shown. */
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Router, useLocation } from 'wouter';
import type { SessionAnswer, SessionEvent } from '../../../src/modules/console/api-shapes.js';
import { handle } from './api/client.js';
import { Refusal } from './api/failure.js';
import { keepSession, SignedIn, useSession } from './api/session.js';
import { Console } from './console.js';
import { LiveRegion } from './parts/live.js';
import { Loaded } from './parts/loaded.js';
import { InvitationPage } from './screens/sign-in/invitation-page.js';
import { AddressPage, UnsubscribePage } from './screens/sign-in/mail-link-pages.js';
import { Narrow, SignInPage, UnfinishedPage } from './screens/sign-in/sign-in-page.js';
import { SignInAgain } from './screens/sign-in/sign-in-again.js';
import { SignInEnded } from './screens/sign-in/sign-in-ended.js';
import { IdleWarning } from './shell/idle-warning.js';
import { useWrittenLocation, useWrittenSearch } from './shell/location.js';
import { pageNonce, theme } from './theme.js';

/** Lifetime of cached data after its page was left. */
const KEPT_MS = 10 * 60_000;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      gcTime: KEPT_MS,
      staleTime: 5000,
      // A refusal is an answer; only unanswered requests are retried, once.
      retry: (count, failure) => count < 1 && !(failure instanceof Refusal),
      retryDelay: 500,
    },
  },
});

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={pageNonce}>
      <QueryClientProvider client={client}>
        <LiveRegion />
        <Router hook={useWrittenLocation} searchHook={useWrittenSearch}>
          <Pages />
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  );
}

type Answer = (isDone: boolean) => void;

function Pages() {
  const session = useSession();
  const [path] = useLocation();
  const cache = useQueryClient();
  const before = useRef<SessionAnswer>(undefined);
  const [again, setAgain] = useState<Answer>();
  useEffect(() => {
    handle({
      onSignedOut: () => keepSession(cache, null),
      // Several actions may wait for one answer.
      onSignInAgain: () =>
        new Promise((resolve) => {
          setAgain((earlier?: Answer) => (isDone: boolean) => {
            earlier?.(isDone);
            resolve(isDone);
          });
        }),
    });
  }, [cache]);
  const isSignedIn = session.data?.stage === 'signed_in';
  // When the session ends, the page stays mounted under the sign-in form, with the user's input.
  const isEnded = !isSignedIn && before.current !== undefined;
  useSignInInstead(isEnded, again, () => setAgain(undefined));
  if (path === '/invitation') return <InvitationPage />;
  if (path === '/unsubscribe') return <UnsubscribePage />;
  if (session.data === undefined) {
    return (
      <Narrow>
        <Loaded query={session}>{() => null}</Loaded>
      </Narrow>
    );
  }
  const { data } = session;
  if (data?.stage === 'signed_in') before.current = data;
  if (data === null && !isEnded) return <SignInPage />;
  if (data !== null && data.stage !== 'signed_in' && !isEnded) return <UnfinishedPage session={data} />;
  if (path === '/address' && !isEnded) return <AddressPage />;
  const shown = isEnded ? before.current : data;
  if (!shown) return null;
  return (
    <SignedIn value={shown}>
      {!isEnded && <EndWatch />}
      <Console session={shown} />
      {isEnded ? <SignInEnded email={shown.person.email} session={data} /> : <IdleWarning session={shown} />}
      {again !== undefined && !isEnded && (
        <SignInAgain
          onEnd={(isDone) => {
            setAgain(undefined);
            again(isDone);
          }}
        />
      )}
    </SignedIn>
  );
}

/**
 * Answers a pending demand for password and code when the session ended meanwhile: the sign-in over the page has asked
 * for both, and a code is accepted only once.
 */
function useSignInInstead(isEnded: boolean, again: Answer | undefined, onAnswered: () => void): void {
  const hasEnded = useRef(false);
  useEffect(() => {
    if (isEnded) hasEnded.current = true;
    if (isEnded || !hasEnded.current) return;
    hasEnded.current = false;
    again?.(true);
    onAnswered();
  }, [isEnded, again, onAnswered]);
}

/** Ends the session here immediately when it is ended elsewhere. */
function EndWatch() {
  const cache = useQueryClient();
  useEffect(() => {
    const stream = new EventSource('/api/session/stream');
    const read = (message: MessageEvent<string>) => {
      const event = JSON.parse(message.data) as SessionEvent;
      if (event.type === 'ended') keepSession(cache, null);
    };
    stream.addEventListener('session', read);
    return () => stream.close();
  }, [cache]);
  return null;
}
