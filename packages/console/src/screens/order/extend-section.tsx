/** Extension of a running rental by a program: its current cost, and the request that buys it. */
import { TextInput } from '@mantine/core';
import { useState } from 'react';
import type { PlaygroundExtension, TryExtension } from '../../../../../src/modules/console/integration-shapes.js';
import { wholeTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { assetText } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Amount } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Section } from '../../parts/page.js';
import { RequestSnippets } from '../../parts/request-snippets.js';
import { useProject } from '../../shell/project.js';
import { ORDER } from '../../text/orders.js';
import { PLAYGROUND } from '../../text/playground.js';

const text = ORDER.extend;
const HOUR_SEC = 3600n;
const HOURS_MAX = 8760n;

export function ExtendSection({ orderKey }: { readonly orderKey: string }) {
  const { api } = useProject();
  const [hours, setHours] = useState('1');
  const [priced, setPriced] = useState<PlaygroundExtension>();
  const typed = wholeTyped(hours).value;
  const time = typed === undefined || typed === 0n || typed > HOURS_MAX ? undefined : typed;
  const act = useAct(async () => {
    if (time === undefined) return;
    setPriced(undefined);
    const request: TryExtension = { order: orderKey, duration_sec: toJsonInteger(time * HOUR_SEC) };
    setPriced(await post<PlaygroundExtension>(`${api}/playground/extension`, request));
  });
  return (
    <Section id="extend" isSecondary title={text.title} note={text.note}>
      <Form act={act} submit={text.show} isReady={time !== undefined}>
        <TextInput
          label={text.hours}
          inputMode="numeric"
          autoComplete="off"
          value={hours}
          error={hours !== '' && time === undefined && PLAYGROUND.hoursBad}
          onChange={(event) => setHours(event.currentTarget.value)}
        />
      </Form>
      <div role="status">
        {priced !== undefined && (
          <p>
            {text.costs(span(priced.duration_sec))} <Amount credits={priced.price.credits} />{' '}
            <span className="dim">{assetText(priced.price_trx, 'TRX')}</span>
          </p>
        )}
      </div>
      {priced !== undefined && <RequestSnippets call={priced} />}
    </Section>
  );
}
