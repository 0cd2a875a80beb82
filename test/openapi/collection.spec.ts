import { startApp, type TestApp } from '../support/app';

describe('/collection.json', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const collection = async () => (await app.get('/collection.json', { key: '' })).json;

  it('has a request for each operation, without a key, and no secret', async () => {
    const { info, item, auth } = await collection();
    const { paths } = (await app.get('/openapi.json')).json;
    const names = Object.values<object>(paths).flatMap((each) =>
      Object.values<any>(each).map(({ summary }) => summary),
    );
    const requests = item.flatMap((folder: any) => folder.item);
    expect(requests).toHaveLength(names.length);
    expect(new Set(requests.map(({ name }: any) => name))).toEqual(new Set(names));
    expect(info.schema).toContain('/v2.1.0/');
    expect(auth.bearer[0].value).toBe('{{apiKey}}');
    expect(JSON.stringify(item)).not.toMatch(/ask_(live|test)_|Authorization/);
  });

  it('keeps ids exact, uses those of what it created, and removes at the end', async () => {
    const { item, variable } = await collection();
    const requests = new Map(
      item.flatMap((folder: any) => folder.item).map((each: any) => [each.name, each.request]),
    ) as Map<string, any>;
    expect(requests.get('Order an animal').body.raw).toBe('{\n  "petId": {{petId}}\n}');
    expect(requests.get('Create an account').body.raw).toContain('"name": "acme {{$timestamp}}"');
    expect(requests.get('Find animals by name').url.raw).toBe('{{baseUrl}}/pets/search?q=Rex');
    expect(item.at(-1).item.map(({ request }: any) => request.method)).toEqual(
      expect.arrayContaining(['DELETE']),
    );
    const keys = variable.map(({ key }: any) => key);
    expect(keys).toEqual(
      expect.arrayContaining(['baseUrl', 'apiKey', 'petId', 'orderId', 'account', 'keyId']),
    );
  });

  it.each([
    ['/v1', 'http://127.0.0.1:3000/v1'],
    ['https://api.example.com/store/v1', 'https://api.example.com/store/v1'],
  ])(
    'with PUBLIC_BASE_URL %s has the base URL %s, not that of the Host header',
    async (publicBaseUrl, expected) => {
      const other = await startApp({ publicBaseUrl, port: 3000 }, { beside: app });
      const { json } = await other.get('/collection.json', { headers: { host: 'evil.example' } });
      expect(json.variable[0]).toEqual({ key: 'baseUrl', value: expected });
      await other.close();
    },
  );
});
