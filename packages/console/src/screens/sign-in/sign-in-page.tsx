/** Pages before sign-in: password, code, and enrolment of the first second factor. */
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { SessionAnswer } from '../../../../../src/modules/console/api-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { keepSession } from '../../api/session.js';
import { Icon } from '../../parts/icons.js';
import { Notice } from '../../parts/notice.js';
import { Page } from '../../parts/page.js';
import { AUDIENCE } from '../../shell/audience.js';
import { OfflineBar } from '../../shell/offline-bar.js';
import { ThemeSwitch } from '../../shell/theme-switch.js';
import { COMMON } from '../../text/common.js';
import { SIGN_IN } from '../../text/sign-in.js';
import { CodeForm, PasswordForm } from './sign-in-form.js';
import { EnrolForm } from './enrol.js';

/** A single-column layout with the product's name on top. */
export function Narrow({ children }: { readonly children: ReactNode }) {
  return (
    <div className="narrow">
      <header>
        <OfflineBar />
        <div className="narrow-brand">
          <Icon name="bolt" />
          <span className="narrow-product">{COMMON.product}</span>
          {AUDIENCE !== undefined && <span className="narrow-audience">{SIGN_IN.audience[AUDIENCE]}</span>}
        </div>
      </header>
      <main id="content" className="narrow-main">
        {children}
      </main>
      <footer className="narrow-foot">
        <ThemeSwitch />
      </footer>
    </div>
  );
}

export function SignInPage() {
  return (
    <Narrow>
      <Page title={SIGN_IN.title} lead={SIGN_IN.lead[AUDIENCE ?? 'unknown']}>
        <PasswordForm />
        <details className="help">
          <summary>{SIGN_IN.forgotten}</summary>
          <p>{SIGN_IN.forgottenBody[AUDIENCE ?? 'unknown']}</p>
        </details>
      </Page>
    </Narrow>
  );
}

export function UnfinishedPage({ session }: { readonly session: SessionAnswer }) {
  const client = useQueryClient();
  const leave = useAct(async () => {
    await post('/api/sign-out');
    keepSession(client, null);
  });
  const isEnrolling = session.stage === 'enrol';
  return (
    <Narrow>
      {isEnrolling ? (
        <Page title={SIGN_IN.enrol.title} lead={SIGN_IN.enrol.lead}>
          <EnrolForm />
        </Page>
      ) : (
        <Page title={SIGN_IN.secondFactor.title} lead={SIGN_IN.secondFactor.lead(session.person.email)}>
          <CodeForm />
        </Page>
      )}
      <p className="narrow-leave">
        <button type="button" className="link-button" onClick={() => leave.run()}>
          {SIGN_IN.secondFactor.other}
        </button>
      </p>
      {leave.failure !== null && <Notice tone="bad">{COMMON.failure.act}</Notice>}
    </Narrow>
  );
}
