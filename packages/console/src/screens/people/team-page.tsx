/** The people of a project, or the operators. One page serves both, with different API paths. */
import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  InvitationItem,
  InvitedAnswer,
  InviteRequest,
  PersonRole,
  RoleRequest,
  TeamAnswer,
  TeamMember,
} from '../../../../../src/modules/console/api-shapes.js';
import { useAct } from '../../api/act.js';
import { get, post } from '../../api/client.js';
import { Dialog } from '../../parts/dialog.js';
import { Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { ActFailure, Notice } from '../../parts/notice.js';
import { Section } from '../../parts/page.js';
import { SecretOnce } from '../../parts/secret-once.js';
import { Status } from '../../parts/status.js';
import { TypeToConfirm } from '../../parts/type-to-confirm.js';
import { COMMON } from '../../text/common.js';
import { TEAM } from '../../text/people.js';
import { PROJECTS } from '../../text/projects.js';
import { SIGN_IN } from '../../text/sign-in.js';

interface TeamProps {
  /** Prefix of its API routes. */
  readonly api: string;
  readonly roles: readonly [PersonRole, PersonRole];
  readonly mayChange: boolean;
}

const roleWord = (role: PersonRole) => SIGN_IN.invitation.roles[role];
const titles = TEAM.columns;

export function Team({ api, roles, mayChange }: TeamProps) {
  const team = useQuery({ queryKey: ['team', api], queryFn: () => get<TeamAnswer>(api) });
  const [isInviting, setInviting] = useState(false);
  const [invited, setInvited] = useState<InvitedAnswer>();
  const [removed, setRemoved] = useState<TeamMember>();
  const changed = async () => {
    await team.refetch();
  };
  const act = useAct(async ({ path, body }: { readonly path: string; readonly body?: RoleRequest }) => {
    await post(`${api}/${path}`, body);
    await changed();
  });
  const other = (role: PersonRole) => (role === roles[0] ? roles[1] : roles[0]);
  return (
    <>
      <ActFailure failure={act.failure} />
      <Section
        title={TEAM.caption}
        actions={mayChange && <Button onClick={() => setInviting(true)}>{TEAM.invite}</Button>}
      >
        <Loaded query={team}>
          {({ members }) => (
            <Lines
              caption={TEAM.caption}
              columns={memberColumns(mayChange ? { other, act: act.run, remove: setRemoved } : undefined)}
              items={members}
              keyOf={(member) => member.person_id}
            />
          )}
        </Loaded>
      </Section>
      {mayChange && (
        <Section title={TEAM.open}>
          <Loaded query={team} lines={1}>
            {({ invitations }) =>
              invitations.length === 0 ? (
                <p>{TEAM.openNone}</p>
              ) : (
                <Lines
                  caption={TEAM.openCaption}
                  columns={invitationColumns((path) => act.run({ path }))}
                  items={invitations}
                  keyOf={({ id }) => id}
                />
              )
            }
          </Loaded>
        </Section>
      )}
      {isInviting && (
        <InviteDialog
          api={api}
          roles={roles}
          onClose={() => setInviting(false)}
          onInvited={(answer) => {
            setInviting(false);
            setInvited(answer);
            void changed();
          }}
        />
      )}
      {invited?.mailed === true && (
        <Dialog title={TEAM.linkTitle(invited.invitation.email)} onClose={() => setInvited(undefined)}>
          <Notice tone="good">{TEAM.mailed(invited.invitation.email)}</Notice>
          <div className="form-actions">
            <Button onClick={() => setInvited(undefined)}>{COMMON.close}</Button>
          </div>
        </Dialog>
      )}
      {invited?.link !== undefined && (
        <SecretOnce
          title={TEAM.linkTitle(invited.invitation.email)}
          secret={invited.link}
          isLink
          onDone={() => setInvited(undefined)}
        >
          <p>{PROJECTS.wizard.linkLead}</p>
        </SecretOnce>
      )}
      {removed !== undefined && (
        <RemoveDialog api={api} member={removed} onClose={() => setRemoved(undefined)} onDone={changed} />
      )}
    </>
  );
}

interface Acts {
  readonly other: (role: PersonRole) => PersonRole;
  readonly act: (act: { readonly path: string; readonly body?: RoleRequest }) => void;
  readonly remove: (member: TeamMember) => void;
}

function memberColumns(acts: Acts | undefined): Column<TeamMember>[] {
  return [
    {
      title: titles.who,
      cell: ({ email, is_me: isMe, is_address_proven: isProven }) => (
        <>
          <strong>{email}</strong> {isMe && <span className="dim">{TEAM.you}</span>}
          {!isProven && <span className="dim"> {TEAM.unproven}</span>}
        </>
      ),
    },
    { title: titles.role, cell: ({ role }) => roleWord(role) },
    {
      title: titles.factor,
      cell: ({ has_second_factor: isOn }) =>
        isOn ? <Status tone="good" icon="good" word={TEAM.on} /> : <Status tone="calm" icon="info" word={TEAM.off} />,
    },
    { title: titles.seen, cell: ({ last_seen_at: at }) => (at === undefined ? TEAM.never : <Moment at={at} />) },
    ...(acts === undefined
      ? []
      : [
          {
            title: titles.acts,
            cell: (member: TeamMember) => {
              const role = acts.other(member.role);
              return (
                <div className="row-acts">
                  <button
                    type="button"
                    className="link-button"
                    onClick={() => acts.act({ path: `${member.person_id}/role`, body: { role } })}
                  >
                    {TEAM.makeRole(roleWord(role))}
                    <span className="only-read"> {member.email}</span>
                  </button>
                  <button type="button" className="link-button" onClick={() => acts.remove(member)}>
                    {TEAM.remove}
                    <span className="only-read"> {member.email}</span>
                  </button>
                </div>
              );
            },
          },
        ]),
  ];
}

function invitationColumns(act: (path: string) => void): Column<InvitationItem>[] {
  const open = TEAM.openColumns;
  return [
    { title: open.who, cell: ({ email }) => <strong>{email}</strong> },
    { title: open.role, cell: ({ role }) => roleWord(role) },
    { title: open.by, cell: ({ invited_by: by }) => by },
    { title: open.until, cell: ({ expires_at: at }) => <Moment at={at} /> },
    {
      title: open.act,
      cell: ({ id, email }) => (
        <button type="button" className="link-button" onClick={() => act(`invitations/${id}/revoke`)}>
          {TEAM.callOff}
          <span className="only-read"> {email}</span>
        </button>
      ),
    },
  ];
}

interface InviteProps {
  readonly api: string;
  readonly roles: readonly [PersonRole, PersonRole];
  readonly onClose: () => void;
  readonly onInvited: (answer: InvitedAnswer) => void;
}

function InviteDialog({ api, roles, onClose, onInvited }: InviteProps) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<PersonRole>(roles[1]);
  const act = useAct(async () => {
    const request: InviteRequest = { email: email.trim(), role };
    onInvited(await post<InvitedAnswer>(`${api}/invitations`, request));
  });
  return (
    <Dialog title={TEAM.invite} onClose={onClose}>
      <Form
        act={act}
        submit={TEAM.submit}
        isReady={/^[^\s@]+@[^\s@]+$/.test(email.trim())}
        beside={
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
        }
      >
        <TextInput
          label={TEAM.email}
          type="email"
          required
          autoFocus
          autoComplete="off"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <fieldset>
          <legend>{TEAM.role}</legend>
          {roles.map((one) => (
            <label key={one} className="choice">
              <input type="radio" name="role" checked={role === one} onChange={() => setRole(one)} />
              <span>
                {roleWord(one)}
                <span className="dim">{SIGN_IN.invitation.rolesMean[one]}</span>
              </span>
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  );
}

interface RemoveProps {
  readonly api: string;
  readonly member: TeamMember;
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

function RemoveDialog({ api, member, onClose, onDone }: RemoveProps) {
  const act = useAct(async () => {
    await post(`${api}/${member.person_id}/remove`);
    onClose();
    await onDone();
  });
  return (
    <TypeToConfirm
      title={TEAM.removeTitle(member.email)}
      name={member.email}
      submit={TEAM.removeSubmit}
      act={act}
      onClose={onClose}
    >
      <p>{TEAM.removeLead}</p>
    </TypeToConfirm>
  );
}
