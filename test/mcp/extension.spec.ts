import { Body, Controller, Module, Param, Post } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import { defineScopes, Int64, Nested, Operation, Text } from '../../src';
import { startApp, type TestApp } from '../support/app';
import { call, connectAgent } from './support';

const scopes = defineScopes('kennels', 'write');
const GREATEST = '9223372036854775807';

@ApiSchema({ description: 'A dog with its ancestors.' })
class Dog {
  @Int64({ description: 'Its number.', example: 1, nullable: true })
  readonly number!: bigint | null;

  @Text({ description: 'Where it lives.', example: 'Here', max: 30 })
  readonly place!: string;

  @Nested(() => Dog, { description: 'Its mother.', optional: true })
  readonly mother?: Dog;

  @Nested(() => Dog, { description: 'Its father.', optional: true })
  readonly father?: Dog;
}

@ApiSchema({ description: 'The dog that was added.' })
class Added {
  @Text({ description: 'Where it lives.', example: 'Here', max: 30 })
  readonly place!: string;

  @Int64({ description: 'The number of its mother.', example: 1 })
  readonly mother!: bigint;
}

@Controller({ path: 'kennels', version: '1' })
class KennelsController {
  @Post(':place')
  @Operation({
    id: 'addDog',
    summary: 'Add a dog',
    description: 'Adds a dog.',
    scope: scopes.write,
    returns: [201, Added, 'The dog.'],
  })
  add(@Param('place') place: string, @Body() { mother }: Dog): Added {
    return { place, mother: mother?.number ?? 0n };
  }
}

@Module({ controllers: [KennelsController] })
class KennelsModule {}

describe("a tool of a team's operation", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp(
      {},
      { extensions: [{ name: 'kennels', scopes: Object.values(scopes), modules: [KennelsModule] }] },
    );
  });
  afterAll(() => app.close());

  it('has a short schema, although its body refers to itself twice', async () => {
    const client = await connectAgent(app, await app.unlimitedKey([scopes.write]));
    const { tools } = await client.listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'addDog')!;
    expect(JSON.stringify(inputSchema).length).toBeLessThan(10_000);
    expect(inputSchema).toMatchObject({
      required: ['place', 'body'],
      properties: { body: { properties: { mother: { properties: { number: expect.anything() } } } } },
    });
    await client.close();
  });

  it('keeps int64 exact in nested members, and tells a parameter from a member of its name', async () => {
    const client = await connectAgent(app, await app.unlimitedKey([scopes.write]));
    const mother = { number: GREATEST, place: 'There' };
    const added = await call(client, 'addDog', { place: 'Here', body: { number: null, place: 'X', mother } });
    expect(added.body).toBe(`{"place":"Here","mother":${GREATEST}}`);
    await client.close();
  });
});
