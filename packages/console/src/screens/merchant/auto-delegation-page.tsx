/** One auto-delegated address: its state, settings and cost, and the actions of project owners. */
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type {
  KeepingPreview,
  OneAutoDelegation,
  SetCap,
} from '../../../../../src/modules/console/integration-shapes.js';
import { dollarsTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { useArrivals } from '../../api/arrivals.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { grouped, usdExact } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Dialog } from '../../parts/dialog.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { ActFailure, Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { TypeToConfirm } from '../../parts/type-to-confirm.js';
import { pathOf, useProject } from '../../shell/project.js';
import { AUTO } from '../../text/auto-delegation.js';
import { COMMON } from '../../text/common.js';
import { PURCHASE } from '../../text/purchases.js';
import { newFormKey } from '../purchase/form-key.js';
import { AutoNext, AutoStatus, isStopped, reasonOf } from './auto-delegation-state.js';
import { CapField } from './cap-field.js';
import { Costs, SetDialog } from './set-auto-delegation.js';

const text = AUTO.one;
const EVERY_MS = 10_000;

export function AutoDelegationPage({ address }: { readonly address: string }) {
  const { id, isOwner } = useProject();
  useArrivals(id);
  const auto = useProjectData<OneAutoDelegation>(`/auto-delegations/${encodeURIComponent(address)}`, {
    everyMs: EVERY_MS,
  });
  return (
    <Page
      title={text.title}
      above={
        <p>
          <Link href={pathOf(id, '/auto-delegation')} className="crumb">
            ← {text.back}
          </Link>
        </p>
      }
      lead={<Groups text={address} name={AUTO.form.address} />}
    >
      <Loaded query={auto} lines={8}>
        {(data) => (
          <>
            {isOwner && <Acts of={data} />}
            <State of={data} />
            <Terms of={data} />
            <Money of={data} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function State({ of }: { readonly of: OneAutoDelegation }) {
  const { id } = useProject();
  const reason = reasonOf(of);
  const { usable_energy: usable, checked_at: read, used_at: used } = of;
  return (
    <Section title={text.state}>
      {reason !== undefined && (
        <Notice tone="warn" title={AUTO.why.title}>
          <p>{reason}</p>
          {of.pause !== undefined && (
            <p className="dim">
              {AUTO.why.since} <Moment at={of.pause.since} />
            </p>
          )}
        </Notice>
      )}
      <Facts
        of={[
          [text.state, <AutoStatus key="state" of={of} />],
          [AUTO.columns.next, <AutoNext key="next" of={of} />],
          [
            text.usable,
            usable === undefined ? text.notRead : text.usableText(grouped(usable), grouped(of.keep_energy)),
          ],
          [text.read, read === undefined ? undefined : <Moment at={read} />],
          [text.used, used === undefined ? text.notUsed : <Moment at={used} clock="chain" />],
        ]}
      />
      <p>
        <Link href={pathOf(id, `/orders?receiver=${of.address}`)}>{text.orders}</Link>
      </p>
    </Section>
  );
}

function Transfer({ of, to }: { readonly of: OneAutoDelegation; readonly to: string }) {
  const { transfer_energy: energy } = of;
  return (
    <>
      <Groups text={to} name={text.transfer} />
      {energy !== undefined && <p className="dim">{text.transferEnergy(grouped(energy))}</p>}
    </>
  );
}

function Terms({ of }: { readonly of: OneAutoDelegation }) {
  const { max_sun_per_energy: most, until } = of;
  return (
    <Section title={text.terms}>
      <Facts
        of={[
          [text.keep, AUTO.energyOf(grouped(of.keep_energy))],
          [text.refill, AUTO.energyOf(grouped(of.refill_below))],
          [
            text.transfer,
            of.transfer_to === undefined ? undefined : <Transfer key="transfer" of={of} to={of.transfer_to} />,
          ],
          [text.duration, span(of.duration_sec)],
          [text.sleep, span(of.idle_after_sec)],
          [text.most, most === undefined ? text.anyPrice : text.mostText(grouped(most))],
          [text.until, until === undefined ? text.endless : <Moment at={until} clock="chain" />],
          [text.changed, <Moment key="changed" at={of.changed_at} />],
        ]}
      />
    </Section>
  );
}

function Money({ of }: { readonly of: OneAutoDelegation }) {
  const { costs, key } = of;
  return (
    <Section title={text.money}>
      <Facts
        of={[
          [text.today, <Amount key="today" credits={of.spent_today.credits} />],
          [text.cap, isStopped(of) ? AUTO.states.stopped : <Amount credits={of.daily_cap.credits} />],
          [text.idle, costs === undefined ? text.costsUnknown : text.idleText(usdExact(costs.idle_per_day.credits))],
          [text.perRefill, costs === undefined ? undefined : <Amount credits={costs.per_refill.credits} />],
          [text.purchases, grouped(of.purchases)],
          [text.key, key.revoked ? `${key.name} (${text.revoked})` : key.name],
        ]}
      />
    </Section>
  );
}

type Opened = 'change' | 'resume' | 'remove';

function Acts({ of }: { readonly of: OneAutoDelegation }) {
  const { id, api } = useProject();
  const cache = useQueryClient();
  const [opened, open] = useState<Opened>();
  const [done, setDone] = useState('');
  const [, go] = useLocation();
  const path = `${api}/auto-delegations/${of.address}`;
  const keep = (set: OneAutoDelegation, words: string) => {
    cache.setQueryData(['project', id, `/auto-delegations/${of.address}`], set);
    open(undefined);
    setDone(words);
  };
  const words = AUTO.acts;
  const pause = useAct(async () => {
    const none: SetCap = { daily_cap_credits: 0 };
    keep(await post<OneAutoDelegation>(`${path}/cap`, none), words.done.pause);
  });
  const wake = useAct(async () => keep(await post<OneAutoDelegation>(`${path}/wake`), words.done.wake));
  const close = () => open(undefined);
  return (
    <>
      <div className="acts">
        <Button variant="default" onClick={() => open('change')}>
          {words.change}
        </Button>
        {isStopped(of) ? (
          <Button onClick={() => open('resume')}>{words.resume}</Button>
        ) : (
          <>
            <Button variant="default" loading={pause.isUnderWay} onClick={() => pause.run()}>
              {words.pause}
            </Button>
            <Button variant="default" loading={wake.isUnderWay} onClick={() => wake.run()}>
              {words.wake}
            </Button>
          </>
        )}
        <Button variant="default" onClick={() => go(pathOf(id, `/orders?receiver=${of.address}&buy=${newFormKey()}`))}>
          {PURCHASE.button}
        </Button>
        <Button variant="default" onClick={() => open('remove')}>
          {words.remove}
        </Button>
      </div>
      <ActFailure failure={pause.failure ?? wake.failure} />
      <div role="status">{done !== '' && <Notice tone="good">{done}</Notice>}</div>
      {opened === 'change' && <SetDialog present={of} onClose={close} onSet={(set) => keep(set, words.done.set)} />}
      {opened === 'resume' && <ResumeDialog of={of} onClose={close} onSet={(set) => keep(set, words.done.set)} />}
      {opened === 'remove' && <RemoveDialog address={of.address} onClose={close} />}
    </>
  );
}

interface ResumeProps {
  readonly of: OneAutoDelegation;
  readonly onClose: () => void;
  readonly onSet: (set: OneAutoDelegation) => void;
}

/** Asks for a cap, shows its effect, and resumes the auto-delegation. */
function ResumeDialog({ of, onClose, onSet }: ResumeProps) {
  const { api } = useProject();
  const [typed, setTyped] = useState('');
  const [preview, setPreview] = useState<KeepingPreview>();
  const cap = dollarsTyped(typed).value;
  const act = useAct(async () => {
    if (cap === undefined) return;
    const request: SetCap = { daily_cap_credits: toJsonInteger(cap) };
    if (preview === undefined) {
      const { keep_energy, refill_below, duration_sec } = of;
      const terms = { keep_energy, refill_below, duration_sec, ...request };
      setPreview(await post<KeepingPreview>(`${api}/auto-delegations/preview`, terms));
    } else onSet(await post<OneAutoDelegation>(`${api}/auto-delegations/${of.address}/cap`, request));
  });
  return (
    <Dialog title={preview === undefined ? AUTO.resume.title : AUTO.confirm.title} onClose={onClose}>
      {preview === undefined ? <p>{AUTO.resume.lead}</p> : <Costs preview={preview} />}
      <Form
        act={act}
        submit={preview === undefined ? AUTO.form.show : AUTO.acts.resume}
        isReady={cap !== undefined && cap > 0n}
        beside={
          <Button variant="default" onClick={preview === undefined ? onClose : () => setPreview(undefined)}>
            {preview === undefined ? COMMON.cancel : COMMON.back}
          </Button>
        }
      >
        {preview === undefined && <CapField value={typed} onType={setTyped} isFirst />}
      </Form>
    </Dialog>
  );
}

function RemoveDialog({ address, onClose }: { readonly address: string; readonly onClose: () => void }) {
  const { id, api } = useProject();
  const cache = useQueryClient();
  const [, go] = useLocation();
  const act = useAct(async () => {
    await post(`${api}/auto-delegations/${address}/delete`);
    await cache.invalidateQueries({ queryKey: ['project', id] });
    go(pathOf(id, '/auto-delegation'));
  });
  return (
    <TypeToConfirm
      title={AUTO.remove.title}
      name={address.slice(-4)}
      submit={AUTO.remove.submit}
      act={act}
      onClose={onClose}
    >
      <p>
        <Groups text={address} name={AUTO.form.address} withoutCopy />
      </p>
      <p>{AUTO.remove.lead}</p>
    </TypeToConfirm>
  );
}
