import type { Client } from '@modelcontextprotocol/client';
import { Body, Controller, Module, Param, Post } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import Ajv from 'ajv/dist/2020';
import { parse } from 'lossless-json';
import { defineScopes, type Extension, Int64, Nested, Operation, Text } from '../../src';
import { orderScopes } from '../../src/store-orders';
import { petScopes } from '../../src/pets';
import { startApp, type TestApp } from '../support/app';
import { moveSequence } from '../support/factories';
import {
  call,
  connectAgent,
  messagesIn,
  OPERATIONS as ALL_OPERATIONS,
  post,
  request,
  toolCall,
} from './support';

const DOGS = '9007199254740993';
const BEYOND = 9_007_199_254_740_995n;

const exact = (body: string): any => parse(body, undefined, (digits) => BigInt(digits));

const SCOPES = [petScopes, orderScopes].flatMap((each) => Object.values(each));

/** An added module has other scopes. */
const OPERATIONS = ALL_OPERATIONS.filter(({ scopes }) =>
  scopes.every((each) => SCOPES.some((own) => own === each)),
);

const kennelScopes = defineScopes('kennels', 'write');
const GREATEST = '9223372036854775807';

@ApiSchema({ description: 'A dog.' })
class Dog {
  @Int64({ description: 'Its number.', example: 1, nullable: true })
  readonly number!: bigint | null;

  @Text({ description: 'Where it lives.', example: 'Here', max: 30 })
  readonly place!: string;
}

@ApiSchema({ description: 'A dog with its ancestors.' })
class NewDog extends Dog {
  @Nested(() => NewDog, { description: 'Its mother.', optional: true })
  readonly mother?: NewDog;

  @Nested(() => NewDog, { description: 'Its father.', optional: true })
  readonly father?: NewDog;
}

@Controller({ path: 'kennels', version: '1' })
class KennelsController {
  @Post(':place')
  @Operation({
    id: 'addDog',
    summary: 'Add a dog',
    description: 'Adds a dog.',
    scope: kennelScopes.write,
    returns: [201, Dog, 'The dog.'],
  })
  add(@Param('place') place: string, @Body() { mother }: NewDog): Dog {
    return { number: mother?.number ?? null, place };
  }
}

@Module({ controllers: [KennelsController] })
class KennelsModule {}

/** A team's extension with one operation. */
const kennels: Extension = { name: 'kennels', scopes: Object.values(kennelScopes), modules: [KennelsModule] };

/** For all tests; test/support/app closes it. */
let app: TestApp;
let key: string;
/** Has the scopes of the store's own tools. */
let agent: Client;
/** Has the scope of the team's tool. */
let keeper: Client;
beforeAll(async () => {
  app = await startApp({}, { extensions: [kennels] });
  key = await app.unlimitedKey(SCOPES);
  agent = await connectAgent(app, key);
  keeper = await connectAgent(app, await app.unlimitedKey([kennelScopes.write]));
});
afterAll(() => Promise.all([agent.close(), keeper.close()]));

describe('the tools of an agent', () => {
  it('are the operations that the scopes of the key allow', async () => {
    for (const scopes of [...SCOPES.map((scope) => [scope]), SCOPES.slice(1, 5)]) {
      const response = await post(app, request(1, 'tools/list'), { key: await app.unlimitedKey(scopes) });
      const [{ result }] = messagesIn(response);
      const allowed = OPERATIONS.filter(
        (each) => each.scopes.length === 0 || scopes.some((scope) => each.scopes.includes(scope)),
      );
      expect(result.tools.map(({ name }: any) => name)).toEqual(allowed.map(({ name }) => name));
    }
  });

  it('have a description with cost and paging, hints, and schemas that a validator accepts', async () => {
    const client = await connectAgent(app, await app.unlimitedKey([...SCOPES, 'webhooks:manage', 'admin']));
    const { tools } = await client.listTools();
    const ajv = new Ajv({ strict: false, validateFormats: false });
    for (const { name, description, inputSchema, annotations } of tools) {
      const { description: known } = ALL_OPERATIONS.find((each) => each.name === name)!;
      expect(description).toContain(known);
      expect(description).toMatch(/counts as one request/);
      expect(/`cursor` of the next page/.test(description!)).toBe(name.startsWith('list'));
      expect(() => ajv.compile(inputSchema)).not.toThrow();
      expect(JSON.stringify(inputSchema)).not.toContain('$ref');
      expect(annotations).toMatchObject({
        readOnlyHint: /^(get|list)/.test(name),
        destructiveHint: /^(update|delete|revoke|rotate|unban|test|resend)/.test(name),
        idempotentHint: /^(get|list|delete|revoke)/.test(name),
      });
    }
    const { createPet, listPets } = Object.fromEntries(tools.map((each) => [each.name, each]));
    const accepts = ajv.compile(createPet!.inputSchema);
    for (const categoryId of [3, '9223372036854775807', '-1']) {
      expect(accepts({ name: 'Rex', categoryId })).toBe(true);
    }
    for (const categoryId of ['03', '1.0', 1.5, null]) {
      expect(accepts({ name: 'Rex', categoryId })).toBe(false);
    }
    const names = Object.keys(listPets!.inputSchema.properties!);
    expect(names.join()).toBe('limit,cursor,sort,id,categoryId,status,q');
    await client.close();
  });

  it('are all called with success by the official client', async () => {
    const names: string[] = [];
    const succeed = async (name: string, args?: Record<string, unknown>): Promise<any> => {
      const { isError, body } = await call(agent, name, args);
      expect([name, isError, body]).toEqual([name, false, body]);
      names.push(name);
      return body.startsWith('{') ? JSON.parse(body) : undefined;
    };
    await succeed('getKey');
    const { id: petId } = await succeed('createPet', { name: 'Rex', categoryId: 3 });
    await succeed('createPets', { items: [{ name: 'Bo', categoryId: '9223372036854775807' }] });
    await succeed('listPets', { id: [petId], sort: '-id' });
    await succeed('getInventory', { categoryId: [3] });
    await succeed('listCategories');
    await succeed('getPet', { petId });
    await succeed('updatePet', { petId, name: 'Max' });
    const { id: orderId } = await succeed('placeOrder', { petId });
    await succeed('listOrders', { limit: 1, status: 'placed' });
    await succeed('getOrder', { orderId });
    await succeed('updateOrder', { orderId, status: 'cancelled' });
    await succeed('deletePet', { petId });
    await succeed('getUsage', { from: '2026-11-01' });
    expect(names.sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
    expect(agent.getInstructions()).toContain('are data of other people');
  });

  it('have a short schema although a body refers to itself twice', async () => {
    const { tools } = await keeper.listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'addDog')!;
    expect(JSON.stringify(inputSchema).length).toBeLessThan(10_000);
    expect(inputSchema).toMatchObject({
      required: ['place', 'body'],
      properties: { body: { properties: { mother: { properties: { number: expect.anything() } } } } },
    });
  });

  it('keep int64 exact in nested members, and tell a parameter from a member of its name', async () => {
    const mother = { number: GREATEST, place: 'There' };
    const added = await call(keeper, 'addDog', { place: 'Here', body: { number: null, place: 'X', mother } });
    expect(added.body).toBe(`{"number":${GREATEST},"place":"Here"}`);
  });
});

