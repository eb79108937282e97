/** The user's own credentials: password, second factor and sessions. */
import { Button, PasswordInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  PasswordRequest,
  RecoveryCodesAnswer,
  SecurityAnswer,
  SessionAnswer,
  SessionItem,
} from '../../../../../src/modules/console/api-shapes.js';
import { useAct } from '../../api/act.js';
import { get, post } from '../../api/client.js';
import { keepSession, useSignedIn } from '../../api/session.js';
import { Dialog } from '../../parts/dialog.js';
import { Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { ActFailure, Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { OwnNav } from '../../shell/subnav.js';
import { NAV } from '../../text/nav.js';
import { SECURITY } from '../../text/people.js';
import { SIGN_IN } from '../../text/sign-in.js';
import { EnrolForm, RecoveryCodes } from '../sign-in/enrol.js';

export function SecurityPage() {
  const isOperator = useSignedIn().audience === 'operator';
  const security = useQuery({ queryKey: ['security'], queryFn: () => get<SecurityAnswer>('/api/security') });
  return (
    <Page title={NAV.security} lead={SECURITY.lead} above={isOperator && <OwnNav />}>
      <Loaded query={security} lines={6}>
        {(data) => (
          <>
            <Password changedAt={data.password_changed_at} />
            <SecondFactor factor={data.second_factor} />
            <Sessions sessions={data.sessions} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Password({ changedAt }: { readonly changedAt: string }) {
  const client = useQueryClient();
  const { person } = useSignedIn();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [isDone, setDone] = useState(false);
  const act = useAct(async () => {
    const request: PasswordRequest = { current_password: current, new_password: next };
    keepSession(client, await post<SessionAnswer>('/api/security/password', request));
    setDone(true);
    setCurrent('');
    setNext('');
    await client.invalidateQueries({ queryKey: ['security'] });
  });
  return (
    <Section title={SECURITY.password}>
      <p className="dim">
        {SECURITY.changed} <Moment at={changedAt} />
      </p>
      <div role="status">{isDone && <Notice tone="good">{SECURITY.done}</Notice>}</div>
      <Form act={act} submit={SECURITY.submit} isReady={current !== '' && next.length >= 12}>
        <input type="text" name="email" autoComplete="username" value={person.email} readOnly hidden />
        <PasswordInput
          label={SECURITY.current}
          autoComplete="current-password"
          required
          value={current}
          onChange={(event) => setCurrent(event.currentTarget.value)}
        />
        <PasswordInput
          label={SECURITY.next}
          description={SECURITY.nextHelp}
          autoComplete="new-password"
          required
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
        />
      </Form>
    </Section>
  );
}

function SecondFactor({ factor }: { readonly factor: SecurityAnswer['second_factor'] }) {
  const client = useQueryClient();
  const [isEnrolling, setEnrolling] = useState(false);
  const [codes, setCodes] = useState<RecoveryCodesAnswer>();
  const read = () => client.invalidateQueries({ queryKey: ['security'] });
  const renew = useAct(async () => setCodes(await post<RecoveryCodesAnswer>('/api/security/recovery-codes')));
  const remove = useAct(async () => {
    keepSession(client, await post<SessionAnswer>('/api/security/second-factor/remove'));
    await read();
  });
  const close = () => {
    setEnrolling(false);
    setCodes(undefined);
    void read();
  };
  return (
    <Section title={SECURITY.factor}>
      <p>
        {factor.is_on ? (
          <Status tone="good" icon="good" word={SECURITY.factorOn} />
        ) : (
          <Status tone="warn" icon="warn" word={SECURITY.factorOff} />
        )}{' '}
        {factor.since !== undefined && (
          <>
            {SECURITY.since} <Moment at={factor.since} />
          </>
        )}
      </p>
      {factor.is_on && <p>{SECURITY.left(factor.recovery_codes_left)}</p>}
      {factor.is_required && <p className="dim">{SECURITY.factorRequired}</p>}
      <ActFailure failure={renew.failure ?? remove.failure} />
      <div className="form-actions">
        <Button variant="default" onClick={() => setEnrolling(true)}>
          {factor.is_on ? SECURITY.replace : SECURITY.setUp}
        </Button>
        {factor.is_on && (
          <Button variant="default" loading={renew.isUnderWay} onClick={() => renew.run()}>
            {SECURITY.newCodes}
          </Button>
        )}
        {factor.is_on && !factor.is_required && (
          <Button variant="default" loading={remove.isUnderWay} onClick={() => remove.run()}>
            {SECURITY.remove}
          </Button>
        )}
      </div>
      {isEnrolling && (
        <Dialog title={SIGN_IN.enrol.title} onClose={close}>
          <EnrolForm onDone={close} />
        </Dialog>
      )}
      {codes !== undefined && (
        <Dialog title={SIGN_IN.codes.title} onClose={close} isFirm>
          <RecoveryCodes answer={codes} onDone={close} />
        </Dialog>
      )}
    </Section>
  );
}

function Sessions({ sessions }: { readonly sessions: readonly SessionItem[] }) {
  const client = useQueryClient();
  const end = useAct(async (path: string) => {
    await post(`/api/security/sessions/${path}`);
    await client.invalidateQueries({ queryKey: ['security'] });
  });
  const titles = SECURITY.sessionColumns;
  const columns: Column<SessionItem>[] = [
    {
      title: titles.where,
      cell: ({ user_agent: agent, is_current: isHere }) => (
        <>
          {agent} {isHere && <strong>({SECURITY.here})</strong>}
        </>
      ),
    },
    { title: titles.from, cell: ({ source_address: source }) => source },
    { title: titles.since, cell: ({ signed_in_at: at }) => <Moment at={at} /> },
    { title: titles.seen, cell: ({ last_seen_at: at }) => <Moment at={at} /> },
    {
      title: titles.act,
      cell: ({ id, is_current: isHere, source_address: source }) =>
        isHere ? (
          '–'
        ) : (
          <button type="button" className="link-button" onClick={() => end.run(`${id}/end`)}>
            {SECURITY.end}
            <span className="only-read"> {source}</span>
          </button>
        ),
    },
  ];
  return (
    <Section title={SECURITY.sessions}>
      <ActFailure failure={end.failure} />
      <Lines caption={SECURITY.sessionsCaption} columns={columns} items={sessions} keyOf={({ id }) => id} />
      {sessions.length > 1 && (
        <div className="form-actions">
          <Button variant="default" onClick={() => end.run('end-others')}>
            {SECURITY.endOthers}
          </Button>
        </div>
      )}
    </Section>
  );
}
