import type { Type } from '@nestjs/common';
import { ErrorDto } from '../../src/errors/error.dto';
import { explain } from '../../src/explain';
import { DeclarationError } from '../../src/start-checks/declaration.error';
import { handlersOf } from '../../src/start-checks/handlers';
import { requireSchemaNames } from '../../src/start-checks/schema-names';
import { startApp, type TestApp } from '../support/app';
import {
  Inheriting,
  moduleWithBody,
  OnlyOptional,
  RenamedSchema,
  Sound,
  UncheckedPath,
  UncheckedQuery,
  UndeclaredRoute,
  Unvalidated,
  WithNested,
  WithObject,
  WithoutValidators,
  WithReadOnly,
} from './support/mistaken.modules';
import { NewOrder, Pet } from './support/same-names.dto';

const FIX =
  'add a decorator of class-validator to each property, such as @IsString(), or @Allow() if every value may pass.';
const PIPE = { transform: (value: unknown) => value };

describe('a mistake of a module ends the start in one sentence', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const start = (...modules: Type[]) => startApp({}, { beside: app, modules });
  const failureOf = (module: Type): Promise<unknown> =>
    start(module).then(
      () => 'it started',
      (error: unknown) => error,
    );

  it.each<[string, Type, string]>([
    [
      'a route that declares neither a scope nor that it is public',
      UndeclaredRoute,
      'GET /v1/lab/open declares neither a scope nor that it is public: add @RequireScope(…) or @Public() to its handler.',
    ],
    [
      'a body with the name of a DTO of the store',
      moduleWithBody(Pet),
      'Two DTO classes have the schema name Pet, one in PetsController.listPets and one in BodyController.create: rename one of them.',
    ],
    [
      'the same with equal properties',
      moduleWithBody(NewOrder),
      'Two DTO classes have the schema name NewOrder, one in StoreOrdersController.placeOrder and one in BodyController.create: rename one of them.',
    ],
    [
      'a response with the name of another schema by @ApiSchema',
      RenamedSchema,
      'Two DTO classes have the schema name Order, one in StoreOrdersController.listOrders and one in ResponseController.get: rename one of them.',
    ],
    [
      'a documented property without a validator',
      moduleWithBody(Unvalidated),
      `Unvalidated.colour, in the body of BodyController.create, is not validated: ${FIX}`,
    ],
    [
      'one that the body inherits',
      moduleWithBody(Inheriting),
      `Inheriting.colour, in the body of BodyController.create, is not validated: ${FIX}`,
    ],
    [
      'a property that is only optional',
      moduleWithBody(OnlyOptional, [PIPE]),
      `OnlyOptional.colour, in the body of BodyController.create, is not validated: ${FIX}`,
    ],
    [
      'a query parameter without a validator',
      UncheckedQuery,
      `UnvalidatedQuery.colour, in the query of QueryController.list, is not validated: ${FIX}`,
    ],
    [
      'a body without any validator',
      moduleWithBody(WithoutValidators),
      `WithoutValidators, the body of BodyController.create, validates nothing: ${FIX}`,
    ],
    [
      '@ValidateNested',
      moduleWithBody(WithNested),
      'WithNested.inner, in the body of BodyController.create, is an object with properties of its own, which is not supported yet: declare them in WithNested itself.',
    ],
    [
      'an object whose properties nothing validates',
      moduleWithBody(WithObject),
      'WithObject.inner, in the body of BodyController.create, is an object with properties of its own, which is not supported yet: declare them in WithObject itself.',
    ],
    [
      'a body that is an array',
      moduleWithBody(Array),
      "Nothing validates the items of the body of BodyController.create: take the array by Nest's ParseArrayPipe.",
    ],
    [
      'a path parameter class without any validator',
      UncheckedPath,
      `WithoutValidators, the path of PathController.get, validates nothing: ${FIX}`,
    ],
  ])('%s', async (_what, module, sentence) => {
    const error = await failureOf(module);
    expect(error).toBeInstanceOf(DeclarationError);
    expect(explain(error)).toBe(sentence);
  });

  it("plain types, parameters and bodies with a pipe, @Allow() and a query class's name are the module's own business", async () => {
    const sound = await start(Sound);
    expect((await sound.get('/v1/lab?page=2&colour=red')).json).toEqual({
      query: { limit: 20, colour: 'red' },
      page: 2,
    });
    await sound.close();
    for (const module of [
      moduleWithBody(WithoutValidators, [PIPE]),
      moduleWithBody(Array, [PIPE]),
      moduleWithBody(WithReadOnly),
    ]) {
      await (await start(module)).close();
    }
  });

  it('knows the class of every object in the document', async () => {
    const { schemas } = (await app.get('/openapi.json', { key: undefined })).json.components;
    const objects = Object.keys(schemas).filter((name) => schemas[name].type === 'object');
    expect([...requireSchemaNames(handlersOf(app.nest), [ErrorDto]).keys()].sort()).toEqual(objects.sort());
  });
});
