/** IP addresses that may use the project and its keys, and those that did. */
import { useState } from 'react';
import type { RecentCaller, SourcesShape } from '../../../../../src/modules/console/data-shapes.js';
import { useProjectData } from '../../api/project-data.js';
import { Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { SettingsNav } from '../../shell/subnav.js';
import { useProject } from '../../shell/project.js';
import { NAV } from '../../text/nav.js';
import { SOURCES } from '../../text/sources.js';
import { SourcesDialog, type SourceList } from './set-sources.js';

export function SourcesPage() {
  const { isOwner, membership } = useProject();
  const sources = useProjectData<SourcesShape>('/sources');
  const [changed, setChanged] = useState<SourceList>();
  const [isSaved, setSaved] = useState(false);
  const begin = (list: SourceList) => {
    setSaved(false);
    setChanged(list);
  };
  return (
    <Page title={NAV.sources} lead={SOURCES.lead} above={<SettingsNav />}>
      {!isOwner && <Notice tone="info">{membership === undefined ? SOURCES.ofOwners : SOURCES.readOnly}</Notice>}
      <div role="status">{isSaved && <Notice tone="good">{SOURCES.confirm.done}</Notice>}</div>
      <Loaded query={sources} lines={6}>
        {(data) => (
          <>
            <Section title={SOURCES.lists} note={SOURCES.listsNote}>
              <Lines
                caption={SOURCES.listsCaption}
                columns={listColumns(isOwner ? begin : undefined)}
                items={listsOf(data)}
                keyOf={({ keyId }) => keyId ?? 'project'}
              />
            </Section>
            <Section title={SOURCES.callers} note={SOURCES.callersNote}>
              {data.callers.length === 0 ? (
                <p>{SOURCES.callersNone}</p>
              ) : (
                <Lines
                  caption={SOURCES.callersCaption}
                  columns={callerColumns}
                  items={data.callers}
                  keyOf={({ address, key }) => `${address} ${key.id}`}
                />
              )}
            </Section>
            {changed !== undefined && (
              <SourcesDialog
                list={changed}
                onClose={() => setChanged(undefined)}
                onSaved={() => {
                  setChanged(undefined);
                  setSaved(true);
                }}
              />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function listsOf({ allowed_sources: project, keys }: SourcesShape): SourceList[] {
  return [
    { name: SOURCES.project, allowed: project },
    ...keys.map(({ id, name, allowed_sources: allowed }) => ({ keyId: id, name, allowed })),
  ];
}

const titles = SOURCES.columns;

function listColumns(change: ((list: SourceList) => void) | undefined): Column<SourceList>[] {
  return [
    { title: titles.of, cell: ({ name }) => <strong>{name}</strong> },
    {
      title: titles.allowed,
      cell: ({ allowed }) =>
        allowed.length === 0 ? (
          SOURCES.any
        ) : (
          <ul className="plain-list mono">
            {allowed.map((range) => (
              <li key={range}>{range}</li>
            ))}
          </ul>
        ),
    },
    ...(change === undefined
      ? []
      : [
          {
            title: titles.act,
            cell: (list: SourceList) => (
              <button type="button" className="link-button" onClick={() => change(list)}>
                {SOURCES.change}
                <span className="only-read"> {list.name}</span>
              </button>
            ),
          },
        ]),
  ];
}

const callerTitles = SOURCES.callerColumns;
const callerColumns: readonly Column<RecentCaller>[] = [
  { title: callerTitles.address, cell: ({ address }) => <code>{address}</code> },
  { title: callerTitles.key, cell: ({ key }) => key.name },
  { title: callerTitles.at, cell: ({ at }) => <Moment at={at} /> },
  {
    title: callerTitles.now,
    cell: ({ allowed }) =>
      allowed ? (
        <Status tone="good" icon="good" word={SOURCES.allowed} />
      ) : (
        <Status tone="warn" icon="warn" word={SOURCES.refused} />
      ),
  },
];
