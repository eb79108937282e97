/** Creation of a project in three steps: its terms, its key and owner, and the owner's invitation link. */
import { Checkbox, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type { InvitedAnswer, InviteRequest } from '../../../../../src/modules/console/api-shapes.js';
import type { MadeProject, MakeProject } from '../../../../../src/modules/console/operator-shapes.js';
import { dollarsTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { Choice } from '../../parts/choice.js';
import { CopyButton } from '../../parts/copy.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { pathOf } from '../../shell/project.js';
import { NAV } from '../../text/nav.js';
import { PROJECTS } from '../../text/projects.js';
import { SECRET } from '../../text/secret.js';

const text = PROJECTS.wizard;

export function NewProjectPage() {
  const [made, setMade] = useState<MadeProject>();
  const [invited, setInvited] = useState<InvitedAnswer>();
  const step = made === undefined ? 0 : invited === undefined ? 1 : 2;
  const titles = [
    text.title,
    text.made(made?.project.name ?? ''),
    text.invited(invited?.invitation.email ?? ''),
  ] as const;
  return (
    <Page
      title={titles[step]}
      lead={text.step(step + 1, text.steps.length, text.steps[step])}
      above={
        <p>
          <Link href="/projects" className="crumb">
            ← {NAV.projects}
          </Link>
        </p>
      }
    >
      {made === undefined && <MakeStep onMade={setMade} />}
      {made !== undefined && invited === undefined && <OwnerStep made={made} onInvited={setInvited} />}
      {made !== undefined && invited !== undefined && <LinkStep project={made.project.id} invited={invited} />}
    </Page>
  );
}

function MakeStep({ onMade }: { readonly onMade: (made: MadeProject) => void }) {
  const [name, setName] = useState('');
  const [isPostpaid, setPostpaid] = useState(false);
  const [limit, setLimit] = useState('');
  const [reason, setReason] = useState('');
  const { value: limitCredits, fault: limitFault } = dollarsTyped(limit);
  const isReady = name.trim() !== '' && reason.trim() !== '' && (!isPostpaid || limitCredits !== undefined);
  const act = useAct(async () => {
    const request: MakeProject = {
      name: name.trim(),
      terms: isPostpaid ? 'postpaid' : 'prepaid',
      ...(isPostpaid && limitCredits !== undefined && { debt_limit_credits: toJsonInteger(limitCredits) }),
      reason: reason.trim(),
    };
    onMade(await post<MadeProject>('/api/operator/projects', request));
  });
  return (
    <Form act={act} submit={text.submit} isReady={isReady}>
      <TextInput
        label={text.name}
        description={text.nameHelp}
        required
        autoComplete="off"
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <fieldset>
        <legend>{text.terms}</legend>
        <Choice
          name="terms"
          word={text.prepaid}
          note={text.prepaidNote}
          isChosen={!isPostpaid}
          onChoose={() => setPostpaid(false)}
        />
        <Choice
          name="terms"
          word={text.postpaid}
          note={text.postpaidNote}
          isChosen={isPostpaid}
          onChoose={() => setPostpaid(true)}
        />
      </fieldset>
      {isPostpaid && (
        <TextInput
          label={text.limit}
          required
          inputMode="decimal"
          autoComplete="off"
          value={limit}
          error={limit !== '' && limitFault}
          onChange={(event) => setLimit(event.currentTarget.value)}
        />
      )}
      <TextInput
        label={text.reason}
        description={text.reasonHelp}
        required
        autoComplete="off"
        maxLength={200}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </Form>
  );
}

interface OwnerProps {
  readonly made: MadeProject;
  readonly onInvited: (invited: InvitedAnswer) => void;
}

function OwnerStep({ made: { project, secret, deposit_address: address }, onInvited }: OwnerProps) {
  const [email, setEmail] = useState('');
  const [isKept, setKept] = useState(false);
  const [isLeft, setLeft] = useState(false);
  const isEmail = /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email.trim());
  const act = useAct(async () => {
    const request: InviteRequest = { email: email.trim(), role: 'owner' };
    onInvited(await post<InvitedAnswer>(`/api/projects/${project.id}/team/invitations`, request));
  });
  return (
    <>
      <Section title={SECRET.name} note={text.secretLead}>
        <Notice tone="warn">{SECRET.once}</Notice>
        <p className="boxed mono secret" data-secret>
          {secret}
        </p>
        <CopyButton text={secret} name={SECRET.name} label={SECRET.copy} />
        <Facts
          of={[
            [text.merchantId, <Groups key="id" text={project.id} name={text.merchantId} />],
            [text.depositAddress, address && <Groups text={address} name={text.depositAddress} />],
          ]}
        />
        <Checkbox label={SECRET.kept} checked={isKept} onChange={(event) => setKept(event.currentTarget.checked)} />
      </Section>
      <Section title={text.inviteTitle} note={text.inviteLead}>
        <Form
          act={act}
          submit={text.invite}
          isReady={isEmail && isKept}
          beside={
            <Link href={pathOf(project.id, '/orders')} className="crumb">
              {text.later}
            </Link>
          }
        >
          <TextInput
            label={text.email}
            type="email"
            required
            autoComplete="off"
            value={email}
            error={email !== '' && !isEmail && isLeft && text.emailBad}
            onBlur={() => setLeft(true)}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
        </Form>
      </Section>
    </>
  );
}

function LinkStep({
  project,
  invited: { link, invitation, mailed },
}: {
  readonly project: string;
  readonly invited: InvitedAnswer;
}) {
  return (
    <div className="stack">
      <p>{mailed ? text.mailedLead(invitation.email) : text.linkLead}</p>
      {link !== undefined && (
        <>
          <p className="boxed mono secret" data-secret>
            {link}
          </p>
          <CopyButton text={link} name={text.linkName} label={text.linkCopy} />
        </>
      )}
      <p className="dim">
        {text.until} <Moment at={invitation.expires_at} />
      </p>
      <p className="link-list">
        <Link href={pathOf(project, '/orders')}>{text.toProject}</Link>
      </p>
    </div>
  );
}
