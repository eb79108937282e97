/** Sign-in form over the current page after the session ended. The same person continues where they were. */
import type { SessionAnswer } from '../../../../../src/modules/console/api-shapes.js';
import { Dialog } from '../../parts/dialog.js';
import { SIGN_IN } from '../../text/sign-in.js';
import { EnrolForm } from './enrol.js';
import { CodeForm, PasswordForm } from './sign-in-form.js';

interface EndedProps {
  readonly email: string;
  readonly session: SessionAnswer | null;
}

export function SignInEnded({ email, session }: EndedProps) {
  const stage = session?.stage;
  return (
    <Dialog title={SIGN_IN.title} onClose={() => undefined} isFirm>
      <p>{SIGN_IN.ended}</p>
      {stage === 'second_factor' && <CodeForm />}
      {stage === 'enrol' && <EnrolForm />}
      {stage === undefined && <PasswordForm email={email} />}
      <p>
        <a href="/">{SIGN_IN.secondFactor.other}</a>
      </p>
    </Dialog>
  );
}
