/** Quotes and simulations without a key, and the matching requests for the merchant's own server. */
import { TextInput } from '@mantine/core';
import { useState } from 'react';
import type {
  PlaygroundCall,
  PlaygroundQuote,
  TryQuote,
} from '../../../../../src/modules/console/integration-shapes.js';
import { wholeTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { assetText, grouped, rateText } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Choice } from '../../parts/choice.js';
import { Amount } from '../../parts/figures.js';
import { Form } from '../../parts/form.js';
import { Facts } from '../../parts/lines.js';
import { Page, Section } from '../../parts/page.js';
import { RequestSnippets } from '../../parts/request-snippets.js';
import { useProject } from '../../shell/project.js';
import { IntegrationNav } from '../../shell/subnav.js';
import { NAV } from '../../text/nav.js';
import { PLAYGROUND } from '../../text/playground.js';

const text = PLAYGROUND;
const HOUR_SEC = 3600n;
const HOURS_MAX = 8760n;

export function PlaygroundPage() {
  const [isQuote, setQuote] = useState(true);
  return (
    <Page title={NAV.playground} lead={text.lead} above={<IntegrationNav />}>
      <fieldset className="choices">
        <legend>{text.what}</legend>
        <Choice
          name="what"
          word={text.quote}
          note={text.quoteNote}
          isChosen={isQuote}
          onChoose={() => setQuote(true)}
        />
        <Choice
          name="what"
          word={text.simulation}
          note={text.simulationNote}
          isChosen={!isQuote}
          onChoose={() => setQuote(false)}
        />
      </fieldset>
      {isQuote ? <Quote /> : <Simulation />}
    </Page>
  );
}

function Quote() {
  const { api } = useProject();
  const [receiver, setReceiver] = useState('');
  const [energy, setEnergy] = useState('65 000');
  const [hours, setHours] = useState('1');
  const [quote, setQuote] = useState<PlaygroundQuote>();
  const { value: amount, fault: energyFault } = wholeTyped(energy);
  const time = hoursTyped(hours);
  const act = useAct(async () => {
    if (amount === undefined || time === undefined) return;
    const request: TryQuote = {
      receive_address: receiver.trim(),
      energy: toJsonInteger(amount),
      duration_sec: toJsonInteger(time * HOUR_SEC),
    };
    setQuote(undefined);
    setQuote(await post<PlaygroundQuote>(`${api}/playground/quote`, request));
  });
  return (
    <>
      <Section title={text.quote}>
        <Form
          act={act}
          submit={text.show}
          isReady={receiver.trim() !== '' && amount !== undefined && time !== undefined}
        >
          <Typed label={text.receiver} help={text.receiverHelp} value={receiver} onType={setReceiver} />
          <Typed
            label={text.energy}
            help={text.energyHelp}
            value={energy}
            onType={setEnergy}
            error={energy !== '' && energyFault !== undefined && energyFault}
          />
          <Typed
            label={text.hours}
            value={hours}
            onType={setHours}
            error={hours !== '' && time === undefined && text.hoursBad}
          />
        </Form>
      </Section>
      <div role="status">{quote !== undefined && <Price quote={quote} />}</div>
      {quote !== undefined && <Request call={quote} />}
    </>
  );
}

function hoursTyped(typed: string): bigint | undefined {
  const hours = wholeTyped(typed).value;
  return hours === undefined || hours === 0n || hours > HOURS_MAX ? undefined : hours;
}

function Price({ quote }: { readonly quote: PlaygroundQuote }) {
  const both = (trx: string, credits: number) => (
    <>
      <Amount credits={credits} withoutCredits /> <span className="dim">{assetText(trx, 'TRX')}</span>
    </>
  );
  return (
    <Section title={text.result} note={text.resultNote}>
      <p>{text.of(grouped(quote.energy), span(quote.duration_sec))}</p>
      <Facts
        of={[
          [text.price, both(quote.price_trx, quote.price.credits)],
          [text.burning, both(quote.burning_trx, quote.burning.credits)],
          [text.saving, both(quote.saving_trx, quote.saving.credits)],
          [text.rate, text.rateText(rateText(quote.trx_usd))],
        ]}
      />
    </Section>
  );
}

function Simulation() {
  const { api } = useProject();
  const [owner, setOwner] = useState('');
  const [contract, setContract] = useState('');
  const [selector, setSelector] = useState('transfer(address,uint256)');
  const [parameter, setParameter] = useState('');
  const [call, setCall] = useState<PlaygroundCall>();
  const act = useAct(async () => {
    const request = {
      owner_address: owner.trim(),
      contract_address: contract.trim(),
      function_selector: selector.trim(),
      ...(parameter.trim() !== '' && { parameter: parameter.trim() }),
    };
    setCall(undefined);
    setCall(await post<PlaygroundCall>(`${api}/playground/simulation`, request));
  });
  const isReady = [owner, contract, selector].every((each) => each.trim() !== '');
  return (
    <>
      <Section title={text.simulation}>
        <Form act={act} submit={text.build} isReady={isReady}>
          <Typed label={text.owner} value={owner} onType={setOwner} />
          <Typed label={text.contract} value={contract} onType={setContract} />
          <Typed label={text.selector} help={text.selectorHelp} value={selector} onType={setSelector} />
          <Typed label={text.parameter} value={parameter} onType={setParameter} />
        </Form>
      </Section>
      {call !== undefined && <Request call={call} />}
    </>
  );
}

interface TypedProps {
  readonly label: string;
  readonly help?: string;
  readonly value: string;
  readonly onType: (value: string) => void;
  readonly error?: string | false;
}

function Typed({ label, help, value, onType, error = false }: TypedProps) {
  return (
    <TextInput
      label={label}
      {...(help !== undefined && { description: help })}
      autoComplete="off"
      spellCheck={false}
      value={value}
      error={error}
      onChange={(event) => onType(event.currentTarget.value)}
    />
  );
}

function Request({ call }: { readonly call: PlaygroundCall }) {
  return (
    <Section title={text.request} note={text.requestNote}>
      <RequestSnippets call={call} />
    </Section>
  );
}
