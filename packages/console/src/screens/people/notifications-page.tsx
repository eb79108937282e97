/** E-mail notifications of the signed-in person, for a project or for the service. */
import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { NotificationChoice, NotificationsAnswer } from '../../../../../src/modules/console/api-shapes.js';
import {
  OPERATOR_NOTIFICATIONS,
  PROJECT_NOTIFICATIONS,
  type NotificationKind,
} from '../../../../../src/domain/notification-kinds.js';
import { useAct } from '../../api/act.js';
import { get, post } from '../../api/client.js';
import { grouped } from '../../format/money.js';
import { Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { ActFailure, Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { pathOf, useProject } from '../../shell/project.js';
import { OwnNav, SettingsNav } from '../../shell/subnav.js';
import { NAV } from '../../text/nav.js';
import { NOTIFICATIONS } from '../../text/notifications.js';
import { NotFoundPage } from '../not-found-page.js';

const text = NOTIFICATIONS;
const KEY = ['notifications'];
const PATH = '/api/notifications';

const useNotifications = () => useQuery({ queryKey: KEY, queryFn: () => get<NotificationsAnswer>(PATH) });

/** Notifications of the current project, for its members only. An operator receives notifications of the service. */
export function ProjectNotificationsPage() {
  return useProject().membership === undefined ? <NotFoundPage /> : <OfProject />;
}

function OfProject() {
  const { id } = useProject();
  const answer = useNotifications();
  return (
    <Page title={NAV.notifications} lead={text.leadProject} above={<SettingsNav />}>
      <Loaded query={answer} lines={8}>
        {(data) => (
          <>
            {!data.is_mail_set_up && (
              <Notice tone="warn" title={text.off.title}>
                <p>{text.off.project}</p>
                <p>
                  {text.off.instead} <Link href={pathOf(id, '/integration/webhooks')}>{text.off.webhooks}</Link>
                </p>
              </Notice>
            )}
            <Choices key={id} answer={data} kinds={PROJECT_NOTIFICATIONS} projectId={id} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Notifications of the whole service, for an operator. */
export function OperatorNotificationsPage() {
  const answer = useNotifications();
  return (
    <Page title={NAV.notifications} lead={text.leadOperator} above={<OwnNav />}>
      <Loaded query={answer} lines={5}>
        {(data) => (
          <>
            {!data.is_mail_set_up && (
              <Notice tone="warn" title={text.off.title}>
                <p>{text.off.operator}</p>
                <p>{text.off.setting}</p>
              </Notice>
            )}
            <Choices answer={data} kinds={OPERATOR_NOTIFICATIONS} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface ChoicesProps {
  readonly answer: NotificationsAnswer;
  readonly kinds: readonly NotificationKind[];
  /** Absent for an operator's notifications. */
  readonly projectId?: string;
}

function Choices({ answer, kinds, projectId }: ChoicesProps) {
  const cache = useQueryClient();
  const choice = answer.choices.find((each) => each.project_id === projectId);
  const [chosen, setChosen] = useState<readonly NotificationKind[]>(choice?.kinds ?? []);
  const [saved, setSaved] = useState<readonly NotificationKind[]>();
  const act = useAct(async () => {
    setSaved(undefined);
    const project = projectId === undefined ? {} : { project_id: projectId };
    cache.setQueryData(KEY, await post<NotificationsAnswer>(PATH, { ...project, kinds: chosen }));
    setSaved(chosen);
  });
  const change = (wanted: readonly NotificationKind[]) => {
    setSaved(undefined);
    setChosen(wanted);
  };
  const turn = (kind: NotificationKind) =>
    change(kinds.filter((known) => (known === kind ? !chosen.includes(known) : chosen.includes(known))));
  const mayChoose = answer.is_mail_set_up && answer.must_prove_address !== true;
  return (
    <Section title={text.section} note={text.sectionNote(answer.email)}>
      {answer.is_mail_set_up && answer.must_prove_address === true && <ProveAddress email={answer.email} />}
      {choice !== undefined && <State choice={choice} />}
      <Form
        act={act}
        submit={text.save}
        isReady={mayChoose}
        beside={
          <div role="status">
            {saved !== undefined && <Notice tone="good">{saved.length === 0 ? text.savedNone : text.saved}</Notice>}
          </div>
        }
      >
        <fieldset disabled={!mayChoose}>
          <legend>{text.legend}</legend>
          {kinds.map((kind) => (
            <label key={kind} className="choice">
              <input type="checkbox" checked={chosen.includes(kind)} onChange={() => turn(kind)} />
              <span>
                {text.kinds[kind][0]}
                <span className="dim">{text.kinds[kind][1]}</span>
              </span>
            </label>
          ))}
          <div className="form-actions">
            <Button variant="default" disabled={!mayChoose} onClick={() => change(kinds)}>
              {text.all}
            </Button>
            <Button variant="default" disabled={!mayChoose} onClick={() => change([])}>
              {text.none}
            </Button>
          </div>
        </fieldset>
        <p className="dim">{text.bound(answer.mails_per_hour)}</p>
      </Form>
    </Section>
  );
}

function ProveAddress({ email }: { readonly email: string }) {
  const [isSent, setSent] = useState(false);
  const act = useAct(async () => {
    await post('/api/security/address/send');
    setSent(true);
  });
  return (
    <Notice tone="warn" title={text.unproven.title}>
      <p>{text.unproven.says(email)}</p>
      <ActFailure failure={act.failure} />
      <div role="status">{isSent && <p>{text.unproven.sent}</p>}</div>
      <Button variant="default" disabled={isSent} onClick={() => act.run()}>
        {text.unproven.submit}
      </Button>
    </Notice>
  );
}

/** Delivery state of this person's mails. */
function State({ choice }: { readonly choice: NotificationChoice }) {
  const { kinds, last_mail_at: lastAt, failing, given_up: givenUp } = choice;
  if (kinds.length === 0 && lastAt === undefined) return null;
  return (
    <>
      {failing !== undefined && (
        <Notice tone="bad" title={text.failing}>
          <p>
            <Moment at={failing.since} clock="ours" />. {text.failingSays(failing.fault)}
          </p>
        </Notice>
      )}
      {givenUp !== undefined && (
        <Notice tone="warn" title={text.givenUp(grouped(givenUp.count))}>
          <p>
            <Moment at={givenUp.at} clock="ours" />. {text.givenUpSays(givenUp.fault)}
          </p>
        </Notice>
      )}
      <Facts of={[[text.state, lastAt === undefined ? text.never : <Moment key="last" at={lastAt} clock="ours" />]]} />
    </>
  );
}
