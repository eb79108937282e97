/** Forms for e-mail and password, then the code. Used on a page of its own and over the current page. */
import { PasswordInput, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  SecondFactorRequest,
  SessionAnswer,
  SignInRequest,
} from '../../../../../src/modules/console/api-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { keepSession } from '../../api/session.js';
import { Form } from '../../parts/form.js';
import { SIGN_IN } from '../../text/sign-in.js';

interface PasswordFormProps {
  /** E-mail of the person whose session ended. */
  readonly email?: string;
}

export function PasswordForm({ email: known }: PasswordFormProps) {
  const client = useQueryClient();
  const [email, setEmail] = useState(known ?? '');
  const [password, setPassword] = useState('');
  const [isAsked, setAsked] = useState(false);
  const act = useAct(async () => {
    setAsked(true);
    if (email.trim() === '' || password === '') return;
    const request: SignInRequest = { email: email.trim(), password };
    keepSession(client, await post<SessionAnswer>('/api/sign-in', request));
  });
  const missing = (text: string) => (isAsked && text.trim() === '' ? SIGN_IN.missing : undefined);
  return (
    <Form act={act} submit={SIGN_IN.submit}>
      <TextInput
        label={SIGN_IN.email}
        type="email"
        name="email"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
        value={email}
        readOnly={known !== undefined}
        error={missing(email)}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <PasswordInput
        label={SIGN_IN.password}
        name="password"
        autoComplete="current-password"
        required
        value={password}
        error={missing(password)}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </Form>
  );
}

export function CodeForm() {
  const client = useQueryClient();
  const [isRecovery, setRecovery] = useState(false);
  const [code, setCode] = useState('');
  const text = SIGN_IN.secondFactor;
  const act = useAct(async () => {
    const given = code.replaceAll(/\s/g, '');
    const request: SecondFactorRequest = isRecovery ? { recovery_code: given } : { code: given };
    keepSession(client, await post<SessionAnswer>('/api/sign-in/second-factor', request));
  });
  const turn = () => {
    setRecovery(!isRecovery);
    setCode('');
    act.reset();
  };
  const isReady = isRecovery ? code.trim().length >= 8 : /^\s*(\d\s*){6}$/.test(code);
  return (
    <Form
      act={act}
      submit={text.submit}
      isReady={isReady}
      beside={
        <button type="button" className="link-button" onClick={turn}>
          {isRecovery ? text.useCode : text.lost}
        </button>
      }
    >
      <TextInput
        key={isRecovery ? 'recovery' : 'code'}
        label={isRecovery ? text.recovery : text.code}
        description={isRecovery ? text.recoveryHelp : text.codeHelp}
        name={isRecovery ? 'recovery-code' : 'code'}
        autoComplete={isRecovery ? 'off' : 'one-time-code'}
        inputMode={isRecovery ? 'text' : 'numeric'}
        className="code-input"
        autoFocus
        required
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
    </Form>
  );
}
