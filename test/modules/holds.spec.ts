import { Module, type Type } from '@nestjs/common';
import { type PetHold, PetHolds, PetsModule } from '../../src/pets';
import { defineErrors } from '../../src/platform/errors/define-errors';
import { startApp } from '../support/app';
import { createDatabase } from '../support/database';
import { expectError } from '../support/expect-error';
import { aNewPet } from '../support/factories';

const isDocumented = false;

/** Returns a module that holds the first animal. */
function holding(status: number, ...forbidden: PetHold['forbids'][]): Type {
  const facts = { status, when: 'the animal is in quarantine', message: 'The animal is in quarantine.' };
  const { pet_in_quarantine: error } = defineErrors({ pet_in_quarantine: facts });
  const isHeld = async (petId: bigint): Promise<boolean> => petId === 1n;
  const add = {
    provide: 'quarantine',
    inject: [PetHolds],
    useFactory: (holds: PetHolds) => forbidden.forEach((forbids) => holds.add({ forbids, error, isHeld })),
  };
  @Module({ imports: [PetsModule], providers: [add] })
  class QuarantineModule {}
  return QuarantineModule;
}

describe('a hold of a module', () => {
  it('on orders and removals rejects both with its error, which the document of both has', async () => {
    const app = await startApp({}, { modules: [holding(409, 'order', 'removal')] });
    const held = (await app.post('/v1/pets', aNewPet())).json;
    const { id } = (await app.post('/v1/pets', aNewPet())).json;
    const order = (petId: number) => app.post('/v1/store/orders', { petId }, { isDocumented });
    expectError(await order(held.id), 409, 'pet_in_quarantine');
    expectError(await app.send('DELETE', `/v1/pets/${held.id}`, { isDocumented }), 409, 'pet_in_quarantine');
    expect((await app.get(`/v1/pets/${held.id}`)).json).toEqual(held);
    expect((await order(id)).status).toBe(201);
    const { paths } = (await app.get('/openapi.json', { key: undefined })).json;
    const operations = Object.values<any>(paths).flatMap((item) => Object.values<any>(item));
    const having = operations.filter((each) => JSON.stringify(each.responses).includes('pet_in_quarantine'));
    expect(having.map(({ operationId }) => operationId)).toEqual(['deletePet', 'placeOrder']);
    await app.close();
  });

  it('of an unknown kind ends the start', async () => {
    const modules = [holding(409, 'orders' as never)];
    const database = await createDatabase();
    await expect(startApp({}, { modules, database })).rejects.toThrow(
      'A hold forbids orders, which is unknown: use removal or change or order.',
    );
    await database.drop();
  });

  it('with a code that another hold defines differently ends the start', async () => {
    const modules = [holding(409, 'removal'), holding(423, 'removal')];
    const database = await createDatabase();
    await expect(startApp({}, { modules, database })).rejects.toThrow(
      'The error code pet_in_quarantine has two definitions, if the animal is in quarantine (409) and if the animal is in quarantine (423): rename one of them.',
    );
    await database.drop();
  });
});
