/** The pages behind the links of mails: one ends such mails, one confirms the address of who is signed in. */
import { Button } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { Refusal } from '../../api/failure.js';
import { ActFailure, Notice } from '../../parts/notice.js';
import { Page } from '../../parts/page.js';
import { SIGN_IN } from '../../text/sign-in.js';
import { Narrow } from './sign-in-page.js';

const isNotFound = (failure: unknown): boolean => failure instanceof Refusal && failure.status === 404;

/** Ends the mails by a click: opening the page alone, as programs that look at links do, ends nothing. */
export function UnsubscribePage() {
  const text = SIGN_IN.unsubscribe;
  const [isDone, setDone] = useState(false);
  const act = useAct(async () => {
    await post(`/unsubscribe${location.search}`);
    setDone(true);
  });
  return (
    <Narrow>
      <Page title={text.title} {...(!isDone && { lead: text.lead })}>
        <div role="status">{isDone && <Notice tone="good">{text.done}</Notice>}</div>
        {isNotFound(act.failure) ? <Notice tone="warn">{text.bad}</Notice> : <ActFailure failure={act.failure} />}
        {!isDone && (
          <div className="form-actions">
            <Button onClick={() => act.run()}>{text.submit}</Button>
          </div>
        )}
      </Page>
    </Narrow>
  );
}

/** Confirms the address of the person who is signed in. The token stands in the fragment, which no server is sent. */
export function AddressPage() {
  const text = SIGN_IN.address;
  const [token] = useState(() => location.hash.slice(1));
  const [, go] = useLocation();
  const [isDone, setDone] = useState(false);
  const act = useAct(async () => {
    await post('/api/security/address/prove', { token });
    setDone(true);
  });
  const { run } = act;
  useEffect(() => {
    if (token !== '') run();
    // Once for a token: `run` is another function at each rendering.
  }, [token]);
  return (
    <Narrow>
      <Page title={text.title}>
        {token === '' && <Notice tone="warn">{text.noToken}</Notice>}
        <div role="status">{isDone && <Notice tone="good">{text.done}</Notice>}</div>
        {isNotFound(act.failure) ? <Notice tone="warn">{text.bad}</Notice> : <ActFailure failure={act.failure} />}
        <div className="form-actions">
          <Button variant="default" onClick={() => go('/')}>
            {text.toConsole}
          </Button>
        </div>
      </Page>
    </Narrow>
  );
}
