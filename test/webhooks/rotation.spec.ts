import { createHmac } from 'node:crypto';
import type { GivenConfig } from '../../src/app/build';
import { startApp, type TestApp } from '../support/app';
import { createWebhook, type Receiver, startReceiver } from './support/receivers';

const SETTINGS: GivenConfig = { webhooksAllowPrivate: true };
const HOUR = 3_600;

describe('deliveries after rotations', () => {
  let app: TestApp;
  let receiver: Receiver;
  beforeAll(async () => {
    app = await startApp(SETTINGS);
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await receiver.close();
    await app.close();
  });

  it('are signed with each replaced secret until its own graceSeconds end', async () => {
    const { secret, path } = await createWebhook(app, { url: receiver.url });
    const rotate = async (body?: object) => (await app.post(`${path}/rotate`, body)).json.secret as string;
    const secrets = [secret, await rotate()];
    app.clock.advance({ seconds: HOUR });
    secrets.push(
      await rotate({ graceSeconds: 2 * HOUR }),
      await rotate({ graceSeconds: 0 }),
      await rotate({}),
    );
    const signing = async (seconds: number) => {
      app.clock.advance({ seconds });
      await app.post(`${path}/test`, undefined);
      const delivery = receiver.deliveries.at(-1)!;
      return secrets.flatMap((each, at) => {
        const [, bytes = ''] = each.split('_');
        const message = `${delivery.id}.${delivery.headers['webhook-timestamp']}.${delivery.body}`;
        const digest = createHmac('sha256', Buffer.from(bytes, 'base64')).update(message).digest('base64');
        return delivery.headers['webhook-signature']!.split(' ').includes(`v1,${digest}`) ? at : [];
      });
    };
    expect([
      await signing(0),
      await signing(2 * HOUR),
      await signing(21 * HOUR),
      await signing(HOUR),
    ]).toEqual([[0, 1, 3, 4], [0, 3, 4], [3, 4], [4]]);
    for (let count = 0; count < 12; count += 1) secrets.push(await rotate());
    expect(await signing(0)).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
  });
});
