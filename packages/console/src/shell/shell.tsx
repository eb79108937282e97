/** The frame of every page: skip link, navigation, project switcher, search and TEST ribbon. */
import { useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { ProjectMembership, SessionAnswer } from '../../../../src/modules/console/api-shapes.js';
import { useAct } from '../api/act.js';
import { post } from '../api/client.js';
import { useIsOnline } from '../api/reach.js';
import { Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icons.js';
import { ActFailure } from '../parts/notice.js';
import { Status } from '../parts/status.js';
import { COMMON } from '../text/common.js';
import { OperatorProjectNav } from './subnav.js';
import { isWithin, type Entry } from './entries.js';
import { OfflineBar } from './offline-bar.js';
import { OutageBar } from './outage-bar.js';
import { ProjectBars } from './project-bars.js';
import { pathOf, type ProjectOnPage } from './project.js';
import { Search } from './search.js';
import { ServiceFoot } from './service-foot.js';
import { ThemeSwitch } from './theme-switch.js';
import { TimeSwitch } from './time-switch.js';

interface ShellProps {
  readonly session: SessionAnswer;
  readonly entries: readonly Entry[];
  readonly project: ProjectOnPage | undefined;
  readonly children: ReactNode;
}

/** Entries on the bottom bar; one more button opens the rest. */
const ON_BAR = 4;

export function Shell({ session, entries, project, children }: ShellProps) {
  const isOnline = useIsOnline();
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {COMMON.skip}
      </a>
      <Rail session={session} entries={entries} project={project} />
      <div className="shell-main">
        <header>
          <OfflineBar />
          {session.audience === 'operator' && <OutageBar />}
          {project !== undefined && <ProjectBars project={project} isOperator={session.audience === 'operator'} />}
          <div className="topbar">
            {session.audience === 'merchant' && <Switcher session={session} project={project} />}
            {project?.membership !== undefined && <ProjectState membership={project.membership} />}
            <Search session={session} project={project} />
          </div>
          {session.audience === 'operator' && project !== undefined && (
            <div className="project-nav">
              <OperatorProjectNav id={project.id} />
            </div>
          )}
        </header>
        <main id="content" tabIndex={-1} className={isOnline ? undefined : 'offline'}>
          {children}
        </main>
        {session.service !== undefined && <ServiceFoot service={session.service} />}
      </div>
      <BottomBar session={session} entries={entries} />
    </div>
  );
}

/** Shows the state of a merchant's project. Its name is in the switcher beside it. */
function ProjectState({ membership }: { readonly membership: ProjectMembership }) {
  const { frozen, test } = membership;
  const text = COMMON.states;
  return (
    <p className="project-state">
      {frozen === true && <Status tone="bad" icon="bad" word={text.frozen} />}
      {test === true && <Status tone="warn" icon="info" word={text.test} />}
      {frozen !== true && test !== true && <Status tone="good" icon="good" word={text.live} />}
    </p>
  );
}

function Rail({ session, entries }: Omit<ShellProps, 'children'>) {
  const [path] = useLocation();
  return (
    <nav className="rail" aria-label={COMMON.menu}>
      <div className="rail-brand">
        <Icon name="bolt" />
        <span className="rail-word">
          {COMMON.product}
          {session.audience === 'operator' && <em>{COMMON.operatorMark}</em>}
        </span>
      </div>
      <ul>
        {entries.map((entry) => (
          <li key={entry.path}>
            <EntryLink entry={entry} path={path} />
          </li>
        ))}
      </ul>
      <Account session={session} />
    </nav>
  );
}

function EntryLink({
  entry,
  path,
  onGo,
}: {
  readonly entry: Entry;
  readonly path: string;
  readonly onGo?: () => void;
}) {
  const isHere = isWithin(entry, path);
  return (
    <Link
      href={entry.path}
      className="nav-link"
      title={entry.word}
      {...(isHere && { 'aria-current': 'page' })}
      {...(onGo !== undefined && { onClick: onGo })}
    >
      <Icon name={entry.icon} />
      <span className="nav-word">{entry.word}</span>
    </Link>
  );
}

function Account({ session }: { readonly session: SessionAnswer }) {
  const leave = useAct(async () => {
    await post('/api/sign-out');
    location.assign('/');
  });
  return (
    <div className="account">
      <p className="account-name rail-word">{session.person.email}</p>
      <div className="rail-word">
        <ThemeSwitch />
        <TimeSwitch />
      </div>
      <button type="button" className="nav-link" title={COMMON.signOut} onClick={() => leave.run()}>
        <Icon name="out" />
        <span className="nav-word">{COMMON.signOut}</span>
      </button>
      <ActFailure failure={leave.failure} />
    </div>
  );
}

function BottomBar({ session, entries }: Pick<ShellProps, 'session' | 'entries'>) {
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const rest = entries.slice(ON_BAR);
  return (
    <nav className="bottom-bar" aria-label={COMMON.menu}>
      {entries.slice(0, ON_BAR).map((entry) => (
        <EntryLink key={entry.path} entry={entry} path={path} />
      ))}
      <button type="button" className="nav-link" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Icon name="account" />
        <span className="nav-word">{COMMON.more_nav}</span>
      </button>
      {isOpen && (
        <Dialog title={COMMON.more_nav} onClose={() => setOpen(false)}>
          <ul className="more-list">
            {rest.map((entry) => (
              <li key={entry.path}>
                <EntryLink entry={entry} path={path} onGo={() => setOpen(false)} />
              </li>
            ))}
          </ul>
          <div className="more-account">
            <p className="dim">{session.person.email}</p>
            <Account session={session} />
          </div>
        </Dialog>
      )}
    </nav>
  );
}

function Switcher({ session, project }: Pick<ShellProps, 'session' | 'project'>) {
  const [, go] = useLocation();
  const projects = session.projects ?? [];
  return (
    <label className="switcher">
      <span className="only-read">{COMMON.project}</span>
      <select
        value={project?.id ?? ''}
        onChange={(event) => {
          go(pathOf(event.currentTarget.value));
        }}
      >
        {projects.map(({ id, name, test }) => (
          <option key={id} value={id}>
            {test === true ? `${name} (test)` : name}
          </option>
        ))}
      </select>
    </label>
  );
}
