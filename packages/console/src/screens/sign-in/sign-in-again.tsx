/** Asks for password and code again before an action that changes keys, money or people. */
import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReauthenticateRequest, SessionAnswer } from '../../../../../src/modules/console/api-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { keepSession, useSignedIn } from '../../api/session.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { COMMON } from '../../text/common.js';
import { SIGN_IN } from '../../text/sign-in.js';

export function SignInAgain({ onEnd }: { readonly onEnd: (isDone: boolean) => void }) {
  const text = SIGN_IN.again;
  const client = useQueryClient();
  const { person } = useSignedIn();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const act = useAct(async () => {
    const given = code.replaceAll(/\s/g, '');
    const request: ReauthenticateRequest = { password, ...(given !== '' && { code: given }) };
    keepSession(client, await post<SessionAnswer>('/api/re-authenticate', request));
    onEnd(true);
  });
  return (
    <Dialog title={text.title} onClose={() => onEnd(false)}>
      <p>{text.lead}</p>
      <Form
        act={act}
        submit={text.submit}
        isReady={password !== ''}
        beside={
          <Button variant="default" onClick={() => onEnd(false)}>
            {COMMON.cancel}
          </Button>
        }
      >
        <input type="text" name="email" autoComplete="username" value={person.email} readOnly hidden />
        <PasswordInput
          label={SIGN_IN.password}
          name="password"
          autoComplete="current-password"
          autoFocus
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <TextInput
          label={text.code}
          name="code"
          autoComplete="one-time-code"
          inputMode="numeric"
          className="code-input"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
      </Form>
    </Dialog>
  );
}
