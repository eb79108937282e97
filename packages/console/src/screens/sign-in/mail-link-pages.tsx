/** Pages behind links in mails: unsubscribing, and confirming the e-mail address of the signed-in person. */
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

/** Unsubscribes on a click only: mail scanners open links, and opening the page changes nothing. */
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

/** Confirms the e-mail address of the signed-in person. The token is in the URL fragment, which browsers never send. */
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
    // Once per token: `run` is a new function at each render.
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