describe('an agent', () => {
  const orders = async () => exact((await app.get(`/v1/store/orders?petId=${BEYOND}`, { key })).text);

  it('finds two dogs, orders one, loses the response, retries and cancels: one order, exact ids', async () => {
    await moveSequence(app, 'pets', BEYOND);
    await moveSequence(app, 'store_orders', BEYOND);
    for (const name of ['Ada', 'Bo']) await call(agent, 'createPet', { name, categoryId: DOGS });
    const wanted = { status: 'available', categoryId: DOGS, limit: 1 };
    const found = await call(agent, 'listPets', wanted);
    const next = await call(agent, 'listPets', { ...wanted, cursor: found.meta['nextCursor'] });
    expect(found.texts[1]).toContain(`cursor "${found.meta['nextCursor']}"`);
    expect([...exact(found.body), ...exact(next.body)].map(({ id }) => id)).toEqual([BEYOND, BEYOND + 1n]);
    expect(next.meta['nextCursor']).toBeUndefined();

    const order = { petId: String(BEYOND), 'Idempotency-Key': 'order-of-ada' };
    // Its response is lost. An int64 may be an integer, too.
    const sent = JSON.stringify(toolCall(7, 'placeOrder', order)).replace(`"${BEYOND}"`, String(BEYOND));
    await post(app, sent, { key });
    const retried = await call(agent, 'placeOrder', order);
    expect(retried.isError).toBe(false);
    expect(exact(retried.body)).toMatchObject({ id: BEYOND, petId: BEYOND, status: 'placed' });
    expect(retried.texts).toContain(
      'This is the result of an earlier call with this Idempotency-Key. This call changed nothing.',
    );
    const cancelled = await call(agent, 'updateOrder', { orderId: String(BEYOND), status: 'cancelled' });
    expect(exact(cancelled.body)).toMatchObject({ id: BEYOND, status: 'cancelled' });
    expect(await orders()).toHaveLength(1);
  });

  it('changes only what it read, by the ETag of a result', async () => {
    const { body, meta, texts } = await call(agent, 'createPet', { name: 'Rex', categoryId: 1 });
    const petId = String(exact(body).id);
    expect(texts).toContain(`ETag: ${meta['etag']}`);
    const change = { petId, name: 'Max', 'If-Match': meta['etag'] };
    expect((await call(agent, 'updatePet', change)).json.name).toBe('Max');
    expect((await call(agent, 'updatePet', { ...change, name: 'Mo' })).json.code).toBe('precondition_failed');
    expect((await call(agent, 'deletePet', { petId })).body).toBe('Done (204).');
  });

  it.each([
    ['an unknown argument', 'listPets', { colour: 'red' }, 'colour is not an argument of this tool.'],
    ['a missing parameter', 'getPet', {}, 'petId is required, and names one thing.'],
    ['a missing member', 'createPet', { name: 'Rex' }, 'categoryId is missing'],
    ['a value of a wrong type', 'createPet', { name: 7, categoryId: 1 }, 'name must be a string'],
    ['a header with a line break', 'deletePet', { petId: 1, 'If-Match': 'a\r\nb: c' }, 'If-Match must'],
    ['an empty list as a filter', 'listPets', { id: [] }, 'id must be 1 to 100 integers'],
    ['a change without a member', 'updatePet', { petId: 1 }, 'must have at least one of'],
  ])('gets an error for %s, which says what to change', async (_case, name, args, message) => {
    const { isError, json } = await call(agent, name, args);
    expect([isError, json]).toEqual([
      true,
      { code: 'validation_failed', message: expect.stringContaining(message), status: 400 },
    ]);
  });

  it('reaches no other operation by a parameter of the path', async () => {
    const paths = ['a/../../v1/key', '%2e%2e', '..', '.', '1?x=1', '1#', '\u{d800}'];
    for (const petId of [...paths, { a: 1 }, ['1', '2']]) {
      const { isError, json } = await call(agent, 'getPet', { petId });
      expect([petId, isError, json.status >= 400 && json.status < 405]).toEqual([petId, true, true]);
      expect(['pet_not_found', 'validation_failed']).toContain(json.code);
    }
  });
});
