/** The daily cap of purchases in the console: without one, nothing can be bought here. */
import { TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { PurchaseTerms, SetPurchaseCap } from '../../../../../src/modules/console/purchase-shapes.js';
import { dollarsText, dollarsTyped, type TypedAmount } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { usd } from '../../format/money.js';
import { Form } from '../../parts/form.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Section } from '../../parts/page.js';
import { useProject } from '../../shell/project.js';
import { PURCHASE } from '../../text/purchases.js';

const text = PURCHASE.cap;
const PATH = '/purchases';

export function PurchaseCapSection() {
  const terms = useProjectData<PurchaseTerms>(PATH);
  return (
    <Section id="purchases" title={text.title} note={text.note}>
      <Loaded query={terms} lines={2}>
        {({ cap }) => (
          <>
            <p>{cap === undefined ? text.none : text.now(usd(cap.daily.credits), usd(cap.left.credits))}</p>
            <CapForm before={cap === undefined ? '' : dollarsText(BigInt(cap.daily.credits))} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

const capTyped = (typed: string): TypedAmount => (typed.trim() === '' ? {} : dollarsTyped(typed));

function CapForm({ before }: { readonly before: string }) {
  const { id, api, isOwner } = useProject();
  const cache = useQueryClient();
  const [typed, setTyped] = useState(before);
  const [isSaved, setSaved] = useState(false);
  const { value, fault } = capTyped(typed);
  const act = useAct(async () => {
    setSaved(false);
    const request: SetPurchaseCap = value === undefined ? {} : { daily_cap_credits: toJsonInteger(value) };
    cache.setQueryData(['project', id, PATH], await post<PurchaseTerms>(`${api}${PATH}/cap`, request));
    setSaved(true);
  });
  if (!isOwner) return null;
  return (
    <Form
      act={act}
      submit={text.save}
      isReady={fault === undefined && typed.trim() !== before}
      beside={<div role="status">{isSaved && <Notice tone="good">{text.saved}</Notice>}</div>}
    >
      <TextInput
        label={text.label}
        description={text.help}
        inputMode="decimal"
        autoComplete="off"
        value={typed}
        error={fault}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </Form>
  );
}
