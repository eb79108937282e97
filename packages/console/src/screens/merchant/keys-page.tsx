/** API keys, their scopes, and the actions on them. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import type { ApiKeyShape, ChangeKey, KeySecret } from '../../../../../src/modules/console/data-shapes.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { RenameDialog } from '../../parts/rename-dialog.js';
import { SecretOnce } from '../../parts/secret-once.js';
import { Icon } from '../../parts/icons.js';
import { usdExact } from '../../format/money.js';
import { useProject } from '../../shell/project.js';
import { COMMON } from '../../text/common.js';
import { KEYS } from '../../text/keys.js';
import { NAV } from '../../text/nav.js';
import { MakeKeyDialog } from './make-key.js';
import { RevokeDialog } from './revoke-key.js';
import { RotateDialog } from './rotate-key.js';
import { IntegrationNav } from '../../shell/subnav.js';

type Doing = { readonly what: 'rename' | 'rotate' | 'revoke'; readonly key: ApiKeyShape } | { readonly what: 'make' };

/** Same limit as in the console process. */
const NAME_MAX = 100;

interface Shown {
  readonly title: string;
  readonly secret: KeySecret;
  readonly isRotated: boolean;
}

export function KeysPage() {
  const { id, api, isOwner, membership } = useProject();
  const keys = useProjectData<{ readonly items: readonly ApiKeyShape[] }>('/keys');
  const [doing, setDoing] = useState<Doing>();
  const [shown, setShown] = useState<Shown>();
  const close = () => setDoing(undefined);
  const begin = (next: Doing) => {
    setDoing(next);
    // A rotation depends on the last use of the key, so it must be recent.
    if (next.what === 'rotate') void keys.refetch();
  };
  const showSecret = (title: string, secret: KeySecret, isRotated: boolean) => {
    setDoing(undefined);
    setShown({ title, secret, isRotated });
    void keys.refetch();
  };
  const rename = async (key: ApiKeyShape, name: string) => {
    const request: ChangeKey = { name };
    await post<ApiKeyShape>(`${api}/keys/${key.id}`, request);
    await keys.refetch();
  };
  return (
    <Page
      title={NAV.keys}
      lead={KEYS.lead}
      above={<IntegrationNav />}
      actions={isOwner && <Button onClick={() => setDoing({ what: 'make' })}>{KEYS.make.button}</Button>}
    >
      {!isOwner && <Notice tone="info">{membership === undefined ? KEYS.ofOwners : KEYS.readOnly}</Notice>}
      <Section title={KEYS.merchantId} note={KEYS.merchantIdNote}>
        <Groups text={id} name={KEYS.merchantId} size={4} />
      </Section>
      <Section title={KEYS.list} note={keys.data && KEYS.listNote(keys.data.items.length)}>
        <Loaded query={keys}>
          {({ items }) => (
            <Lines caption={KEYS.caption} columns={columns(isOwner, begin)} items={items} keyOf={(key) => key.id} />
          )}
        </Loaded>
      </Section>
      {doing?.what === 'make' && (
        <MakeKeyDialog onClose={close} onMade={(made) => showSecret(KEYS.make.done(made.key.name), made, false)} />
      )}
      {doing?.what === 'rename' && (
        <RenameDialog
          title={KEYS.rename.title(doing.key.name)}
          help={KEYS.make.nameHelp}
          name={doing.key.name}
          maxLength={NAME_MAX}
          save={(name) => rename(doing.key, name)}
          onClose={close}
        />
      )}
      {doing?.what === 'rotate' && (
        <RotateDialog
          apiKey={keys.data?.items.find(({ id: known }) => known === doing.key.id) ?? doing.key}
          onClose={close}
          onRotated={(made) => showSecret(KEYS.rotate.done(made.key.name), made, true)}
        />
      )}
      {doing?.what === 'revoke' && <RevokeDialog apiKey={doing.key} onClose={close} />}
      {shown !== undefined && (
        <SecretOnce title={shown.title} secret={shown.secret.secret} onDone={() => setShown(undefined)}>
          {shown.isRotated && <AfterRotation secret={shown.secret} />}
        </SecretOnce>
      )}
    </Page>
  );
}

function AfterRotation({ secret: { key } }: { readonly secret: KeySecret }) {
  const text = KEYS.rotate.steps;
  return (
    <div>
      <h3>{KEYS.rotate.next}</h3>
      <ol className="steps">
        <li>{text.put}</li>
        <li>{text.see}</li>
        <li>
          {key.previous_until === undefined ? (
            text.untilNow
          ) : (
            <>
              {text.until} <Moment at={key.previous_until} />
            </>
          )}
        </li>
      </ol>
    </div>
  );
}

function columns(isOwner: boolean, act: (doing: Doing) => void): Column<ApiKeyShape>[] {
  const titles = KEYS.columns;
  return [
    { title: titles.name, cell: (key) => <KeyName apiKey={key} /> },
    { title: titles.may, cell: (key) => key.scopes.map((scope) => KEYS.scopes[scope]).join(', ') },
    {
      title: titles.spent,
      cell: (key) => (
        <>
          <Amount credits={key.spent_today.credits} withoutCredits />
          <p className="dim one-line">
            {key.daily_cap === undefined ? KEYS.noCap : KEYS.cap(usdExact(key.daily_cap.credits))}
          </p>
        </>
      ),
      isFigure: true,
    },
    {
      title: titles.sources,
      cell: (key) => (key.allowed_sources.length === 0 ? KEYS.anySource : key.allowed_sources.join(', ')),
    },
    {
      title: titles.used,
      cell: (key) => (key.last_used_at === undefined ? KEYS.never : <Moment at={key.last_used_at} />),
    },
    ...(isOwner
      ? [
          {
            title: titles.acts,
            cell: (key: ApiKeyShape) => (
              <div className="row-acts">
                {key.is_console !== true && (
                  <>
                    <button type="button" className="link-button" onClick={() => act({ what: 'rename', key })}>
                      {COMMON.rename.button}
                      <span className="only-read"> {key.name}</span>
                    </button>
                    <button type="button" className="link-button" onClick={() => act({ what: 'rotate', key })}>
                      {KEYS.rotate.button}
                      <span className="only-read"> {key.name}</span>
                    </button>
                  </>
                )}
                <button type="button" className="link-button" onClick={() => act({ what: 'revoke', key })}>
                  {KEYS.revoke.button}
                  <span className="only-read"> {key.name}</span>
                </button>
              </div>
            ),
          },
        ]
      : []),
  ];
}

function KeyName({ apiKey }: { readonly apiKey: ApiKeyShape }) {
  return (
    <>
      <strong>{apiKey.name}</strong>
      {apiKey.is_primary && (
        <p className="dim">
          {KEYS.primary}. {KEYS.primaryNote}.
        </p>
      )}
      {apiKey.is_console === true && <p className="dim">{KEYS.consoleNote}</p>}
      {apiKey.previous_until !== undefined && (
        <p className="dim">
          <Icon name="wait" /> {KEYS.previousUntil} <Moment at={apiKey.previous_until} />
        </p>
      )}
    </>
  );
}
