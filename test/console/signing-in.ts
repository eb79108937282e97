// Sign-in, second factor, invitation and recovery in a real browser, by mouse and by keyboard alone.
import { codesOf, PASSWORD } from '../support/console/console-fixture.js';
import type { ConsoleCluster } from './cluster.js';
import { button, field, UserInput, password, View, type By } from './view.js';

export function signingIn(at: () => ConsoleCluster, see: (view: View) => View): void {
  describe.each<By>(['mouse', 'keyboard'])('by %s', (by) => {
    it('an invitation is accepted, a second factor is set up, and the console opens', async () => {
      const link = await at().invite('merchant', 'owner', `new-${by}@acme.example`, at().project.id);
      const view = see(await View.open(at(), link));
      const input = new UserInput(view.page, by);
      await view.heading('You are invited').waitFor();
      await view.page.getByText('To the project Acme payouts, as owner.').waitFor();
      expect(await view.axe()).toEqual([]);
      await input.type(password(view), PASSWORD);
      await input.press(button(view, 'Accept invitation'));
      await view.heading('Set up your second factor').waitFor();
      const secret = (await view.page.locator('.boxed .groups-text').innerText()).replaceAll(/\s/g, '');
      await input.type(field(view, 'Then enter the code that the app shows'), codesOf(secret)());
      await input.press(button(view, 'Confirm code'));
      await view.page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
      expect(await view.page.locator('.recovery-codes li').count()).toBe(10);
      expect(await view.axe()).toEqual([]);
      await input.tick(view.page.getByRole('checkbox', { name: 'I have stored them in a safe place' }));
      await input.press(button(view, 'Go to the console'));
      await view.page.getByRole('navigation', { name: 'Main' }).first().waitFor();
      expect(view.page.url()).not.toContain('#');
    });

    it('password and code sign in; a wrong password gets an explanation, and the input stays', async () => {
      const view = see(await View.open(at(), `${at().merchant}/`));
      const input = new UserInput(view.page, by);
      await view.heading('Sign in').waitFor();
      await input.type(field(view, 'E-mail address'), at().owner.email);
      await input.type(password(view), 'something else altogether');
      await input.press(button(view, 'Sign in'));
      const alert = view.page.getByRole('alert');
      expect(await alert.innerText()).toContain('The e-mail address or password is wrong.');
      expect(await field(view, 'E-mail address').inputValue()).toBe(at().owner.email);
      expect(await view.axe()).toEqual([]);
      await password(view).fill('');
      await input.type(password(view), PASSWORD);
      await input.press(button(view, 'Sign in'));
      await view.heading('Second factor').waitFor();
      await at().database.query(`UPDATE person SET totp_step = 0 WHERE email = $1`, [at().owner.email]);
      await input.type(field(view, 'Six-digit code'), codesOf(at().owner.secret)());
      await input.press(button(view, 'Continue'));
      await view.page.getByRole('navigation', { name: 'Main' }).first().waitFor();
    });
  });

  it('tells whose console it is before anybody has signed in', async () => {
    for (const [origin, audience] of [
      [at().merchant, 'for merchants'],
      [at().operator, 'for operators'],
    ] as const) {
      const view = see(await View.open(at(), `${origin}/`));
      await view.heading('Sign in').waitFor();
      expect(await view.page.getByRole('banner').innerText()).toMatch(new RegExp(`Energy console\\s*${audience}`));
      expect(await view.axe()).toEqual([]);
    }
  });

  it('a lost authenticator is replaced by a recovery code, which works once', async () => {
    const { email, recoveryCodes } = await at().signUp('merchant', 'owner', 'lost@acme.example', at().project.id);
    const recover = async (): Promise<View> => {
      const view = await View.open(at(), `${at().merchant}/`);
      await field(view, 'E-mail address').fill(email);
      await password(view).fill(PASSWORD);
      await button(view, 'Sign in').click();
      await button(view, 'I cannot use my authenticator').click();
      await field(view, 'One of your ten recovery codes').fill(recoveryCodes[0] ?? '');
      await button(view, 'Continue').click();
      return view;
    };
    const first = await recover();
    await first.page.getByRole('navigation', { name: 'Main' }).first().waitFor();
    await first.close();
    const view = see(await recover());
    await view.page.getByRole('alert').waitFor();
    expect(await view.heading('Second factor').count()).toBe(1);
  });

  it('a used invitation is explained, with a link to the sign-in', async () => {
    const view = see(await View.open(at(), `${at().merchant}/invitation#${'x'.repeat(43)}`));
    await view.heading('This invitation is no longer valid').waitFor();
    expect(await view.axe()).toEqual([]);
    await button(view, 'Go to sign-in').click();
    await view.heading('Sign in').waitFor();
  });

  it('offline, the sign-in tells so, and no input is lost', async () => {
    const view = see(await View.open(at(), `${at().merchant}/`));
    await field(view, 'E-mail address').fill(at().owner.email);
    await password(view).fill(PASSWORD);
    await view.offline(true);
    await button(view, 'Sign in').click();
    expect(await view.page.getByRole('alert').innerText()).toContain('You are offline, so nothing was sent.');
    await view.offline(false);
    await button(view, 'Sign in').click();
    await view.heading('Second factor').waitFor();
  });

  it('a session that ends elsewhere asks for the password above the open page, and keeps its input', async () => {
    const account = await at().signUp('merchant', 'member', 'away@acme.example', at().project.id);
    const view = see(await View.open(at(), `${at().merchant}/p/${at().project.id}/orders`, { account }));
    await view.heading('Orders').waitFor();
    await field(view, 'Receiver address').fill('TUnfinished');
    await at().database.query(
      `DELETE FROM console_session WHERE person_id = (SELECT id FROM person WHERE email = $1)`,
      [account.email],
    );
    const dialog = view.page.getByRole('dialog', { name: 'Sign in' });
    await dialog.waitFor();
    expect(await view.axe()).toEqual([]);
    await dialog.locator('input[type=password]').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await field(view, 'Receiver address').inputValue()).toBe('TUnfinished');
  });
}
