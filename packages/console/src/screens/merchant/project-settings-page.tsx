import { Button, Checkbox, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ChangeProject, ProjectSettings } from '../../../../../src/modules/console/integration-shapes.js';
import { dollarsTyped, type TypedAmount } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { useSignedIn } from '../../api/session.js';
import { usd } from '../../format/money.js';
import { Choice } from '../../parts/choice.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { RenameDialog } from '../../parts/rename-dialog.js';
import { useProject } from '../../shell/project.js';
import { SettingsNav } from '../../shell/subnav.js';
import { COMMON } from '../../text/common.js';
import { NAV } from '../../text/nav.js';
import { PROJECT_SETTINGS } from '../../text/project-settings.js';
import { FreezeSection } from '../operator/freeze-section.js';
import { PurchaseCapSection } from './purchase-cap.js';

const text = PROJECT_SETTINGS;
const PATH = '/settings';
/** Same limit as in the console process. */
const NAME_MAX = 200;
const SCHEMES = ['either', 'hmac', 'md5'] as const;

export function ProjectSettingsPage() {
  const { id, isOwner } = useProject();
  const { audience, operator_role: role } = useSignedIn();
  const isAdmin = role === 'admin';
  const settings = useProjectData<ProjectSettings>(PATH);
  const mayChange = isOwner || isAdmin;
  return (
    <Page title={NAV.projectSettings} lead={text.lead} above={<SettingsNav />}>
      {!mayChange && <Notice tone="info">{text.readOnly}</Notice>}
      <Loaded query={settings} lines={8}>
        {(data) => (
          <>
            <Section title={text.project} note={text.ofOperator} actions={mayChange && <Rename name={data.name} />}>
              <Facts
                of={[
                  [text.name, data.name],
                  [text.merchantId, <Groups key="id" text={data.id} name={text.merchantId} size={8} />],
                  [text.terms, termsOf(data)],
                  [text.made, <Moment key="made" at={data.created_at} />],
                ]}
              />
            </Section>
            <Section title={text.options}>
              <Options settings={data} mayChange={mayChange} />
            </Section>
          </>
        )}
      </Loaded>
      {audience === 'merchant' && <PurchaseCapSection />}
      {audience === 'operator' && <FreezeSection id={id} />}
    </Page>
  );
}

function Rename({ name }: { readonly name: string }) {
  const { api } = useProject();
  const cache = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const save = async (wanted: string) => {
    const request: ChangeProject = { name: wanted };
    await post<ProjectSettings>(`${api}${PATH}`, request);
    // The name appears on many pages and in the navigation rail.
    await cache.invalidateQueries();
  };
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {COMMON.rename.button}
      </Button>
      {isOpen && (
        <RenameDialog
          title={text.rename}
          help={text.renameHelp}
          name={name}
          maxLength={NAME_MAX}
          save={save}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function termsOf({ is_postpaid: isPostpaid, debt_limit: limit }: ProjectSettings): string {
  if (!isPostpaid) return text.prepaid;
  return limit === undefined ? text.postpaid : text.postpaidTo(usd(limit.credits));
}

const dollarsOf = (amount: ProjectSettings['daily_cap']): string =>
  amount === undefined ? '' : usd(amount.credits).replaceAll(/[$,]/g, '');

/** Returns neither value nor fault if the field is unchanged, or empty for no limit. */
const limitTyped = (typed: string, before: string): TypedAmount =>
  typed.trim() === '' || typed === before ? {} : dollarsTyped(typed);

interface OptionsProps {
  readonly settings: ProjectSettings;
  readonly mayChange: boolean;
}

function Options({ settings, mayChange }: OptionsProps) {
  const { id, api } = useProject();
  const cache = useQueryClient();
  const [schemes, setSchemes] = useState(settings.signature_schemes);
  const [needsKey, setNeedsKey] = useState(settings.require_idempotency_key);
  const [needsQuote, setNeedsQuote] = useState(settings.require_quote);
  const [cap, setCap] = useState(dollarsOf(settings.daily_cap));
  const [low, setLow] = useState(dollarsOf(settings.low_balance));
  const [isSaved, setSaved] = useState(false);
  const { value: capCredits, fault: capFault } = limitTyped(cap, dollarsOf(settings.daily_cap));
  const { value: lowCredits, fault: lowFault } = limitTyped(low, dollarsOf(settings.low_balance));
  const isReady = mayChange && capFault === undefined && lowFault === undefined;
  const act = useAct(async () => {
    if (!isReady) return;
    setSaved(false);
    const capText = dollarsOf(settings.daily_cap);
    const lowText = dollarsOf(settings.low_balance);
    // Sends changed fields only: another person may have changed the others meanwhile.
    const request: ChangeProject = {
      ...(schemes !== settings.signature_schemes && { signature_schemes: schemes }),
      ...(needsKey !== settings.require_idempotency_key && { require_idempotency_key: needsKey }),
      ...(needsQuote !== settings.require_quote && { require_quote: needsQuote }),
      ...(cap !== capText &&
        (capCredits === undefined ? { no_daily_cap: true } : { daily_cap_credits: toJsonInteger(capCredits) })),
      ...(low !== lowText &&
        (lowCredits === undefined ? { no_low_balance: true } : { low_balance_credits: toJsonInteger(lowCredits) })),
    };
    await post<ProjectSettings>(`${api}${PATH}`, request);
    setSaved(true);
    await cache.invalidateQueries({ queryKey: ['project', id] });
  });
  return (
    <Form
      act={act}
      submit={text.save}
      isReady={isReady}
      beside={<div role="status">{isSaved && <Notice tone="good">{text.saved}</Notice>}</div>}
    >
      <fieldset disabled={!mayChange}>
        <legend>{text.schemes}</legend>
        {SCHEMES.map((each) => (
          <Choice
            key={each}
            name="schemes"
            word={text.scheme[each][0]}
            note={text.scheme[each][1]}
            isChosen={schemes === each}
            onChoose={() => setSchemes(each)}
          />
        ))}
      </fieldset>
      <fieldset disabled={!mayChange}>
        <legend>{text.requests}</legend>
        <Checkbox
          label={text.requireKey}
          checked={needsKey}
          onChange={(event) => setNeedsKey(event.currentTarget.checked)}
        />
        <Checkbox
          label={text.requireQuote}
          checked={needsQuote}
          onChange={(event) => setNeedsQuote(event.currentTarget.checked)}
        />
      </fieldset>
      <fieldset disabled={!mayChange}>
        <legend>{text.limits}</legend>
        <TextInput
          label={text.cap}
          description={text.capHelp}
          inputMode="decimal"
          autoComplete="off"
          value={cap}
          error={capFault}
          onChange={(event) => setCap(event.currentTarget.value)}
        />
        <TextInput
          label={text.low}
          description={text.lowHelp}
          inputMode="decimal"
          autoComplete="off"
          value={low}
          error={lowFault}
          onChange={(event) => setLow(event.currentTarget.value)}
        />
      </fieldset>
    </Form>
  );
}
