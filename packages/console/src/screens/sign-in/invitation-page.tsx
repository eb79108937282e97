/** Acceptance of an invitation, with a new password. The token is in the URL fragment, which browsers never send. */
import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { AcceptRequest, InvitationAnswer, SessionAnswer } from '../../../../../src/modules/console/api-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { Refusal } from '../../api/failure.js';
import { keepSession } from '../../api/session.js';
import { Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page } from '../../parts/page.js';
import { SIGN_IN } from '../../text/sign-in.js';
import { Narrow } from './sign-in-page.js';

export function InvitationPage() {
  const [token] = useState(() => location.hash.slice(1));
  const [, go] = useLocation();
  const text = SIGN_IN.invitation;
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => post<InvitationAnswer>('/api/invitations/read', { token }),
    enabled: token !== '',
    staleTime: Infinity,
  });
  const isGone = invitation.error instanceof Refusal && invitation.error.status === 404;
  return (
    <Narrow>
      <Page title={isGone ? text.gone : text.title}>
        {token === '' || isGone ? (
          <>
            <Notice tone="warn">{token === '' ? text.noToken : text.goneBody}</Notice>
            <div className="form-actions">
              <Button variant="default" onClick={() => go('/')}>
                {text.toSignIn}
              </Button>
            </div>
          </>
        ) : (
          <Loaded query={invitation}>{(answer) => <Accept token={token} answer={answer} />}</Loaded>
        )}
      </Page>
    </Narrow>
  );
}

function Accept({ token, answer }: { readonly token: string; readonly answer: InvitationAnswer }) {
  const text = SIGN_IN.invitation;
  const client = useQueryClient();
  const [, go] = useLocation();
  const [password, setPassword] = useState('');
  const act = useAct(async () => {
    const request: AcceptRequest = { token, password };
    const session = await post<SessionAnswer>('/api/invitations/accept', request);
    history.replaceState(null, '', '/');
    keepSession(client, session);
    go('/');
  });
  const role = text.roles[answer.role];
  return (
    <>
      <p className="lead">
        {answer.project === undefined ? text.operator(role) : text.project(answer.project.name, role)}{' '}
        {text.rolesMean[answer.role]}
      </p>
      <Form act={act} submit={text.submit} isReady={answer.has_account ? password !== '' : password.length >= 12}>
        <TextInput
          label={SIGN_IN.email}
          type="email"
          name="email"
          autoComplete="username"
          value={answer.email}
          readOnly
        />
        <PasswordInput
          label={answer.has_account ? text.present : text.newPassword}
          description={answer.has_account ? text.presentHelp : text.newPasswordHelp}
          name="password"
          autoComplete={answer.has_account ? 'current-password' : 'new-password'}
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      </Form>
      <p className="dim">
        {text.until} <Moment at={answer.expires_at} />
      </p>
    </>
  );
}
