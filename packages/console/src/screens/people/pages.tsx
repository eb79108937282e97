/** Page wrappers: project team, operators, and the user's own security settings. */
import type { LooksAnswer } from '../../../../../src/modules/console/api-shapes.js';
import { useProjectData } from '../../api/project-data.js';
import { useSignedIn } from '../../api/session.js';
import { Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Page, Section } from '../../parts/page.js';
import { useProject } from '../../shell/project.js';
import { SettingsNav } from '../../shell/subnav.js';
import { NAV } from '../../text/nav.js';
import { TEAM } from '../../text/people.js';
import { Team } from './team-page.js';

const titles = TEAM.readsColumns;
const READS: readonly Column<LooksAnswer['looks'][number]>[] = [
  { title: titles.when, cell: ({ at }) => <Moment at={at} /> },
  { title: titles.who, cell: ({ by }) => by },
  { title: titles.what, cell: ({ what }) => what },
];

export function TeamPage() {
  const { api, isOwner } = useProject();
  const reads = useProjectData<LooksAnswer>('/looks', { isOn: isOwner });
  return (
    <Page title={NAV.team} lead={TEAM.leadProject} above={<SettingsNav />}>
      <Team api={`${api}/team`} roles={['owner', 'member']} mayChange={isOwner} />
      {isOwner && (
        <Section title={TEAM.reads} note={TEAM.readsNote}>
          <Loaded query={reads} isEmpty={(data) => data.looks.length === 0} empty={<p>{TEAM.readsNone}</p>}>
            {(data) => (
              <Lines
                caption={TEAM.reads}
                columns={READS}
                items={data.looks}
                keyOf={({ at, by, what }) => `${at} ${by} ${what}`}
              />
            )}
          </Loaded>
        </Section>
      )}
    </Page>
  );
}

export function PeoplePage() {
  const isAdmin = useSignedIn().operator_role === 'admin';
  return (
    <Page title={NAV.people} lead={TEAM.leadOperators}>
      <Team api="/api/people" roles={['admin', 'support']} mayChange={isAdmin} />
    </Page>
  );
}
