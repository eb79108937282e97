/** Set-up of a second factor: the secret as QR code and text, a first code, then the recovery codes, shown once. */
import { Button, Checkbox, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type {
  CodeRequest,
  RecoveryCodesAnswer,
  SecondFactorSecret,
} from '../../../../../src/modules/console/api-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { keepSession } from '../../api/session.js';
import { CopyButton } from '../../parts/copy.js';
import { Groups } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { ActFailure } from '../../parts/notice.js';
import { QrCode } from '../../parts/qr-code.js';
import { COMMON } from '../../text/common.js';
import { SIGN_IN } from '../../text/sign-in.js';

export function EnrolForm({ onDone }: { readonly onDone?: () => void }) {
  const text = SIGN_IN.enrol;
  const [secret, setSecret] = useState<SecondFactorSecret>();
  const [code, setCode] = useState('');
  const [answer, setAnswer] = useState<RecoveryCodesAnswer>();
  const begin = useAct(async () => setSecret(await post<SecondFactorSecret>('/api/security/second-factor/begin')));
  const confirm = useAct(async () => {
    const request: CodeRequest = { code: code.replaceAll(/\s/g, '') };
    setAnswer(await post<RecoveryCodesAnswer>('/api/security/second-factor/confirm', request));
  });
  // Runs once: a second request would replace the secret that the user has scanned.
  useEffect(() => {
    begin.run();
  }, []);
  if (answer !== undefined) return <RecoveryCodes answer={answer} {...(onDone !== undefined && { onDone })} />;
  if (secret === undefined) {
    return begin.failure === null ? (
      <div className="waiting-line" />
    ) : (
      <>
        <ActFailure failure={begin.failure} />
        <Button onClick={() => begin.run()}>{COMMON.retry}</Button>
      </>
    );
  }
  return (
    <Form act={confirm} submit={text.submit} isReady={/^\s*(\d\s*){6}$/.test(code)}>
      <p>{text.scan}</p>
      <QrCode text={secret.url} label={text.scanAlt} />
      <p>{text.secret}</p>
      <p className="boxed">
        <Groups text={secret.secret} name={text.secret} />
      </p>
      <TextInput
        label={text.confirm}
        name="code"
        autoComplete="one-time-code"
        inputMode="numeric"
        className="code-input"
        required
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
    </Form>
  );
}

export function RecoveryCodes({
  answer,
  onDone,
}: {
  readonly answer: RecoveryCodesAnswer;
  readonly onDone?: () => void;
}) {
  const text = SIGN_IN.codes;
  const client = useQueryClient();
  const [isKept, setKept] = useState(false);
  const go = () => {
    if (!isKept) return;
    keepSession(client, answer.session);
    onDone?.();
  };
  return (
    <div className="form">
      <h2>{text.title}</h2>
      <p>{text.lead}</p>
      <ol className="boxed recovery-codes">
        {answer.recovery_codes.map((code) => (
          <li key={code} className="mono">
            {code}
          </li>
        ))}
      </ol>
      <CopyButton text={answer.recovery_codes.join('\n')} name={text.title} label={text.copy} />
      <Checkbox label={text.kept} checked={isKept} onChange={(event) => setKept(event.currentTarget.checked)} />
      <div className="form-actions">
        <Button onClick={go} {...(!isKept && { 'aria-disabled': true, 'data-disabled': true })}>
          {text.submit}
        </Button>
      </div>
    </div>
  );
}
